"""The book in price bands: all that a venue sends, summed over fixed steps of price. For the eye; the model reads ten levels.

Two ladders: a fine one within half a per cent of the mid, a coarse one from there to five per cent. A band outside the prices
between which the book is known may hold more than is said, or all that is not said: it is unknown, not empty.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FINE_REACH: Final = 0.005
COARSE_REACH: Final = 0.05
"""Shares of the mid to either side that the two ladders reach."""
MAX_FINE: Final = 1_000
MAX_COARSE: Final = 500
"""Bands of each ladder at most, both sides together."""

Keys = NDArray[np.int32]
Sizes = NDArray[np.float32]


class Ladder(NamedTuple):
    """Steps of price of the two ladders, quote currency; the coarse one is a whole number of fine ones."""

    fine: float
    coarse: float

    @classmethod
    def of(cls, mid: float, tick: float) -> Ladder:
        """The finest of 1, 2, 5, 10, ... ticks by which both ladders keep to their number of bands."""
        fine = tick * _step(2 * FINE_REACH * mid / tick / MAX_FINE)
        return cls(fine, fine * _step(2 * COARSE_REACH * mid / fine / MAX_COARSE))


def _step(least: float) -> int:
    """The first of 1, 2, 5, 10, 20, ... that is not below `least`."""
    power = 1
    while 5 * power < least:
        power *= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


class Bands(NamedTuple):
    """A book in bands.

    Attributes:
        keys: (n,) rising: 4 * floor(price / step) + 2 for the coarse ladder + 1 for bids.
        sizes: (n,) the sum of each band, in the venue's unit; above 0.
        low, high: prices between which every level is known.
    """

    ladder: Ladder
    keys: Keys
    sizes: Sizes
    low: float
    high: float


def bands_of(asks: NDArray[np.float64], bids: NDArray[np.float64], ladder: Ladder) -> Bands:
    """A book's bands.

    Args:
        asks, bids: (n, 2) price and size, best first.
    """
    mid = (asks[0, 0] + bids[0, 0]) / 2
    edges = np.array([np.floor(mid * (1 - FINE_REACH) / ladder.coarse), np.ceil(mid * (1 + FINE_REACH) / ladder.coarse)])
    inner = edges * ladder.coarse  # the fine ladder ends where a coarse band begins
    keys, sizes = [], []
    for side, levels in enumerate((asks, bids)):
        price, size = levels[:, 0], levels[:, 1]
        fine = (price >= inner[0]) & (price < inner[1])
        near = fine | (np.abs(price / mid - 1) <= COARSE_REACH)
        step = np.where(fine, ladder.fine, ladder.coarse)
        keys.append((4 * np.floor(price / step + 1e-9) + np.where(fine, 0, 2) + side)[near])
        sizes.append(size[near])
    found, place = np.unique(np.concatenate(keys).astype(np.int32), return_inverse=True)
    found_sizes = np.bincount(place, np.concatenate(sizes), len(found)).astype(np.float32)
    return Bands(ladder, found, found_sizes, low=float(bids[-1, 0]), high=float(asks[-1, 0]))


class BandChange(NamedTuple):
    """A row's bands as what changed since the row before; all of them where `whole`."""

    low: float
    high: float
    whole: bool
    keys: Keys
    sizes: Sizes


def change_of(before: Bands | None, after: Bands) -> BandChange:
    """The change between two rows' bands: keys whose size differs, and the size after, 0 where nothing rests there any more."""
    if before is None:
        return BandChange(after.low, after.high, True, after.keys, after.sizes)
    keys = np.union1d(before.keys, after.keys)
    old, new = np.zeros(len(keys), np.float32), np.zeros(len(keys), np.float32)
    old[np.searchsorted(keys, before.keys)] = before.sizes
    new[np.searchsorted(keys, after.keys)] = after.sizes
    return BandChange(after.low, after.high, False, keys[old != new], new[old != new])
