"""Claims of the lesson on positions: about an encoding, a shift, a balance and the report's listing."""

from __future__ import annotations

from typing import Final

import numpy as np

from core.lecture import positions
from core.lecture.claims import Said
from core.lecture.positions import Array, Balance, Shift
from core.messages import compose

ROUNDING: Final = 1e-5
"""The encoding is float32: differences up to here are rounding."""
BAND: Final = 0.05
"""So much more must positions make near rows alike than far ones to be seen."""


def matrix(encoded: Array, base: float | None) -> Said:
    """An encoding (length, width): by the formula with this base, or learned where None."""
    said: Said = {}
    length, width = encoded.shape
    if base is not None:
        said["clock"] = compose(
            "The leftmost pair of channels turns by 1 radian a position, the rightmost by {pace:.2g}.",
            pace=float(positions.frequencies(width, base=base)[-1]),
        )
    if still := positions.still_channels(encoded):
        said["still"] = compose(
            "{count} of {all} channels hardly change over {length} positions.",
            count=still,
            all=width,
            length=length,
        )
    else:
        said["moving"] = compose("All {all} channels change over {length} positions.", all=width, length=length)
    return said


def waves(encoded: Array, base: float | None, pair: int) -> Said:
    """A pair of its channels."""
    said: Said = {}
    if base is None:
        column = encoded[:, 2 * pair]
        said["learned"] = compose(
            "Learned channels are no waves: channel {channel} correlates with itself one position on by {echo:.2f}.",
            channel=2 * pair,
            echo=float(np.corrcoef(column[:-1], column[1:])[0, 1]),
        )
        return said
    wave = float(positions.wavelengths(encoded.shape[1], base=base)[pair])
    if wave <= len(encoded) - 1:
        said["comes round"] = compose(
            "The wave of pair {pair} is {wave:,.1f} positions long and comes round within the sequence.", pair=pair, wave=wave
        )
    else:
        said["too long"] = compose(
            "The wave of pair {pair} is {wave:,.1f} positions long, longer than the sequence, and does not come round in it.",
            pair=pair,
            wave=wave,
        )
    return said


def similarity(encoded: Array, base: float | None, pos: int) -> Said:
    """The positions that are most like one of them."""
    said: Said = {}
    products = encoded @ encoded[pos]
    away = np.abs(np.arange(len(products)) - pos)
    rivals = np.where(away > 1, products, -np.inf)
    best = int(rivals.argmax())
    if rivals[best] > products[away == 1].max() + ROUNDING:
        said["farther"] = compose(
            "A position {far} away is more like position {pos} than its neighbours are.", far=int(away[best]), pos=pos
        )
    elif base is not None:
        said["neighbours"] = compose("After position {pos} itself its neighbours are most like it.", pos=pos)
    return said


def rotation(shift: Shift) -> Said:
    """A matrix that is to shift every position."""
    said: Said = {}
    if shift.largest < ROUNDING:
        said["exact"] = compose("One matrix shifts every position: the orange arrow ends in the green ring from any start.")
    if shift.share > 0.5:
        said["unexplained"] = compose("The best matrix in the sense of least squares leaves most of the encoding unexplained.")
    return said


def near_less_far(cosines: Array) -> float:
    """Mean of the entries beside the diagonal, less that of the entries half the length away from it."""
    return float(np.diagonal(cosines, 1).mean() - np.diagonal(cosines, len(cosines) // 2).mean())


def scale(without: Balance, added: Balance) -> Said:
    """The balance without positions and with them."""
    said: Said = {}
    if added.ratio >= 1:
        said["larger"] = compose("The encoding is as large as the content, or larger: {ratio:.3g} times.", ratio=added.ratio)
    before, after = near_less_far(without.cosines), near_less_far(added.cosines)
    if after - before > BAND:
        said["band"] = compose(
            "The positions add a band along the diagonal: without them the mean cosine of neighbouring rows is {before:.2f} "
            "above that of rows half the sequence apart, with them {after:.2f}.",
            before=before,
            after=after,
        )
    else:
        said["none"] = compose(
            "At this scale the positions add no band along the diagonal: neighbouring rows are hardly more alike than by their "
            "content alone."
        )
    return said


def listing(base: float) -> Said:
    """The report's listing (D11) with this base."""
    said: Said = {}
    said["base squared"] = compose(
        "The listing's waves are the standard ones with the base squared, {squared:,.0f} instead of {base:,.0f}.",
        squared=base**2,
        base=base,
    )
    return said
