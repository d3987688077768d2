"""From raw book rows to what TLOB is fed: one function for training, replay and live (D9).

Three transforms. `raw` is the document's: columns as they are, z-scored. `relative` puts prices in basis points from the
window's last mid. `ladder` separates what moves from what stands: the best prices as their distance from their own mean over
the ten steps up to then (so that the last row stands against the base of the smoothed label, D8), deeper levels as their
distance from their row's mid. Its prices are compressed by asinh, so that a hundredth of a basis point and a jump are both
legible. Sizes of the last two are logarithms, counted from the window's own median, so that contracts, coins and shares look
alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.market.book import ASK_PRICES, ASK_SIZES, BID_PRICES, BID_SIZES, FloatArray
from core.market.labels import SMOOTHING, trailing_mean

TransformKind = Literal["ladder", "relative", "raw"]
TRANSFORM_KINDS: tuple[TransformKind, ...] = ("ladder", "relative", "raw")


@dataclass(frozen=True, kw_only=True)
class Constants:
    """A market's constants, all from its training part.

    Attributes:
        price_scale_bps: mean |mid move| over ten steps, basis points.
        size_scale: standard deviation of log sizes about the window's median (robust, from the quartiles).
        mean, std: (40,) of the raw columns, for `raw` alone.
    """

    price_scale_bps: float
    size_scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Constants:
        """From a card's JSON."""
        return cls(
            price_scale_bps=float(values["price_scale_bps"]),
            size_scale=float(values["size_scale"]),
            mean=tuple(values["mean"]),
            std=tuple(values["std"]),
        )


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
        distance[..., 0] = side[..., 0] - np.moveaxis(trailing_mean(np.moveaxis(side[..., 0], -1, 0), SMOOTHING), 0, -1)
        out[..., prices] = np.arcsinh(distance * bps)
    sizes = np.log(windows[..., 1::2])
    middle = np.median(sizes.reshape(*sizes.shape[:-2], -1), axis=-1)[..., None, None]
    out[..., 1::2] = (sizes - middle) / constants.size_scale
    return out


def mirror(inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same market upside down: sides swapped, prices negated. UP becomes DOWN.

    Exact for `ladder` and `relative` inputs (..., steps, 40); it has no meaning for `raw`.
    """
    out = np.empty_like(inputs)
    out[..., ASK_PRICES], out[..., BID_PRICES] = -inputs[..., BID_PRICES], -inputs[..., ASK_PRICES]
    out[..., ASK_SIZES], out[..., BID_SIZES] = inputs[..., BID_SIZES], inputs[..., ASK_SIZES]
    return out
