"""What the terminal reads of the deletion test of a forecast's reasons."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core.explain.faithfulness import FindingError
from core.market.predictor import load_predictor
from core.market.reasons import GROUPS
from core.market.reasons_measured import path_of, read


def test_the_shipped_test_is_of_the_shipped_weights_and_known_by_market(tmp_path: Path) -> None:
    card = load_predictor("tlob").card
    test = read("tlob", card["weights_sha256"])
    assert test is not None and [list(head) for head in test.heads] == card["heads"]
    assert all(len(one.areas) == len(test.heads) and len(one.gives[0]) == len(GROUPS) for one in test.markets)
    for spelling, name in (
        ("live/binance/BTC/USDT BTC/USDT", "Binance BTC/USDT"),
        ("live/binance/BTC/USDT:USDT BTC/USDT:USDT", "Binance BTC/USDT:USDT"),
        ("recording/binance_spot_nexousdt_2024-07-24 NEXO/USDT", "Binance NEXO/USDT"),
        ("live/kraken/BTC/USDT BTC/USDT", None),
    ):
        one = test.of_market(spelling)
        assert (one and one.name) == name
    for one in test.markets:
        assert [one.beats_chance(head) for head in range(len(test.heads))] == [low > 0 for _mean, low, _high in one.areas]
    path_of("tlob", folder=tmp_path).write_text(json.dumps(asdict(replace(test, weights_sha256="other"))))
    assert read("tlob", card["weights_sha256"], folder=tmp_path) is None
    assert read("tlob", "other", folder=tmp_path) == replace(test, weights_sha256="other")
    path_of("tlob", folder=tmp_path).write_text("{}", encoding="utf-8")
    with pytest.raises(
        FindingError,
        match=r"^reasons_tlob.json does not hold findings: run `git checkout assets/explain/reasons_tlob.json` again \(",
    ):
        read("tlob", "other", folder=tmp_path)
