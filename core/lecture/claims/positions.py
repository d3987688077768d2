"""Claims of the lesson on positions: about an `Encoded`, a `Shift`, a `Balance` and both forms of the exponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture import positions
from core.lecture.claims import Claim
from core.lecture.permutation import Shuffle
from core.lecture.positions import Array, Balance, Shift
from core.messages import compose

ROUNDING: Final = 1e-5
"""The encoding is float32: differences up to here are rounding."""
BAND: Final = 0.05
"""So much more must positions make near rows alike than far ones to be seen."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """An encoding (length, width), by the formula with this base or learned, with the position and pair that are read."""

    matrix: Array
    sinusoidal: bool
    base: float
    pos: int
    pair: int

    @property
    def still(self) -> int:
        """Channels that hardly change."""
        return positions.still_channels(self.matrix)

    @property
    def paces(self) -> Array:
        """Radians a position of each pair."""
        return positions.frequencies(self.matrix.shape[1], base=self.base)

    @property
    def wavelength(self) -> float:
        """Of the pair, in positions."""
        return float(2 * np.pi / self.paces[self.pair])

    @property
    def echo(self) -> float:
        """Correlation of the pair's first channel with itself, one position on."""
        column = self.matrix[:, 2 * self.pair]
        return float(np.corrcoef(column[:-1], column[1:])[0, 1])

    @property
    def farther(self) -> int:
        """Distance of the position that is more like the one read than both its neighbours are; 0 where none is."""
        products = self.matrix @ self.matrix[self.pos]
        away = np.abs(np.arange(len(products)) - self.pos)
        rivals = np.where(away > 1, products, -np.inf)
        best = int(rivals.argmax())
        return int(away[best]) if rivals[best] > products[away == 1].max() + ROUNDING else 0


@dataclass(frozen=True, kw_only=True)
class Exponents:
    """The standard form and the report's listing (D11) with one base."""

    standard: Array
    doubled: Array
    base: float


MATRIX: Final = (
    Claim[Encoded](
        "clock",
        lambda one: one.sinusoidal,
        lambda one: compose(
            "A clock with many hands: the leftmost pair of channels turns by 1 radian a position, the rightmost by {pace:.2g}.",
            pace=float(one.paces[-1]),
        ),
    ),
    Claim[Encoded](
        "still",
        lambda one: one.still > 0,
        lambda one: compose(
            "{count} of {all} channels hardly change over {length} positions: those hands stand still.",
            count=one.still, all=one.matrix.shape[1], length=len(one.matrix),
        ),
    ),
    Claim[Encoded](
        "moving",
        lambda one: one.still == 0,
        lambda one: compose(
            "All {all} channels change over {length} positions.", all=one.matrix.shape[1], length=len(one.matrix)
        ),
    ),
)  # fmt: skip
WAVES: Final = (
    Claim[Encoded](
        "comes round",
        lambda one: one.sinusoidal and one.wavelength <= len(one.matrix) - 1,
        lambda one: compose(
            "The wave of pair {pair} is {wave:,.1f} positions long and comes round within the sequence.",
            pair=one.pair, wave=one.wavelength,
        ),
    ),
    Claim[Encoded](
        "too long",
        lambda one: one.sinusoidal and one.wavelength > len(one.matrix) - 1,
        lambda one: compose(
            "The wave of pair {pair} is {wave:,.1f} positions long, longer than the sequence, and does not come round in it.",
            pair=one.pair, wave=one.wavelength,
        ),
    ),
    Claim[Encoded](
        "learned",
        lambda one: not one.sinusoidal,
        lambda one: compose(
            "Learned channels are no waves: channel {channel} correlates with itself one position on by {echo:.2f}.",
            channel=2 * one.pair, echo=one.echo,
        ),
    ),
)  # fmt: skip
SIMILARITY: Final = (
    Claim[Encoded](
        "neighbours",
        lambda one: one.sinusoidal and not one.farther,
        lambda one: compose("After position {pos} itself its neighbours are most like it.", pos=one.pos),
    ),
    Claim[Encoded](
        "farther",
        lambda one: one.farther > 0,
        lambda one: compose(
            "A position {far} away is more like position {pos} than its neighbours are.", far=one.farther, pos=one.pos
        ),
    ),
)
ROTATION: Final = (
    Claim[Shift](
        "exact",
        lambda shift: shift.largest < ROUNDING,
        lambda _shift: compose("One matrix serves every position: the orange arrow lands in the green ring wherever you start."),
    ),
    Claim[Shift](
        "unexplained",
        lambda shift: shift.share > 0.5,
        lambda _shift: compose("The best matrix in the sense of least squares leaves most of the encoding unexplained."),
    ),
)
SCALE: Final = (
    Claim[tuple[Balance, Balance]](
        "larger",
        lambda both: both[1].ratio >= 1,
        lambda both: compose("The encoding is as large as the content, or larger: {ratio:.3g} times.", ratio=both[1].ratio),
    ),
    Claim[tuple[Balance, Balance]](
        "band",
        lambda both: near_less_far(both[1].cosines) - near_less_far(both[0].cosines) > BAND,
        lambda both: compose(
            "The positions add a band along the diagonal: without them the mean cosine of neighbouring rows is {before:.2f} "
            "above that of rows half the sequence apart, with them {after:.2f}.",
            before=near_less_far(both[0].cosines), after=near_less_far(both[1].cosines),
        ),
    ),
    Claim[tuple[Balance, Balance]](
        "none",
        lambda both: near_less_far(both[1].cosines) - near_less_far(both[0].cosines) <= BAND,
        lambda _both: compose(
            "At this scale the positions add no band along the diagonal: neighbouring rows are hardly more alike than by their "
            "content alone."
        ),
    ),
)  # fmt: skip
"""About the balance without positions and with them."""


def near_less_far(cosines: Array) -> float:
    """Mean of the entries beside the diagonal, less that of the entries half the length away from it."""
    return float(np.diagonal(cosines, 1).mean() - np.diagonal(cosines, len(cosines) // 2).mean())


EXPONENT: Final = (
    Claim[Exponents](
        "more still",
        lambda both: positions.still_channels(both.doubled) > positions.still_channels(both.standard),
        lambda both: compose(
            "{doubled} of the listing's {all} channels stand still, against {standard} of the standard form's.",
            doubled=positions.still_channels(both.doubled), standard=positions.still_channels(both.standard),
            all=both.doubled.shape[1],
        ),
    ),
    Claim[Exponents](
        "as many",
        lambda both: positions.still_channels(both.doubled) == positions.still_channels(both.standard),
        lambda both: compose(
            "Here as many channels stand still in both forms: {count} of {all}.",
            count=positions.still_channels(both.doubled), all=both.doubled.shape[1],
        ),
    ),
    Claim[Exponents](
        "base squared",
        lambda _both: True,
        lambda both: compose(
            "The listing's waves are the standard ones with the base squared, {squared:,.0f} instead of {base:,.0f}.",
            squared=both.base**2, base=both.base,
        ),
    ),
)  # fmt: skip
WITHOUT: Final = (
    Claim[Shuffle](
        "equal",
        lambda shuffle: shuffle.equivariant,
        lambda _shuffle: compose("The two right-hand matrices are equal: each word's output has only moved along with it."),
    ),
    Claim[Shuffle](
        "other",
        lambda shuffle: not shuffle.equivariant,
        lambda _shuffle: compose(
            "The two right-hand matrices differ: each word that moved got another position and is another vector."
        ),
    ),
)
