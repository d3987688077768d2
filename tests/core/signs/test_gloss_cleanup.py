"""The evaluator's clean-up, rule by rule, against what its published script makes of the same lines (worked out by hand)."""

from __future__ import annotations

import pytest

from core.signs.gloss_cleanup import cleaned, merged

LINES = {
    "__ON__ loc-NORD cl-KOMMEN qu-WAS poss-MEIN lh-HAND __OFF__": "NORD KOMMEN WAS MEIN HAND",
    "S0NNE HABEN2": "SONNE HABEN",
    "MORGEN WIE AUSSEHEN": "MORGEN WIE-AUSSEHEN",
    "WIE WETTER AUSSEHEN": "WIE WETTER AUSSEHEN",
    "ZEIGEN WETTER ZEIGEN": "ZEIGEN-BILDSCHIRM WETTER ZEIGEN-BILDSCHIRM",
    "A B C": "A+B+C",
    "ORT K OE NN SCH E": "ORT K OE NN+SCH+E",
    "REGEN-PLUSPLUS NORDRAUM RAUM": "REGEN NORD RAUM",
    "IN A+B C": "IN A+B+C",
}


@pytest.mark.parametrize(("written", "tidy"), LINES.items())
def test_a_line_is_tidied(written: str, tidy: str) -> None:
    assert cleaned(written.split()) == tidy.split()


def test_a_tidy_line_stays() -> None:
    for tidy in LINES.values():
        if "ZEIGEN" not in tidy:
            assert cleaned(tidy.split()) == tidy.split()
    assert cleaned([]) == []


def test_a_gloss_that_follows_itself_counts_once() -> None:
    assert merged(["REGEN", "REGEN", "WIND", "REGEN", "REGEN", "REGEN"]) == ["REGEN", "WIND", "REGEN"]
