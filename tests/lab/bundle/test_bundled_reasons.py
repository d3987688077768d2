"""The deletion test of a forecast's reasons, beside every order, and what the terminal reads of it."""

from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from core.explain.faithfulness import FindingError
from core.market.predictor import load_predictor
from core.market.reasons import GROUPS
from core.market.reasons_measured import path_of, read, write
from lab.bundle.reasons import SUBSETS, area_below_chance


def test_the_area_is_that_below_the_mean_of_all_720_orders() -> None:
    answers = np.random.default_rng(2).normal(size=64)
    at = {tuple(np.flatnonzero(subset).tolist()): answer for subset, answer in zip(SUBSETS, answers, strict=True)}

    def area(order: tuple[int, ...]) -> float:
        curve = [at[tuple(sorted(order[:taken]))] for taken in range(7)]
        return sum((a + b) / 2 for a, b in pairwise(curve)) / 6

    ranked = tuple(sorted(range(6), key=lambda group: at[(group,)]))
    chance = np.mean([area(order) for order in permutations(range(6))])
    assert area_below_chance(answers) == pytest.approx(chance - area(ranked))


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
    write(replace(test, weights_sha256="other"), path_of("tlob", folder=tmp_path))
    assert read("tlob", card["weights_sha256"], folder=tmp_path) is None
    assert read("tlob", "other", folder=tmp_path) == replace(test, weights_sha256="other")
    path_of("tlob", folder=tmp_path).write_text("{}", encoding="utf-8")
    with pytest.raises(FindingError, match="reasons_tlob.json does not hold findings: run `python -m lab.bundle.reasons`"):
        read("tlob", "other", folder=tmp_path)
