"""What a next word hangs on, and the card, beside plain ways of computing the same."""

import numpy as np
import pytest
import torch

from core.words import causes
from core.words.causes import OPENINGS, ROLES, card, fall_without_heads, fall_without_tokens, heads_of, strongest
from core.words.writer import Writer, writer
from core.words.writer_files import WEIGHTS, WRITER_FILES

NEEDED = pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")
COPYING = [(18, 6), (17, 3), (17, 4), (23, 2), (23, 7), (18, 7)]
"""The six heads that copy, as they were known before: 19.7, 18.4, 18.5, 24.3, 24.8, 19.8."""
ROME, ZORBLAX = OPENINGS[:2]


@pytest.fixture(scope="module")
def one() -> Writer:
    return writer()


def score(one: Writer, ids: list[int], token: int, off: list[tuple[int, int]]) -> float:
    return float(one.begin(ids, off=off).scores[token])


@NEEDED
def test_falls_are_the_differences_of_whole_readings(one: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = one.ids("The capital of France is")
    monkeypatch.setattr(causes, "POSITIONS", 11 * 9 * len(ids))  # the heads of eleven layers go on together
    token = one.names.index(" Paris")
    whole = score(one, ids, token, [])
    falls = fall_without_tokens(one, ids, token)
    for place in (0, 3):
        shorter = [id_ for i, id_ in enumerate(ids) if i != place]
        assert falls[place] == pytest.approx(whole - score(one, shorter, token, []), abs=2e-3)
    heads = fall_without_heads(one, ids, token, off=[(5, 1)])
    apart = score(one, ids, token, [(5, 1)])
    for layer, head in ((0, 3), (16, 0), (29, 8)):
        assert heads[layer, head] == pytest.approx(apart - score(one, ids, token, [(5, 1), (layer, head)]), abs=2e-3)
    assert heads[5, 1] == pytest.approx(0, abs=2e-3)
    without = fall_without_tokens(one, ids, token, off=[(5, 1)])
    assert without[3] == pytest.approx(apart - score(one, [*ids[:3], *ids[4:]], token, [(5, 1)]), abs=2e-3)


@NEEDED
@pytest.mark.parametrize(
    ("text", "token", "off", "share"),
    [
        (ZORBLAX, "bl", [], 0.973),
        (ZORBLAX, "bl", COPYING, 0.0055),
        (ZORBLAX, "bl", [(16, 0)], 0.15),
        (ROME, " Italy", COPYING, 0.979),
    ],
)
def test_the_circuit_of_the_textbooks_is_here(
    one: Writer, text: str, token: str, off: list[tuple[int, int]], share: float
) -> None:
    assert np.exp(score(one, one.ids(text), one.names.index(token), off)) == pytest.approx(share, abs=0.005)


@NEEDED
def test_the_card_is_of_this_file_and_names_who_trained_it(one: Writer) -> None:
    about = card().about
    assert about["kept_sha256"] == WRITER_FILES.digests[WEIGHTS] and about["trained_by"] == "HuggingFaceTB"
    assert about["licence"] == "Apache-2.0" and about["package"] == WRITER_FILES.package
    text = OPENINGS[0]
    ids = one.ids(text)
    token = int(one.begin(ids).scores.argmax())
    off = strongest(card().heads[text])[0]
    fall = score(one, ids, token, []) - score(one, ids, token, [off])
    assert card().heads[text][off] == pytest.approx(fall, abs=2e-3)


@NEEDED
def test_roles_of_the_card_are_seen_in_a_repeated_sequence(one: Writer) -> None:
    once = np.random.default_rng(5).integers(100, 40_000, 40)
    weights = one.begin([*once.tolist(), *once.tolist()]).weights
    rows = np.arange(40, 80)
    for role, keys in {"before": rows - 1, "induction": rows - 39, "first": 0 * rows, "same": rows - 40}.items():
        (layer, head), *_others = heads_of(role)
        assert weights[layer, head, rows, keys].mean() > 0.5, role


def test_the_heads_that_copy_are_the_known_ones_and_every_role_has_some() -> None:
    assert {(18, 6), (17, 3), (17, 4), (23, 2)} <= set(heads_of("induction"))
    for role in ROLES:
        shares = [card().roles[role][head] for head in heads_of(role)]
        assert shares and shares == sorted(shares, reverse=True) and min(shares) >= 0.25
    assert strongest(np.zeros((30, 9))) == [] and strongest(card().heads[ZORBLAX])[0] == (16, 0)
    assert torch.tensor(card().roles["first"]).shape == (30, 9) and causes.CARD.stat().st_size < 40_000
