"""The block bootstrap against a loop; intervals of a mean against scipy."""

import numpy as np
import pytest
from scipy import stats

from core.market.answers.intervals import block_length, mean_interval, resampled_sums, student


def test_sums_equal_a_loop_over_blocks() -> None:
    values = np.random.default_rng(5).normal(size=(23, 2))
    starts = np.random.default_rng(0).integers(23, size=(4, 5))  # as drawn inside, for five blocks
    expected = []
    for row in starts:
        rows = [(start + k) % 23 for start in row for k in range(5)][:23]
        expected.append(values[rows].sum(axis=0))
    assert resampled_sums(values, 5, resamples=4) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("block", [0, 4])
def test_a_block_that_cannot_be_drawn_is_refused(block: int) -> None:
    with pytest.raises(ValueError, match=f"a block of {block} rows cannot be drawn from 3 rows"):
        resampled_sums(np.zeros((3, 1)), block)


@pytest.mark.parametrize(("rows", "horizon", "expected"), [(100_000, 10, 200), (100_000, 100, 400), (800, 100, 100), (3, 10, 1)])
def test_blocks_hold_several_horizons(rows: int, horizon: int, expected: int) -> None:
    assert block_length(rows, horizon) == expected


def test_the_interval_of_a_mean_is_students() -> None:
    for degrees in (1, 2, 5, 9, 10, 30, 300):
        assert student(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=5e-4)
    values = np.array([0.1, 0.4, np.nan, 0.2, -0.3])
    known = values[np.isfinite(values)]
    mean, low, high = mean_interval(values)
    theirs = stats.t.interval(0.95, 3, loc=known.mean(), scale=stats.sem(known))
    assert (mean, low, high) == pytest.approx((known.mean(), *theirs), abs=1e-3)
    assert mean_interval([0.7])[0] == 0.7 and np.isnan(mean_interval([0.7])[1:]).all()
