"""The reader's choices on the positional-encoding page, and the dials of each part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.checkpoints import names
from core.lecture import notebooks, positions
from core.lecture.claims.positions import Encoded
from core.lecture.positions import ShippedPositions
from pages.learn import frame
from pages.learn.frame import Dial
from pages.shared import url_state
from pages.shared.language import _

WIDTHS: Final = (4, 8, 16, 32, 64, 128)
BASES: Final = (10, 100, 1_000, 10_000, 100_000)
LENGTH: Final = 64
WIDTH: Final = 32


@dataclass(frozen=True, kw_only=True)
class PositionChoices:
    """The choices, in range of the matrix.

    Attributes:
        kind: "sinusoidal" or the name of a checkpoint. shipped: that checkpoint's positions.
        matrix: (length, width). pos, pair: counted from 0, inside the matrix. shift: k of PE(pos + k).
    """

    kind: str
    shipped: ShippedPositions | None
    matrix: Any
    base: float
    scale: float
    pos: int
    pair: int
    shift: int
    content: str
    with_positions: bool

    @classmethod
    def of(cls, kind: str, shipped: ShippedPositions | None, values: dict[str, Any]) -> PositionChoices:
        """From the values of the dials."""
        length, width, base = int(values.get("n", LENGTH)), int(values.get("d", WIDTH)), float(values.get("base", 10_000))
        matrix = shipped.matrix if shipped is not None else positions.encoding(length, width, base=base)
        length, width = matrix.shape
        return cls(
            kind=kind,
            shipped=shipped,
            matrix=matrix,
            base=base,
            scale=shipped.scale if shipped is not None else float(values.get("s", 1.0)),
            pos=min(int(values.get("pos", 5)), length - 1),
            pair=min(int(values.get("i", 2)), width // 2 - 1),
            shift=min(int(values.get("k", 3)), length // 2),
            content=str(values.get("of", "tlob")),
            with_positions=bool(values.get("positions", False)),
        )

    @property
    def length(self) -> int:
        """Positions."""
        return int(self.matrix.shape[0])

    @property
    def width(self) -> int:
        """Channels."""
        return int(self.matrix.shape[1])

    @property
    def sinusoidal(self) -> bool:
        """Tells whether the encoding follows the sinusoidal formula."""
        return self.shipped is None or self.shipped.kind == "sinusoidal"

    @property
    def spread(self) -> float:
        """Root mean square of the matrix."""
        return positions.root_mean_square(self.matrix)

    def entry(self) -> positions.EncodingEntry:
        """The chosen pair of entries at the chosen position, with the numbers in between."""
        return positions.entry(self.pos, self.pair, self.width, base=self.base, scale=self.scale)

    def cosine_sums(self) -> Any:
        """(length,) dot products of the chosen position with all others by the sum of cosines."""
        return positions.dot_product_from(self.pos, self.length, self.width, base=self.base, scale=self.scale)

    def moved(self) -> positions.Shift:
        """The rotation by the chosen shift; for a learned encoding the best matrix by least squares."""
        if self.sinusoidal:
            return positions.apply_shift(self.matrix, self.shift, positions.rotation(self.width, self.shift, base=self.base))
        return positions.fitted_shift(self.matrix, self.shift)

    @property
    def other(self) -> int:
        """The position that the chosen one is compared with."""
        return max(0, self.pos - 3) if self.pos >= 3 else min(self.length - 1, self.pos + 3)

    @property
    def encoded(self) -> Encoded:
        """Encoding that the claims are about."""
        return Encoded(matrix=self.matrix, sinusoidal=self.sinusoidal, base=self.base, pos=self.pos, pair=self.pair)

    def taken(self, part: str) -> dict[str, Any]:
        """Values for a part's notebook; without the numbers on screen where the part itself has them."""
        matrix, pair = self.matrix, 2 * self.pair
        size = {"LENGTH": self.length, "WIDTH": self.width, "BASE": self.base, "SCALE": self.scale}
        values: dict[str, Any] = size | {"POS": self.pos, "PAIR": self.pair, "SHIFT": self.shift}
        if not self.sinusoidal:
            values["LEARNED"] = matrix
        one, shown = self.entry(), {}
        if part == "matrix":
            shown = {"pair": matrix[self.pos, pair : pair + 2], "rms": self.spread}
        elif part == "waves":
            shown = {"omega": one.frequency, "wavelength": one.wavelength} if self.sinusoidal else {"wave": matrix[:12, pair]}
        elif part == "similarity":
            shown = {
                "dot": positions.dot_products(matrix)[self.pos, self.other],
                "distance": positions.distances(matrix)[self.pos, self.other],
            }
            values["OTHER"] = self.other
        elif part == "rotation":
            found = self.moved()
            shown = {"turned": found.turned(matrix, self.pos)[pair : pair + 2], "share": found.share}
        return values | notebooks.on_screen(shown)


def dials_of(part: str, shipped: ShippedPositions | None) -> tuple[dict[str, Dial], str]:
    """The dials of a part by their URL parameter, and the code of the dial on display at first."""

    def shape() -> tuple[int, int]:
        return shipped.matrix.shape if shipped else (int(st.session_state["n"]), int(st.session_state["d"]))

    def bounded(label: str, key: str, low: int, default: int, high: Callable[[], int]) -> Dial:
        def draw(_values: object) -> int:  # the bound depends on the matrix, whose dials are drawn first
            most = max(low + 1, high())
            return url_state.slider(label, low, most, key=key, default=min(default, most))

        return Dial(label, draw, reads=True)

    def stops(label: str, key: str, values: tuple[int, ...], default: int) -> Dial:
        options = frame.whole_numbers(*values)
        return frame.choice(label, options, key=key, default=str(default), widget=st.select_slider, value=int)

    size: dict[str, Dial] = {
        "n": frame.slider(_("Length"), 8, 256, key="n", default=LENGTH),
        "d": stops(_("Channels d"), "d", WIDTHS, WIDTH),
        "base": stops(_("Base"), "base", BASES, 10_000),
    }
    size = {} if shipped else size

    def last() -> int:  # the shift's dial is drawn before; the shifted position is in the matrix, too
        return shape()[0] - 1 - (int(st.session_state["k"]) if part == "rotation" else 0)

    at = bounded(_("Position"), "pos", 0, 5, last)
    pair = bounded(_("Pair of channels i"), "i", 0, 2, lambda: shape()[1] // 2 - 1)
    shift = bounded(_("Shift k"), "k", 1, 3, lambda: shape()[0] // 2)
    scale = frame.slider(_("Scale s"), 0.0, 2.0, key="s", default=0.1, step=0.05)
    content = frame.choice(_("Added to"), content_names(), key="of", widget=st.radio)
    return {
        "matrix": ({**size, "pos": at, "i": pair}, "pos"),
        "waves": ({**size, "i": pair}, "i"),
        "similarity": ({**size, "pos": at}, "pos"),
        "rotation": ({**size, "k": shift, "i": pair, "pos": at}, "k"),
        "scale": ({"s": scale, "of": content}, "s"),
        "exponent": (size, "base"),
        "without": ({"positions": frame.switch(_("Add positions to the words"), key="positions")}, "positions"),
    }[part]


def content_names() -> dict[str, str]:
    """Names of the contents to which positions can be added, by code."""
    labels = {"tlob": _("A book window, as TLOB embeds it")}
    if names("vit"):
        labels["vit"] = _("A garment, as the ViT embeds it")
    return labels | {"drawn": _("Drawn from N(0, 1), as embeddings start")}
