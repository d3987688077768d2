"""What happened to size: scenes made by hand, and on the bundled recording each change counted again in a loop; scores."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import matthews_corrcoef

from core.market.answers.value import CallRows, luck
from core.market.book import STEP_MS
from core.market.labels import DOWN, STATIONARY, UNKNOWN, UP
from core.market.marks import (
    ASK,
    BEGIN,
    BID,
    INDICATORS,
    KINDS,
    LARGE,
    MEMORY,
    Mark,
    SizeMarks,
    indicator_calls,
    mark_calls,
    score,
)
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from tests.core.market.helpers import read_trades

RECORDING = find_recording("binance_spot_btcusdt_2024-08-08")


def book(best_bid: float = 10.0, sizes: dict[float, float] | None = None) -> NDArray[np.float64]:
    """Ten levels a side, one apart, of size 1 or as given by price; asks begin one above."""
    given = sizes or {}
    levels = np.zeros((10, 4))
    for k in range(10):
        ask, bid = best_bid + 1 + k, best_bid - k
        levels[k] = ask, given.get(ask, 1.0), bid, given.get(bid, 1.0)
    return levels.reshape(-1)


def scene(*rows: tuple[NDArray[np.float64], list[tuple[float, ...]]]) -> list[Mark]:
    """Marks of these rows, after enough quiet ones to know what is large: more than 1."""
    one = SizeMarks()
    for i in range(BEGIN + 1):
        assert one.take(i * STEP_MS, book(), []) == []
    return [mark for i, (levels, trades) in enumerate(rows, BEGIN + 1) for mark in one.take(i * STEP_MS, levels, trades)]


def named(marks: list[Mark]) -> list[tuple[str, int, float, float, int]]:
    return [(KINDS[mark.kind], mark.side, mark.price, mark.size, mark.call) for mark in marks]


def test_size_that_comes_or_goes_without_a_trade() -> None:
    stacked, pulled = book(sizes={8.0: 4.0}), book()
    assert named(scene((stacked, []), (pulled, []))) == [("stacked", BID, 8.0, 3.0, UP), ("pulled", BID, 8.0, 3.0, DOWN)]
    assert named(scene((book(sizes={12.0: 4.0}), []))) == [("stacked", ASK, 12.0, 3.0, DOWN)]
    sold_out = named(scene((book(9.0), [(0.0, 10.0, 1.0, -1.0)])))
    assert ("pulled", BID, 10.0, 1.0, DOWN) not in sold_out  # it was traded away
    assert ("pulled", BID, 10.0, 1.0, DOWN) in named(scene((book(9.0), [])))


def test_a_large_size_that_trades_took_was_eaten() -> None:
    wall = book(sizes={10.0: 4.0, 9.0: 4.0})
    sold = [[(0.0, 10.0, 1.0, -1.0)], [(0.0, 10.0, 1.5, -1.0), (0.0, 9.0, 1.9, -1.0)]]
    marks = named(scene((wall, []), (book(sizes={10.0: 3.0, 9.0: 4.0}), sold[0]), (book(8.0), sold[1])))
    assert ("eaten", BID, 10.0, 4.0, DOWN) in marks and ("pulled", BID, 9.0, pytest.approx(2.1), DOWN) in marks
    assert [price for name, _side, price, _size, _call in marks if name == "eaten"] == [10.0]  # of 9 less than half was sold


def test_a_price_beyond_one_of_the_two_books_says_nothing() -> None:
    assert {mark.price for mark in scene((book(12.0, {3.0: 9.0}), [])) if mark.side == BID} == {
        3.0,
        11.0,
        12.0,
    }  # 1 and 2 are not said to be pulled


def test_a_best_price_that_stands_absorbs_and_one_that_trades_more_than_it_shows_is_refilled() -> None:
    sold = [(0.0, 10.0, 0.6, -1.0)]
    marks = scene((book(), sold), (book(), sold), (book(), sold), (book(), sold))
    assert [(name, side, price) for name, side, price, _size, _call in named(marks)] == [
        ("absorbed", BID, 10.0),
        ("refilled", BID, 10.0),
    ]
    assert [mark.call for mark in marks] == [UP, UP] and marks[1].size == pytest.approx(1.8)


def test_a_gap_begins_anew() -> None:
    one = SizeMarks()
    for i in range(BEGIN + 1):
        one.take(i * STEP_MS, book(), [])
    assert one.take((BEGIN + 9) * STEP_MS, book(sizes={8.0: 9.0}), []) == []


def played() -> tuple[list[Mark], NDArray[np.float64]]:
    rows = read_market(RECORDING.paths)
    trades = np.array(
        [[t.exchange_ms, t.price, t.size, {"buy": 1, "sell": -1, None: 0}[t.side]] for t in read_trades(RECORDING.path)]
    )
    one, marks = SizeMarks(), []
    ends = np.searchsorted(trades[:, 0], rows.timestamps, side="right")
    for first, last, timestamp, levels in zip([0, *ends], ends, rows.timestamps, rows.levels, strict=False):
        marks += one.take(int(timestamp), levels, [tuple(trade) for trade in trades[first:last]])
    return marks, trades


def test_changes_of_a_real_book_are_those_counted_price_by_price() -> None:
    rows = read_market(RECORDING.paths)
    marks, trades = played()
    expected = []
    for i in range(BEGIN, len(rows)):
        since = (i - 1) // BEGIN * BEGIN  # when what is large was looked up last
        if not since:
            continue
        seen = rows.levels[max(0, since - MEMORY) : since]
        large = np.quantile(seen[:, 1::2], LARGE)
        here = trades[(trades[:, 0] > rows.timestamps[i - 1]) & (trades[:, 0] <= rows.timestamps[i])]
        for side in (ASK, BID):
            old, new = (dict(rows.levels[at].reshape(10, 2, 2)[:, side]) for at in (i - 1, i))
            inside = [min(max(old), max(new))] if side == ASK else [max(min(old), min(new))]
            for price in sorted({*old, *new}):
                if (price > inside[0]) if side == ASK else (price < inside[0]):
                    continue
                taken = here[(here[:, 1] == price) & (here[:, 3] == (1 if side == ASK else -1)), 2].sum()
                more = new.get(price, 0) - old.get(price, 0) + taken
                if abs(more) >= large:
                    expected.append(
                        (rows.timestamps[i], "stacked" if more > 0 else "pulled", side, price, pytest.approx(abs(more)))
                    )
    got = [
        (mark.time, KINDS[mark.kind], mark.side, mark.price, mark.size)
        for mark in marks
        if KINDS[mark.kind] in ("stacked", "pulled")
    ]
    assert len(got) > 200 and got == expected


def test_a_score_against_scikit_learn_and_against_a_coin_with_the_same_calls() -> None:
    rng = np.random.default_rng(5)
    n, horizon = 4_000, 10
    truth = rng.integers(0, 3, n)
    truth[-horizon:] = UNKNOWN
    calls = np.where(rng.random(n) < 0.8, STATIONARY, np.where(rng.random(n) < 0.5, truth, rng.integers(0, 3, n)))
    calls[calls == UNKNOWN] = STATIONARY
    rows = CallRows(
        horizon=horizon, timestamps=STEP_MS * np.arange(n), mid=np.ones(n), spread=np.ones(n), calls=calls, truth=truth
    )
    got = score(rows, calls)
    known, called = truth != UNKNOWN, (truth != UNKNOWN) & (calls != STATIONARY)
    assert got.calls == called.sum() and got.hits.value == pytest.approx((calls == truth)[called].mean())
    assert got.matthews == pytest.approx(matthews_corrcoef(truth[known], calls[known]))
    shuffled = [(rng.permutation(truth[known])[called[known]] == calls[called]).mean() for _ in range(300)]
    assert got.chance == pytest.approx(np.mean(shuffled), abs=0.01)
    kept, last = [], -horizon
    for i in np.flatnonzero(called):
        if i - last >= horizon:
            kept.append(i)
            last = i
    assert got.luck == luck(calls[kept], truth[kept])
    assert score(rows, np.full(n, STATIONARY)).calls == 0


def test_indicators_know_nothing_of_what_comes_and_lean_as_they_should() -> None:
    rows = read_market(RECORDING.paths)
    _marks, trades = played()
    whole, part = (indicator_calls(rows.timestamps[:n], rows.levels[:n], trades) for n in (len(rows), 700))
    assert set(whole) == set(INDICATORS)
    for name in INDICATORS:
        np.testing.assert_array_equal(whole[name][:700], part[name])
        assert 0.02 < (whole[name] != STATIONARY).mean() < 0.6
    imbalance = (rows.levels[:, 3::4].sum(axis=1) - rows.levels[:, 1::4].sum(axis=1)) > 0
    assert imbalance[whole["imbalance"] == UP].all() and not imbalance[whole["imbalance"] == DOWN].any()


def test_marks_that_disagree_call_nothing() -> None:
    times = STEP_MS * np.arange(3)
    marks = [Mark(250, KINDS.index("pulled"), ASK, 1, 1), Mark(500, 1, BID, 1, 1), Mark(500, 1, ASK, 1, 1)]
    calls = mark_calls(marks, times)
    assert calls["pulled"].tolist() == [STATIONARY, UP, STATIONARY] and calls["stacked"].tolist() == [STATIONARY] * 3
