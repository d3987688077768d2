"""TLOB's input transforms, from raw book rows: one function for training, recordings and live feeds (D9).

- `raw`: the document's; columns z-scored by the training part.
- `relative`: prices in basis points from the window's last mid.
- `drift`: best prices as distances from their own mean over the last ten steps, deeper ones from their row's mid, with other
  contents in the price columns of levels 2 to 6. Level 2 is its price against its mean over the window's last ten rows; levels
  3 to 6, alike on both sides, are the four smoothed steps of `flow`. The shipped weights began with it (their card's command).
- `flow`: all 40 columns of the book (prices as distances from their row's mid), and twelve columns after them, each with a name
  of its own (`input_names`): the best prices less their own mean over the last ten steps (for the last row that mean is the base
  of the smoothed label, D8), the second prices less theirs over the window's last ten rows, size added and removed at the best
  prices since the row before (`best_price_flow`), and four smoothed steps: they compare the mid's distance from its own mean with
  the smoothed label's threshold at each of the four horizons, as the label jumps there, and a network seldom learns where. Prices
  are compressed by asinh, so that both a hundredth of a basis point and a jump are legible.

Sizes of the last three are logarithms less the window's median, so that contracts, coins and shares look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.book import ASK_PRICES, BID_PRICES, FEATURES, SIZES, FloatArray, best_ask, best_bid, mid_price
from core.market.labels import HORIZONS, SMOOTHING, fit_alpha, future_move
from core.messages import BadValue

TransformKind = Literal["flow", "drift", "relative", "raw"]
TRANSFORM_KINDS: tuple[TransformKind, ...] = ("flow", "drift", "relative", "raw")
SIDE_COLUMNS = ("ASK_DRIFT", "ASK_ADDED", "BID_DRIFT", "BID_ADDED", "ASK_MOVE2", "ASK_REMOVED", "BID_MOVE2", "BID_REMOVED")
"""Columns of `flow` after the book, ordered like a level's price and size, so that they are mirrored alike."""
DRIFT_COLUMNS = tuple(f"DRIFT_{horizon}" for horizon in HORIZONS)
"""The last columns of `flow`: the momentum rule's number against its threshold at each horizon."""
STEP_WIDTH = 0.1
"""Width of the smoothed step about a threshold, as a share of it."""
FIRST_STEP_LEVEL = 2
"""`drift` writes its steps to the price columns of this level (counted from 0) and of the next ones."""

MID = -1
"""Stands for the mid among `price_columns`."""


@dataclass(frozen=True, kw_only=True)
class Constants:
    """A market's constants, fitted on its training part.

    Attributes:
        price_scale_bps: mean |move of the mid| over ten steps, basis points.
        size_scale: standard deviation of log sizes about their row's median, estimated from the quartiles.
        mean, std: (40,) of the raw columns; used by `raw`.
        thresholds: of the smoothed label at each horizon, fractions of the price; used by `flow` and `drift`.
    """

    price_scale_bps: float
    size_scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    thresholds: tuple[float, ...] = ()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Constants:
        """From a card's JSON.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: where it does not hold such constants.
        """
        constants = cls(
            price_scale_bps=float(values["price_scale_bps"]),
            size_scale=float(values["size_scale"]),
            mean=tuple(float(value) for value in values["mean"]),
            std=tuple(float(value) for value in values["std"]),
            thresholds=tuple(float(value) for value in values.get("thresholds", ())),
        )
        columns = len(FEATURES)
        if not len(constants.mean) == len(constants.std) == columns or len(constants.thresholds) not in (0, len(HORIZONS)):
            raise BadValue(
                "its constants have {means} means, {deviations} deviations and {thresholds} thresholds: "
                "{columns}, {columns} and {horizons} are right",
                means=len(constants.mean),
                deviations=len(constants.std),
                thresholds=len(constants.thresholds),
                columns=columns,
                horizons=len(HORIZONS),
            )
        return constants


def fit_constants(levels: FloatArray, window: int, stretches: Sequence[slice] = (slice(None),)) -> Constants:
    """Constants of the training rows (n, 40).

    Args:
        stretches: the parts of the rows without a gap (`core.market.book.segments`); no move is taken across one.

    Raises:
        ValueError: where there are no more rows than one window has.
    """
    if len(levels) <= window:
        raise ValueError(f"{len(levels)} rows are too few to fit constants: more than one window of {window} is needed")
    mid = mid_price(levels)
    mids = [mid[stretch] for stretch in stretches]
    move = np.concatenate([np.abs(one[SMOOTHING:] / one[:-SMOOTHING] - 1) * 1e4 for one in mids])
    sizes = np.log(levels[:, SIZES])
    lower, upper = np.quantile(sizes - np.median(sizes, axis=1, keepdims=True), [0.25, 0.75])
    std = levels.std(axis=0)
    return Constants(
        price_scale_bps=float(max(move.mean(), 1e-3)),
        size_scale=float(max((upper - lower) / 1.349, 1e-3)),
        mean=tuple(levels.mean(axis=0).tolist()),
        std=tuple(np.maximum(std, 1e-12).tolist()),
        thresholds=tuple(max(fit_alpha([future_move(one, horizon, "smoothed") for one in mids]), 1e-9) for horizon in HORIZONS),
    )


def input_names(kind: TransformKind) -> tuple[str, ...]:
    """Name of each column of the model's inputs."""
    return FEATURES + SIDE_COLUMNS + DRIFT_COLUMNS if kind == "flow" else FEATURES


def directed_inputs(kind: TransformKind) -> int:
    """Number of last columns that tell a direction and not a side: mirrored, they are negated where they stand."""
    return len(DRIFT_COLUMNS) if kind == "flow" else 0


def transform(windows: FloatArray, kind: TransformKind, constants: Constants) -> NDArray[np.float32]:
    """Raw windows (..., steps, 40) -> the model's inputs (..., steps, columns of `input_names`), float32.

    Each window is transformed from its own rows alone, so that no later row can change it.
    """
    if kind == "raw":
        return ((windows - np.asarray(constants.mean)) / np.asarray(constants.std)).astype(np.float32)
    out = np.empty((*windows.shape[:-1], len(input_names(kind))), dtype=np.float32)
    mid = mid_price(windows)[..., None]
    bps = 1e4 / (mid[..., -1:, :] * constants.price_scale_bps)
    if kind != "relative":
        series = np.stack([best_ask(windows), best_bid(windows), mid[..., 0]])
        drifts = series - np.moveaxis(trailing_mean(np.moveaxis(series, -1, 0), SMOOTHING), 0, -1)
    for index, prices in enumerate((ASK_PRICES, BID_PRICES)):
        side = windows[..., prices]
        if kind == "relative":
            out[..., prices] = (side - mid[..., -1:, :]) * bps
            continue
        move = side[..., 1] - side[..., -SMOOTHING:, 1].mean(axis=-1, keepdims=True)
        distance = side - mid
        if kind == "flow":
            first = len(FEATURES) + prices.start
            out[..., first : first + 8 : 4] = np.arcsinh(np.stack([drifts[index], move], axis=-1) * bps)
        else:
            distance[..., 0], distance[..., 1] = drifts[index], move
        out[..., : len(FEATURES)][..., prices] = np.arcsinh(distance * bps)
    if kind != "relative":
        steps = _smoothed_steps(drifts[2] / mid[..., -1:, 0], constants.thresholds)
    if kind == "drift":
        for column in about_the_mid(kind):
            out[..., column] = steps[..., (column // 4) - FIRST_STEP_LEVEL]
    sizes = np.log(windows[..., SIZES])
    middle = _median(sizes.reshape(*sizes.shape[:-2], -1))[..., None, None]
    out[..., 1 : len(FEATURES) : 2] = (sizes - middle) / constants.size_scale
    if kind == "flow":
        out[..., len(FEATURES) + 1 : -len(DRIFT_COLUMNS) : 2] = np.log1p(best_price_flow(windows) * np.exp(-middle))
        out[..., -len(DRIFT_COLUMNS) :] = steps
    return out


def about_the_mid(kind: TransformKind) -> tuple[int, ...]:
    """Columns that describe the mid under this transform instead of a price of the raw row."""
    if kind == "drift":
        levels = range(FIRST_STEP_LEVEL, FIRST_STEP_LEVEL + len(HORIZONS))
        return tuple(prices.start + level * prices.step for level in levels for prices in (ASK_PRICES, BID_PRICES))
    names = input_names(kind)
    return tuple(range(len(names) - directed_inputs(kind), len(names)))


def price_columns(kind: TransformKind) -> tuple[int, ...]:
    """For each input the raw column with the price that it tells of; MID for inputs that tell of the mid."""
    columns = [column - column % 2 for column in range(len(FEATURES))]
    if kind == "flow":
        columns += [FEATURES.index(f"{name[:3]}_P{2 if name.endswith('2') else 1}") for name in SIDE_COLUMNS]
        columns += [MID] * len(DRIFT_COLUMNS)
    for column in about_the_mid(kind):
        columns[column] = MID
    return tuple(columns)


def trailing_mean(values: FloatArray, steps: int) -> FloatArray:
    """Mean of the last `steps` values along axis 0, or of as many as there are at the start."""
    total = np.cumsum(values, axis=0)
    mean = np.empty_like(total)
    mean[steps:] = (total[steps:] - total[:-steps]) / steps
    start = total[:steps]
    mean[:steps] = start / np.arange(1, len(start) + 1).reshape(-1, *[1] * (values.ndim - 1))
    return mean


def _smoothed_steps(drift: FloatArray, thresholds: Sequence[float]) -> FloatArray:
    """(..., steps) -> (..., steps, thresholds): -1 below minus a threshold, 0 between, 1 above it, edges smoothed by tanh."""
    threshold = np.array(thresholds)
    edge = STEP_WIDTH * threshold
    return (np.tanh((drift[..., None] - threshold) / edge) + np.tanh((drift[..., None] + threshold) / edge)) / 2


def _median(values: FloatArray) -> FloatArray:
    """(..., n) -> (...): `np.median` of finite numbers, which takes four times as long on one window."""
    half, odd = divmod(values.shape[-1], 2)
    parted = np.partition(values, (half,) if odd else (half - 1, half), axis=-1)
    return parted[..., half] if odd else (parted[..., half - 1] + parted[..., half]) / 2


def best_price_flow(windows: FloatArray) -> FloatArray:
    """Size added and removed at the best prices since the row before.

    After Cont, Kukanov and Stoikov 2014, "The price impact of order book events", section 2.1, with the two signs kept apart. A
    book does not tell a cancelled order from a traded one: both leave.

    At an unchanged best price it is the change of the size there. A better price adds the whole new size; a worse one removes the
    whole earlier size. The first row has none before it: 0.

    Args:
        windows: (..., steps, 40), raw rows.

    Returns:
        (..., steps, 4) in the venue's unit, none negative: ask added, bid added, ask removed, bid removed.
    """
    flow = np.zeros((*windows.shape[:-1], 4))
    for side, outward in ((0, 1.0), (1, -1.0)):
        price, size = windows[..., 2 * side] * outward, windows[..., 2 * side + 1]
        move = np.diff(price, axis=-1)  # above 0: the best price got worse
        change = np.where(move < 0, size[..., 1:], np.where(move > 0, -size[..., :-1], np.diff(size, axis=-1)))
        flow[..., 1:, side] = np.maximum(change, 0)
        flow[..., 1:, side + 2] = np.maximum(-change, 0)
    return flow
