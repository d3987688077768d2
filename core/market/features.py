"""From raw book rows to what TLOB is fed: one function for training, replay and live (D9).

Four transforms. `raw` is the document's: columns as they are, z-scored. `relative` puts prices in basis points from the
window's last mid. `ladder` separates what moves from what stands: the best prices as their distance from their own mean over
the ten steps up to then (so that the last row stands against the base of the smoothed label, D8), deeper levels as their
distance from their row's mid. Its prices are compressed by asinh, so that a hundredth of a basis point and a jump are both
legible. `drift` is the ladder with other things in the price columns of levels 2 to 6: level 2 against its mean over the
window's last ten rows, which draws the path that led here; levels 3 to 6, alike on both sides, where the mid's distance from
its own mean stands against the smoothed label's threshold at each horizon, as a smoothed step. The label turns on exactly that
line, which a network does not find by itself. Sizes of the last three are logarithms, counted from the window's own median, so
that contracts, coins and shares look alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.book import ASK_PRICES, BID_PRICES, FEATURES, FloatArray
from core.market.labels import HORIZONS, SMOOTHING, fit_alpha, future_move, trailing_mean
from core.messages import compose

TransformKind = Literal["drift", "ladder", "relative", "raw"]
TRANSFORM_KINDS: tuple[TransformKind, ...] = ("drift", "ladder", "relative", "raw")
STEP_WIDTH = 0.1
"""Width of the smoothed step of `drift` about a threshold, as a share of it."""
FIRST_STEP_LEVEL = 2
"""Where `drift` writes its steps: the price columns of this level (counted from 0) and the next ones."""


@dataclass(frozen=True, kw_only=True)
class Constants:
    """A market's constants, all from its training part.

    Attributes:
        price_scale_bps: mean |mid move| over ten steps, basis points.
        size_scale: standard deviation of log sizes about the window's median (robust, from the quartiles).
        mean, std: (40,) of the raw columns, for `raw` alone.
        thresholds: of the smoothed label, a horizon each, fractions of the price, for `drift` alone.
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
            raise ValueError(
                compose(
                    "its constants have {means} means, {deviations} deviations and {thresholds} thresholds: "
                    "{columns}, {columns} and {horizons} are right",
                    means=len(constants.mean),
                    deviations=len(constants.std),
                    thresholds=len(constants.thresholds),
                    columns=columns,
                    horizons=len(HORIZONS),
                )
            )
        return constants


def fit_constants(levels: FloatArray, window: int) -> Constants:
    """Constants of the training rows (n, 40), which must be more than one window.

    Raises:
        ValueError: for too few rows.
    """
    if len(levels) <= window:
        raise ValueError(f"{len(levels)} rows are too few to fit constants: more than one window of {window} is needed")
    mid = (levels[:, 0] + levels[:, 2]) / 2
    move = np.abs(mid[SMOOTHING:] / mid[:-SMOOTHING] - 1) * 1e4
    sizes = np.log(levels[:, 1::2])
    lower, upper = np.quantile(sizes - np.median(sizes, axis=1, keepdims=True), [0.25, 0.75])
    std = levels.std(axis=0)
    return Constants(
        price_scale_bps=float(max(move.mean(), 1e-3)),
        size_scale=float(max((upper - lower) / 1.349, 1e-3)),
        mean=tuple(levels.mean(axis=0).tolist()),
        std=tuple(np.maximum(std, 1e-12).tolist()),
        thresholds=tuple(max(fit_alpha([future_move(mid, horizon, "smoothed")]), 1e-9) for horizon in HORIZONS),
    )


def transform(windows: FloatArray, kind: TransformKind, constants: Constants) -> NDArray[np.float32]:
    """Raw windows (..., steps, 40) -> the model's input of the same shape, float32.

    Each window is transformed from its own rows alone: nothing after its last row can change it.
    """
    if kind == "raw":
        return ((windows - np.asarray(constants.mean)) / np.asarray(constants.std)).astype(np.float32)
    out = np.empty(windows.shape, dtype=np.float32)
    mid = (windows[..., 0:1] + windows[..., 2:3]) / 2
    bps = 1e4 / (mid[..., -1:, :] * constants.price_scale_bps)
    for prices in (ASK_PRICES, BID_PRICES):
        side = windows[..., prices]
        if kind == "relative":
            out[..., prices] = (side - mid[..., -1:, :]) * bps
            continue
        distance = side - mid
        distance[..., 0] = _from_own_mean(side[..., 0])
        if kind == "drift":
            distance[..., 1] = side[..., 1] - side[..., -SMOOTHING:, 1].mean(axis=-1, keepdims=True)
        out[..., prices] = np.arcsinh(distance * bps)
    if kind == "drift":
        drift = _from_own_mean(mid[..., 0]) / mid[..., -1:, 0]
        for level, threshold in enumerate(constants.thresholds, FIRST_STEP_LEVEL):
            for prices in (ASK_PRICES, BID_PRICES):
                out[..., prices.start + level * prices.step] = _smoothed_step(drift, threshold)
    sizes = np.log(windows[..., 1::2])
    middle = np.median(sizes.reshape(*sizes.shape[:-2], -1), axis=-1)[..., None, None]
    out[..., 1::2] = (sizes - middle) / constants.size_scale
    return out


def about_the_mid(kind: TransformKind) -> tuple[int, ...]:
    """Columns of a transform that tell of the mid, whatever level's price stands in that place of the raw row."""
    if kind != "drift":
        return ()
    levels = range(FIRST_STEP_LEVEL, FIRST_STEP_LEVEL + len(HORIZONS))
    return tuple(prices.start + level * prices.step for level in levels for prices in (ASK_PRICES, BID_PRICES))


def _from_own_mean(series: FloatArray) -> FloatArray:
    """(..., steps) less its mean over the SMOOTHING steps up to each."""
    return series - np.moveaxis(trailing_mean(np.moveaxis(series, -1, 0), SMOOTHING), 0, -1)


def _smoothed_step(drift: FloatArray, threshold: float) -> FloatArray:
    """-1 below minus the threshold, 0 between, 1 above, with soft edges."""
    edge = STEP_WIDTH * threshold
    return (np.tanh((drift - threshold) / edge) + np.tanh((drift + threshold) / edge)) / 2
