"""Input transforms against a number-by-number twin, and what they promise: no look-ahead, no scale, a mirror."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.market.book import FEATURES, BookRows
from core.market.features import (
    DRIFT_COLUMNS,
    TRANSFORM_KINDS,
    Constants,
    TransformKind,
    about_the_mid,
    best_price_flow,
    directed_inputs,
    fit_constants,
    input_names,
    trailing_mean,
    transform,
)
from core.market.predictor import windows_of
from core.models import tlob
from tests.core.market.helpers import EXCERPTS, random_book, read_rows

WINDOW = 24
FREE: tuple[TransformKind, ...] = ("flow", "drift", "relative")
"""Transforms that know no absolute price or size."""
BOOK = random_book(200, 11)
CONSTANTS = fit_constants(BOOK.levels, WINDOW)
ENDS = np.arange(WINDOW - 1, len(BOOK))


def by_hand(window: NDArray[np.float64], kind: str, c: Constants) -> NDArray[np.float64]:
    """One window (steps, 40), one number at a time."""
    if kind == "flow":
        return flow_by_hand(window, c)
    steps = len(window)
    mid = [(row[0] + row[2]) / 2 for row in window]
    all_logs = sorted(math.log(row[column]) for row in window for column in range(1, 40, 2))
    half = len(all_logs) // 2
    median = (all_logs[half - 1] + all_logs[half]) / 2
    out = np.empty((steps, 40))
    for t in range(steps):
        for column, name in enumerate(FEATURES):
            value, level = window[t][column], int(name[5:])
            if kind == "raw":
                out[t, column] = (value - c.mean[column]) / c.std[column]
            elif "_V" in name:
                out[t, column] = (math.log(value) - median) / c.size_scale
            elif kind == "relative":
                out[t, column] = (value / mid[-1] - 1) * 1e4 / c.price_scale_bps if value != mid[-1] else 0.0
            elif 3 <= level <= 6:
                mids = mid[max(0, t - 9) : t + 1]
                drift, threshold = (mid[t] - sum(mids) / len(mids)) / mid[-1], c.thresholds[level - 3]
                out[t, column] = sum(math.tanh((drift + side * threshold) / (0.1 * threshold)) for side in (-1, 1)) / 2
            else:
                recent = window[-10:] if level == 2 else window[max(0, t - 9) : t + 1]
                base = sum(row[column] for row in recent) / len(recent) if level <= 2 else mid[t]
                out[t, column] = math.asinh((value - base) / mid[-1] * 1e4 / c.price_scale_bps)
    return out


def flow_by_hand(window: NDArray[np.float64], c: Constants) -> NDArray[np.float64]:
    """As `by_hand`: the sizes of `relative`, prices from their row's mid, and the named columns."""
    relative, names = by_hand(window, "relative", c), input_names("flow")
    out = np.full((len(window), len(names)), np.nan)
    out[:, 1:40:2] = relative[:, 1::2]
    median = math.exp(math.log(window[0, 1]) - relative[0, 1] * c.size_scale)
    mid = [(row[0] + row[2]) / 2 for row in window]

    def price(distance: float) -> float:
        return math.asinh(distance / mid[-1] * 1e4 / c.price_scale_bps)

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    for t, row in enumerate(window):
        for column in range(0, 40, 2):
            out[t, column] = price(row[column] - mid[t])
        for side, column in (("ASK", 0), ("BID", 2)):
            out[t, names.index(f"{side}_DRIFT")] = price(
                row[column] - mean([one[column] for one in window[max(0, t - 9) : t + 1]])
            )
            out[t, names.index(f"{side}_MOVE2")] = price(row[column + 4] - mean([one[column + 4] for one in window[-10:]]))
            before = window[max(0, t - 1)]
            better = row[column] < before[column] if side == "ASK" else row[column] > before[column]
            if row[column] == before[column]:
                added, removed = max(0.0, row[column + 1] - before[column + 1]), max(0.0, before[column + 1] - row[column + 1])
            else:
                added, removed = (row[column + 1], 0.0) if better else (0.0, before[column + 1])
            out[t, names.index(f"{side}_ADDED")] = math.log(1 + added / median)
            out[t, names.index(f"{side}_REMOVED")] = math.log(1 + removed / median)
        drift = (mid[t] - mean(mid[max(0, t - 9) : t + 1])) / mid[-1]
        for name, threshold in zip(DRIFT_COLUMNS, c.thresholds, strict=True):
            out[t, names.index(name)] = sum(math.tanh((drift + side * threshold) / (0.1 * threshold)) for side in (-1, 1)) / 2
    return out


@pytest.mark.parametrize("kind", TRANSFORM_KINDS)
def test_columns_about_the_mid_do_not_see_the_price_in_their_place(kind: TransformKind) -> None:
    window = windows_of(BOOK.levels, [90], WINDOW)
    for column in range(4, 40, 2):  # beyond the best, which make the mid
        other = window.copy()
        other[..., column] *= 1.001
        blind = np.array_equal(transform(other, kind, CONSTANTS)[..., column], transform(window, kind, CONSTANTS)[..., column])
        assert blind == (column in about_the_mid(kind)), column


@pytest.mark.parametrize("kind", TRANSFORM_KINDS)
def test_transform_equals_the_twin(kind: TransformKind) -> None:
    windows = windows_of(BOOK.levels, [40, 90, 199], WINDOW)
    found = transform(windows, kind, CONSTANTS)
    assert found.dtype == np.float32
    for window, answer in zip(windows, found, strict=True):
        np.testing.assert_allclose(answer, by_hand(window, kind, CONSTANTS), atol=2e-6, rtol=2e-6)


def test_constants_equal_numpy_on_sorted_values() -> None:
    levels, mid = BOOK.levels, BOOK.mid
    moves = [abs(mid[t + 10] / mid[t] - 1) * 1e4 for t in range(len(mid) - 10)]
    assert CONSTANTS.price_scale_bps == pytest.approx(np.mean(moves))
    logs = np.concatenate([np.log(row[1::2]) - np.median(np.log(row[1::2])) for row in levels])
    lower, upper = np.percentile(logs, [25, 75])
    assert CONSTANTS.size_scale == pytest.approx((upper - lower) / 1.349)  # a normal's quartiles lie 1.349 deviations apart
    for horizon, threshold in zip((10, 20, 50, 100), CONSTANTS.thresholds, strict=True):
        before = [np.mean(mid[t - 9 : t + 1]) for t in range(9, len(mid) - horizon)]
        after = [np.mean(mid[t + horizon - 9 : t + horizon + 1]) for t in range(9, len(mid) - horizon)]
        assert threshold == pytest.approx(np.mean(np.abs(np.divide(after, before) - 1)) / 2)
    np.testing.assert_allclose(CONSTANTS.mean, [levels[:, i].mean() for i in range(40)])
    np.testing.assert_allclose(CONSTANTS.std, [levels[:, i].std() for i in range(40)])


def test_constants_of_a_still_market_do_not_divide_by_zero() -> None:
    still = np.repeat(BOOK.levels[:1], 200, axis=0)
    constants = fit_constants(still, WINDOW)
    for kind in TRANSFORM_KINDS:
        assert np.isfinite(transform(still[None, :WINDOW], kind, constants)).all()


def test_too_few_rows_for_constants_are_refused() -> None:
    with pytest.raises(ValueError, match="24 rows are too few to fit constants: more than one window of 24"):
        fit_constants(BOOK.levels[:24], WINDOW)


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(TRANSFORM_KINDS), end=st.integers(WINDOW - 1, len(BOOK) - 2), data=st.data())
def test_no_change_after_a_window_changes_its_features(kind: TransformKind, end: int, data: st.DataObject) -> None:
    """No look-ahead, window by window and inside a batch that holds the changed rows too."""
    before = transform(windows_of(BOOK.levels, ENDS, WINDOW), kind, CONSTANTS)
    row = data.draw(st.integers(end + 1, len(BOOK) - 1), label="changed row")
    factor = data.draw(st.floats(1.5, 100), label="factor")
    changed = BOOK.levels.copy()
    changed[row] *= factor
    changed[row + 1 :] = changed[row + 1 :][::-1]
    after = transform(windows_of(changed, ENDS, WINDOW), kind, CONSTANTS)
    unseen, seen = slice(None, end - WINDOW + 2), slice(row - WINDOW + 1, None)  # windows that end by `end`; from `row` on
    assert np.array_equal(after[unseen], before[unseen])
    assert not np.array_equal(after[seen], before[seen])


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(FREE), price=st.floats(1e-6, 1e6), size=st.floats(1e-6, 1e6))
def test_another_currency_or_unit_changes_nothing(kind: TransformKind, price: float, size: float) -> None:
    window = BOOK.levels[:WINDOW]
    scaled = window.copy()
    scaled[:, 0::2] *= price
    scaled[:, 1::2] *= size
    # the price scale is a share of the price itself, so neither constant changes with the units
    np.testing.assert_allclose(transform(scaled, kind, CONSTANTS), transform(window, kind, CONSTANTS), atol=2e-6, rtol=2e-6)


def upside_down(window: NDArray[np.float64]) -> NDArray[np.float64]:
    """The book reflected in its window's last mid: asks become bids at the same distance, with their sizes."""
    twice = window[-1, 0] + window[-1, 2]
    out = np.empty_like(window)
    out[:, 0::4], out[:, 2::4] = twice - window[:, 2::4], twice - window[:, 0::4]
    out[:, 1::4], out[:, 3::4] = window[:, 3::4], window[:, 1::4]
    return out


@pytest.mark.parametrize("kind", FREE)
def test_mirrored_inputs_are_those_of_the_mirrored_book(kind: TransformKind) -> None:
    for end in (30, 77, 150):
        window = BOOK.levels[end - WINDOW + 1 : end + 1]
        reflected = transform(upside_down(window), kind, CONSTANTS)
        ours = tlob.upside_down(torch.from_numpy(transform(window, kind, CONSTANTS)), directed_inputs(kind))
        np.testing.assert_allclose(ours, reflected, atol=2e-6)


@pytest.mark.parametrize("path", EXCERPTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("kind", TRANSFORM_KINDS)
def test_real_books_stay_finite_and_in_range(path: Path, kind: TransformKind) -> None:
    rows: BookRows = read_rows(path)
    inputs = transform(windows_of(rows.levels, np.arange(127, len(rows)), 128), kind, fit_constants(rows.levels, 128))
    assert inputs.shape == (len(rows) - 127, 128, 52 if kind == "flow" else 40)
    assert np.isfinite(inputs).all()
    assert np.abs(inputs).max() < 100  # a network's input: neither vanishing nor of the order of a price
    assert inputs.std() > 0.1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.integers(1, 50))
def test_trailing_mean_equals_the_loop(values: list[float], steps: int) -> None:
    expected = [np.mean(values[max(0, t + 1 - steps) : t + 1]) for t in range(len(values))]
    np.testing.assert_allclose(trailing_mean(np.array(values), steps), expected, atol=1e-9)


FLOW_BOOK = random_book(300, 5).levels


def test_the_four_sizes_add_up_to_published_order_flow_imbalance() -> None:
    """e_n of Cont, Kukanov and Stoikov 2014, equation (2), one row at a time."""
    ask_added, bid_added, ask_removed, bid_removed = best_price_flow(FLOW_BOOK).T
    found = bid_added - bid_removed - ask_added + ask_removed
    for n in range(1, len(FLOW_BOOK)):
        ask, ask_size, bid, bid_size = FLOW_BOOK[n, :4]
        ask_0, ask_size_0, bid_0, bid_size_0 = FLOW_BOOK[n - 1, :4]
        expected = (
            (bid >= bid_0) * bid_size - (bid <= bid_0) * bid_size_0 - (ask <= ask_0) * ask_size + (ask >= ask_0) * ask_size_0
        )
        np.testing.assert_allclose(found[n], expected, atol=1e-9)
    assert (np.diff(FLOW_BOOK[:, 0]) != 0).any() and (best_price_flow(FLOW_BOOK) >= 0).all()
