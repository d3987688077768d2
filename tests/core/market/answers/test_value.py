"""What a call is worth, by hand on a few rows, by loops, and by scipy's bootstrap."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap, norm

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


@pytest.fixture(scope="module")
def long_rows() -> CallRows:
    rng = np.random.default_rng(0)
    n = 4_000
    truth = rng.choice(3, n, p=[0.2, 0.6, 0.2])
    calls = np.where(rng.random(n) < 0.5, truth, rng.choice(3, n))
    return CallRows(
        horizon=10,
        timestamps=STEP_MS * np.arange(n),
        mid=100 + np.cumsum(rng.normal(0, 0.01, n)),
        spread=np.full(n, 0.01),
        calls=calls,
        truth=truth,
    )


def test_the_interval_of_independent_rows_is_scipys(long_rows: CallRows) -> None:
    """Without dependence, blocks or single rows make no difference: scipy's bootstrap and the normal interval agree."""
    called = long_rows.calls != 1
    hit = (long_rows.calls == long_rows.truth)[called].astype(float)
    expected = bootstrap(
        (hit,), np.mean, n_resamples=2_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    found = call_value(long_rows).precision
    width = norm.ppf(0.975) * math.sqrt(hit.mean() * (1 - hit.mean()) / len(hit))
    assert found.low == pytest.approx(expected.low, abs=0.35 * width)
    assert found.high == pytest.approx(expected.high, abs=0.35 * width)


def test_rows_that_repeat_one_another_get_wider_intervals(long_rows: CallRows) -> None:
    """Every row a hundred times over tells no more than once: the interval must not shrink tenfold."""

    def told(times: int) -> CallRows:
        columns = {name: np.repeat(getattr(long_rows, name)[:400], times) for name in ("mid", "spread", "calls", "truth")}
        return replace(long_rows, timestamps=STEP_MS * np.arange(400 * times), **columns)

    once, again = told(1), told(100)
    widths = [e.high - e.low for e in (call_value(once).precision, call_value(replace(again, horizon=100)).precision)]
    assert widths[1] > 0.6 * widths[0]


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
