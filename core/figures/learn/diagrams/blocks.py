"""A block diagram as data: blocks on a grid, wires between them. Flow runs along the columns; a phone turns it downwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["step", "data", "sum"]
Way = Literal["forward", "back", "over", "under"]
Write = Callable[[float], str]
"""Writes a number as the reader's language does."""
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Block:
    """One block.

    Attributes:
        code: by which wires name it.
        label: translated, short; `_x` and `_{xy}` are written as subscripts.
        at: (column, row), from 0 on; halves are allowed.
        note: second line, a shape or a value.
        part: code of the page's part that the block opens, or `#` and the key of an element of the page that it leads to; ""
            where it opens none.
        kind: "data" has round ends; "sum" is a small circle with a sign.
    """

    code: str
    label: str
    at: tuple[float, float]
    note: str = ""
    part: str = ""
    kind: Kind = "step"


@dataclass(frozen=True)
class Wire:
    """A wire from one block to another.

    Attributes:
        label: a few numbers, or a shape.
        way: "back" runs beside the forward wire in the other direction; "over" and "under" go around the blocks in between.
        lane: how far out an "over" or "under" wire runs, from 1 on.
    """

    source: str
    target: str
    label: str = ""
    way: Way = "forward"
    lane: int = 1


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """A diagram; its title is translated."""

    title: str
    blocks: tuple[Block, ...]
    wires: tuple[Wire, ...]

    def block(self, code: str) -> Block:
        """The block of this code.

        Raises:
            KeyError: where there is none.
        """
        return {block.code: block for block in self.blocks}[code]

    @property
    def parts(self) -> set[str]:
        """Codes of the parts that the blocks open."""
        return {block.part for block in self.blocks if block.part and not block.part.startswith("#")}


def shape(values: NDArray[np.generic] | tuple[int, ...]) -> str:
    """A shape as text: 6×4."""
    return "×".join(str(size) for size in (values if isinstance(values, tuple) else values.shape))


def few(values: Sequence[float] | NDArray[np.floating], write: Write, most: int = 2) -> str:
    """The first entries, and dots where there are more, as in `0.31  −0.20 …`."""
    shown = [write(float(value)).replace("-", "−") if np.isfinite(value) else "−∞" for value in list(values)[:most]]
    return f"{NO_BREAK * 2}".join(shown) + (f"{NO_BREAK}…" if len(values) > most else "")
