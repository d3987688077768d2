"""What a call is worth, by hand on a few rows, and by loops."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.market.answers.intervals import Spacing, spaced
from core.market.answers.value import CallRows, call_value, trades
from core.market.book import STEP_MS


def rows(
    calls: list[int], mid: list[float], *, truth: list[int] | None = None, spread: float = 0.2, horizon: int = 2
) -> CallRows:
    n = len(calls)
    return CallRows(
        horizon=horizon,
        timestamps=1_000 + STEP_MS * np.arange(n),
        mid=np.array(mid),
        spread=np.full(n, spread),
        calls=np.array(calls),
        truth=np.array(truth if truth is not None else [1] * n),
    )


def test_a_takers_result_by_hand_on_six_rows() -> None:
    """Two steps ahead, a spread of 0.2: UP at row 0 buys at row 1's ask and sells at row 2's bid; DOWN at row 3 the other way."""
    called = rows([2, 0, 1, 0, 2, 2], [100.0, 100.5, 101.0, 100.0, 99.5, 99.0])
    (entered, gross), found = trades(called), call_value(called)
    first = ((101.0 - 0.1) - (100.5 + 0.1)) / 100.0 * 1e4  # 30 bps
    second = ((99.5 - 0.1) - (99.0 + 0.1)) / 100.0 * 1e4  # 30 bps; the call at row 1 came while the first was held
    assert entered.tolist() == [0, 3] and found.trades == 2
    np.testing.assert_allclose(gross, [first, second], rtol=1e-12)
    np.testing.assert_allclose(gross, [30, 30], rtol=1e-9)
    assert found.break_even_bps == pytest.approx(15)
    assert (gross - 2 * found.break_even_bps).mean() == pytest.approx(0, abs=1e-9)


def test_each_side_of_a_trade_pays_the_spread_of_its_own_row() -> None:
    called = replace(rows([2, 1, 1], [100.0, 100.0, 101.0]), spread=np.array([0.2, 0.4, 0.8]))
    bought, sold = 100.0 + 0.4 / 2, 101.0 - 0.8 / 2
    assert trades(called)[1].tolist() == pytest.approx([(sold - bought) / 100.0 * 1e4])


def test_no_trade_reaches_over_a_gap_or_past_the_end() -> None:
    gap = rows([2, 2, 1, 1, 2], [100.0, 101.0, 102.0, 103.0, 104.0])
    timestamps = gap.timestamps.copy()
    timestamps[2:] += STEP_MS
    assert trades(replace(gap, timestamps=timestamps))[0].tolist() == []
    assert trades(gap)[0].tolist() == [0]
    value = call_value(replace(gap, timestamps=timestamps, truth=np.full(5, -1)))
    assert math.isnan(value.move_bps.value)


def test_moves_after_calls_are_in_their_direction() -> None:
    found = call_value(rows([2, 0, 1, 1], [100.0, 100.0, 101.0, 98.0], truth=[2, 2, 1, -1]))
    assert found.move_bps.value == pytest.approx((100.0 + 200.0) / 2)
    assert found.half_spread_bps == pytest.approx(10.0)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.precision.value == pytest.approx(1 / 2)


def test_an_interval_is_of_blocks_that_are_drawn_together() -> None:
    """The middle 95 % of hits over calls in 400 resamples of blocks of four horizons, which wrap around the end."""
    n, rng = 2_000, np.random.default_rng(0)
    truth = rng.choice(3, n, p=[0.2, 0.6, 0.2])
    calls = np.where(rng.random(n) < 0.5, truth, rng.choice(3, n))
    found = call_value(rows(calls.tolist(), [100.0] * n, truth=truth.tolist(), horizon=60)).precision
    starts = np.random.default_rng(0).integers(n, size=(400, 9))  # as drawn inside, for nine blocks
    at = ((starts[..., None] + np.arange(240)) % n).reshape(400, -1)[:, :n]
    called = calls != 1
    shares = (called & (calls == truth))[at].sum(axis=1) / called[at].sum(axis=1)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(shares, [2.5, 97.5])))


def test_nothing_called_is_worth_nothing_said() -> None:
    value = call_value(rows([1] * 40, [100.0] * 40))
    summary = value.summary()
    assert summary["coverage"] == 0
    assert summary["precision"]["value"] is summary["move_bps"]["value"] is None
    assert summary["taker"] == {"trades": 0, "mean_bps": {"value": None, "low": None, "high": None}, "break_even_fee_bps": None}
    empty = call_value(rows([], []))
    assert math.isnan(empty.coverage)


def test_rows_a_horizon_apart_are_those_of_a_loop() -> None:
    steps = np.cumsum(np.random.default_rng(6).integers(1, 9, 300))
    kept: list[int] = []
    for place, step in enumerate(steps):
        if not kept or step - steps[kept[-1]] >= 10:
            kept.append(place)
    spacing = Spacing(10)
    assert [place for place, step in enumerate(steps.tolist()) if spacing.step(step)] == kept
    assert spaced(steps, 10).tolist() == kept and spaced(steps[:0], 10).tolist() == []
