"""Positional encoding: the matrix, its waves, likeness by distance, a shift as a rotation, scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from operator import truediv
from typing import Annotated, Any, Final

import streamlit as st

from core.checkpoints import CheckpointError
from core.figures.learn import positions as figures
from core.figures.matrix import Matrix
from core.lecture import positions
from core.lecture.notebooks import on_screen
from core.lecture.positions import EncodingEntry
from core.lecture.shown_digits import digits_needed, flat
from pages.learn.frame import Dial, Worked, passage, slider, stops, switch, tex, tex_matrix, tex_row
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, caption, check, markdown, plot, render, stats, written
from pages.learn.what_moved import Followed
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.stat_strip import Stat

WIDTHS: Final = (4, 8, 16, 32, 64, 128)
BASES: Final = (10, 100, 1_000, 10_000, 100_000)
LENGTH: Final = 64
WIDTH: Final = 32
SIZE: Final = ("n", "d", "base")
OMEGA: Final = r"\omega_i = \mathrm{base}^{-2i/D}"
"""The pace of a pair of channels, radians a position."""


def kind() -> dict[str, Any]:
    """The choice between the formula and the positions of a shipped model, between figure and dials."""
    kinds = {"sinusoidal": _("Sinusoidal"), "tlob": _("TLOB's, learned")}
    plain: dict[str, Any] = {"label_visibility": "collapsed"}
    return {"pe": url_state.choice(st.segmented_control, _("Encoding"), kinds, key="pe", **plain)}


def of_formula(dial: Dial, pe: str = "sinusoidal") -> Dial | None:
    """A dial of the formula, which positions that were trained are without."""
    return dial if pe == "sinusoidal" else None


def bounded(label: str, key: str, low: int, default: int, high: Callable[[Encoding], int], pe: str = "sinusoidal") -> Dial:
    """A dial for what is read of an encoding, within it."""
    return slider(label, low, lambda values: high(Encoding(pe=pe, **values)), key=key, default=default, reads=True)


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """An encoding and where it is read; the fields are the dials, of which each part has some.

    Attributes:
        pe: "sinusoidal", or "tlob" for the learned positions of the shipped TLOB.
        doubled: the report's listing, with 4i in the exponent (D11).
        n, d: length and channels. pos, i, k: position, pair of channels, shift. s: scale.
    """

    pe: str = "sinusoidal"
    n: Annotated[int, partial(of_formula, slider(_("Length"), 8, 256, key="n", default=LENGTH))] = LENGTH
    d: Annotated[int, partial(of_formula, stops(_("Channels d"), WIDTHS, key="d", default=WIDTH))] = WIDTH
    base: Annotated[float, partial(of_formula, stops(_("Base"), BASES, key="base", default=10_000))] = 10_000
    doubled: Annotated[
        bool, partial(of_formula, switch(_("The report's listing: exponent 2(2i)/D"), key="doubled", short=_("Listing")))
    ] = False
    k: Annotated[int, partial(bounded, _("Shift k"), "k", 1, 3, lambda of: of.size[0] // 2)] = 0
    i: Annotated[int, partial(bounded, _("Pair of channels i"), "i", 0, 2, lambda of: of.size[1] // 2 - 1)] = 2
    pos: Annotated[int, partial(bounded, _("Position"), "pos", 0, 5, lambda of: of.size[0] - 1 - of.k)] = 5
    s: Annotated[float, slider(_("Scale") + " s", 0.0, 2.0, key="s", default=0.1, step=0.05)] = 1.0

    @property
    def learned(self) -> bool:
        """Tells whether the positions were trained."""
        return self.pe != "sinusoidal"

    @cached_property
    def matrix(self) -> Any:
        """(length, width)."""
        if self.learned:
            return positions.learned_positions(self.pe)
        return positions.encoding(self.n, self.d, base=float(self.base), doubled_exponent=self.doubled)

    @property
    def size(self) -> tuple[int, int]:
        """Positions and channels."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def at(self) -> int:
        """Position that is read; the shifted one is inside the matrix, too."""
        return min(self.pos, self.size[0] - 1 - self.shift)

    @property
    def pair(self) -> int:
        """Pair of channels that is read."""
        return min(self.i, self.size[1] // 2 - 1)

    @property
    def shift(self) -> int:
        """The k of PE(pos + k)."""
        return min(self.k, self.size[0] // 2)

    @property
    def other(self) -> int:
        """The position that the chosen one is compared with."""
        return max(0, self.at - 3) if self.at >= 3 else min(self.size[0] - 1, self.at + 3)

    @property
    def squared(self) -> float:
        """The base of the standard formula that gives this encoding: the listing squares it (D11)."""
        return float(self.base) ** (2 if self.doubled else 1)

    @cached_property
    def entry(self) -> EncodingEntry:
        """The chosen pair of entries at the chosen position, with the numbers in between."""
        return positions.entry(self.at, self.pair, self.size[1], base=self.squared)

    def notebook_values(self, shown: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Values for a part's notebook."""
        values = {"LENGTH": self.size[0], "WIDTH": self.size[1], "BASE": self.squared, "SCALE": self.s}
        values |= {"POS": self.at, "PAIR": self.pair, "SHIFT": self.shift}
        return values | ({"LEARNED": self.matrix} if self.learned else {}) | more | on_screen(shown)


def heat(values: Any, name: str, key: str, alt: str, *, row: int | None = None, height: int = 400, **more: Any) -> Item:
    """A large matrix without numbers: positions down, channels across.

    Args:
        row: row that is outlined. more: for the `Matrix`.
    """
    given: dict[str, Any] = {"x_title": _("Channel"), "y_title": _("Position")}
    given["outlined"] = () if row is None else ((row, row, 0, values.shape[1] - 1),)
    rows, columns = ([str(index) for index in range(size)] for size in values.shape)
    drawn = Matrix(values=values, name=name, rows=rows, columns=columns, numbers=False, **(given | more))
    return plot(drawn, key, alt, height=height)


def matrix(it: Encoding) -> PartView:
    """The whole encoding, and one entry of it calculated."""
    if not it.learned:
        one, pair = it.entry, 2 * it.pair
        digits = digits_needed(positions.wave_pair, one.angle, result=4)
        power, twice = ("2(2i)", r"2 \cdot ") if it.doubled else ("2i", "")
        angle = rf"\frac{{pos}}{{\mathrm{{base}}^{{{power}/D}}}}"
        equation = Worked(
            (r"\text{listing: }" if it.doubled else "") + rf"PE_{{pos,2i}} = \sin{angle} \qquad PE_{{pos,2i+1}} = \cos{angle}",
            rf"\begin{{aligned}} PE_{{{it.at},{pair}}} &= \sin\frac{{{it.at}}}"
            rf"{{{tex(it.base, 0)}^{{{twice}{pair}/{it.size[1]}}}}} "
            rf"= \sin {tex(one.angle, digits)} = {tex(one.sine, 4)} \\ "
            rf"PE_{{{it.at},{pair + 1}}} &= \cos {tex(one.angle, digits)} = {tex(one.cosine, 4)} \end{{aligned}}",
            _("Angles in radians; channels are counted from 0."),
        )
    else:
        equation = Worked(
            r"X_{pe} = X + PE, \qquad PE \in \mathbb{R}^{T \times D} \text{ trained}",
            rf"PE_{{{it.at}}} = " + tex_row(it.matrix[it.at]),
            _("Row {number} of the shipped TLOB's positions.").format(number=it.at),
        )
    spread, still = positions.root_mean_square(it.matrix), number(positions.still_channels(it.matrix))
    strip = stats(
        Stat(name=_("Positions × channels"), value=f"{it.size[0]} × {it.size[1]}"),
        Stat(name=_("Channels that hardly change"), value=still, note=_("they span under 1 % of the largest span")),
        Stat(name=_("Root mean square"), value=significant(spread)),
    )
    alt = _("The encoding as a heatmap: positions down, channels across.")
    rows = [_("position {number}").format(number=index) for index in range(it.size[0])]
    shown = {"pair": it.matrix[it.at, 2 * it.pair : 2 * it.pair + 2], "rms": spread}
    return PartView(
        equation=equation,
        figure=[heat(it.matrix, "PE", "pe_matrix", alt, row=it.at, height=456), strip],
        notes=[passage("positions", "matrix_learned")] if it.learned else None,
        asked=lambda: (_("the number of channels that hardly change"), positions.still_channels(it.matrix)),
        followed=Followed(name="encoding", values=it.matrix, rows=rows),
        notebook_values=lambda: it.notebook_values(shown),
    )


def waves(it: Encoding) -> PartView:
    """A pair and its neighbours along the positions."""
    one, pair = it.entry, 2 * it.pair
    name = _("channel {number}")
    channels = [channel for channel in (pair, pair + 1, pair + 2) if channel < it.size[1]]
    drawn = figures.along_figure([(name.format(number=one), it.matrix[:, one]) for one in channels], _("Value"))
    return PartView(
        equation=Worked(
            rf"{OMEGA}, \qquad \Lambda_i = \frac{{2\pi}}{{\omega_i}}",
            rf"\omega_{{{it.pair}}} = {tex(it.base, 0)}^{{-{pair}/{it.size[1]}}} = {tex(one.frequency, 5)}, "
            rf"\qquad \Lambda_{{{it.pair}}} = {tex(one.wavelength, 1)}",
            _("Wavelength in positions; the sequence has {number} of them.").format(number=it.size[0]),
        ),
        figure=[plot(drawn, "pe_waves", _("Three channels of the encoding along the positions."))],
        asked=lambda: (_("the length of this pair's wave"), one.wavelength),
        notebook_values=lambda: it.notebook_values({"omega": one.frequency, "wavelength": one.wavelength}),
    )


def similarity(it: Encoding) -> PartView:
    """Dot product and distance of every two positions, and one row of each as a curve."""
    products, apart = positions.dot_products(it.matrix), positions.distances(it.matrix)
    at, other = it.at, it.other
    square: dict[str, Any] = {"x_title": _("Position"), "row": at}
    cosines = rf"PE_{{pos}} \cdot PE_{{pos'}} = \sum_i \cos\big((pos-pos')\,\omega_i\big), \quad {OMEGA}"
    alt = _("{what} of every two positions, a heatmap.")
    lines = [(_("dot product with position {number}").format(number=at), products[at])]
    if not it.learned:
        sums = positions.dot_product_by_shift(range(-at, it.size[0] - at), it.size[1], base=float(it.base))
        lines.append((_("the sum of cosines"), sums))
    dot, distance = _("Dot product"), _("Distance")
    curve = figures.along_figure(lines, dot, at=at)
    return PartView(
        equation=Worked(
            r"PE_{pos} \cdot PE_{pos'} = \sum_j PE_{pos,j} PE_{pos',j}" if it.learned else cosines,
            rf"PE_{{{at}}} \cdot PE_{{{other}}} = {tex(products[at, other], 3)}, \qquad "
            rf"\lVert PE_{{{at}}} - PE_{{{other}}} \rVert = {tex(apart[at, other], 3)}",
        ),
        figure=[
            [
                heat(products, dot, "pe_dot", alt.format(what=dot), **square),
                heat(apart, distance, "pe_distance", alt.format(what=distance), signed=False, **square),
            ],
            plot(curve, "pe_curve", _("The dot product of one position with all others.")),
        ],
        notes=[passage("positions", "similarity_learned")] if it.learned else None,
        asked=lambda: (_("the dot product of the two positions"), float(products[at, other])),
        notebook_values=lambda: it.notebook_values({"dot": products[at, other], "distance": apart[at, other]}, OTHER=other),
    )


def rotation(it: Encoding) -> PartView:
    """PE(pos + k) = M PE(pos): the block with numbers, its residual, and the rotation on a circle."""
    k, at, both = it.shift, it.at, slice(2 * it.pair, 2 * it.pair + 2)
    turn, here, there = positions.rotation(it.size[1], k, base=float(it.base)), it.matrix[at, both], it.matrix[at + k, both]
    block, residual = turn[both, both], positions.shift_residual(it.matrix, k, turn)
    turned = positions.turned_pair(*flat(block, here))
    digits = digits_needed(positions.turned_pair, *flat(block, here), result=3)
    column, result = tex_matrix([[value] for value in here], digits), tex_matrix([[value] for value in turned], 3)
    note = _("Pair {pair} of position {first}, shifted by {shift}. Position {second} itself has {sine} and {cosine}.")
    rounding = _("Largest residual over all positions and channels: {value}, which is rounding error.")
    circle = figures.turn_figure(it.matrix[:, both], at=at, shift=k, turned=turned)
    alt = _("The matrix that shifts positions: blocks of two along its diagonal, each a rotation.")
    return PartView(
        equation=Worked(
            r"\begin{bmatrix} PE_{pos+k,2i} \\ PE_{pos+k,2i+1} \end{bmatrix} = \begin{bmatrix} \cos k\omega_i & "
            r"\sin k\omega_i \\ -\sin k\omega_i & \cos k\omega_i \end{bmatrix} "
            rf"\begin{{bmatrix}} PE_{{pos,2i}} \\ PE_{{pos,2i+1}} \end{{bmatrix}}, \quad {OMEGA}",
            rf"{tex_matrix(block, digits)} {column} = {result}",
            note.format(first=at, shift=k, second=at + k, pair=it.pair, sine=number(there[0], 3), cosine=number(there[1], 3)),
        ),
        figure=[
            check(rounding.format(value=written(residual, -1)), residual < 1e-5),
            [
                plot(circle, "pe_turn", _("One pair of channels on a circle: a position, and where the matrix turns it.")),
                heat(turn, _("M for k = {number}").format(number=k), "pe_rotation", alt, y_title=_("Channel")),
            ],
        ],
        asked=lambda: (_("the first number of the pair after its turn"), float(turned[0])),
        notebook_values=lambda: it.notebook_values({"turned": turned, "largest residual": residual}),
    )


@st.cache_data(show_spinner=False)
def _garment() -> Any:
    """The first bundled garment as the shipped ViT embeds it, the class token first: (tokens, width)."""
    from core.vision.classifier import load_classifier  # only where it is asked for
    from core.vision.gallery import gallery

    classifier = load_classifier()
    return positions.vit_content(classifier.model, classifier.normalise(gallery()[0][:1]))


def scale(it: Encoding) -> PartView:
    """X + s PE: the size of the position beside that of the content."""
    content = _garment()
    cosine = _("Cosine similarity of the rows")
    source = _("Content: the first bundled garment as the shipped ViT embeds it, class token first; it was trained with s = 0.1.")
    places = positions.encoding(*content.shape, scale=it.s)
    balance = positions.balance(content, places)
    top, bottom = positions.root_mean_square(places), positions.root_mean_square(content)
    digits = digits_needed(truediv, top, bottom, result=3)
    rows = [(_("content"), balance.content), (_("scale × position"), balance.position)]
    sizes = figures.along_figure(rows, _("Root mean square"))
    given = {"LENGTH": content.shape[0], "WIDTH": content.shape[1], "BASE": 10_000.0, "RMS_OF_CONTENT": bottom}
    return PartView(
        equation=Worked(
            r"X_{pe} = X + s \cdot PE, \qquad \frac{\mathrm{rms}(s\,PE)}{\mathrm{rms}(X)}",
            rf"s = {tex(it.s, 2)}: \quad \frac{{{tex(top, digits)}}}{{{tex(bottom, digits)}}} = {tex(balance.ratio, 3)}",
            _("Root mean squares over all positions and channels."),
        ),
        figure=[[
            [
                plot(sizes, "pe_balance", _("Root mean square of the content and of the scaled encoding, along the positions.")),
                caption(source),
                markdown(_("The encoding is {share} of the content in size.").format(share=percent(balance.ratio))),
            ],
            heat(
                balance.cosines, cosine, "pe_cosines",
                _("{what} of every two positions, a heatmap.").format(what=cosine), height=420, x_title=_("Position"),
            ),
        ]],
        asked=lambda: (_("the size of the encoding beside that of the content"), balance.ratio),
        notebook_values=lambda: it.notebook_values({"ratio": balance.ratio}, **given),
    )  # fmt: skip


render(
    LessonPage(
        "positions",
        _("Positional encoding"),
        [
            Part("matrix", _("The matrix"), matrix, first="pos", dials=(*SIZE, "doubled", "pos", "i"), above=kind),
            Part("waves", _("Waves"), waves, first="i", dials=(*SIZE, "i")),
            Part("similarity", _("Near and far"), similarity, first="pos", dials=(*SIZE, "pos"), above=kind),
            Part("rotation", _("A shift is a rotation"), rotation, first="k", dials=(*SIZE, "k", "i", "pos")),
            Part("scale", _("Scale"), scale, dials=("s",)),
        ],
        "sequence-modelling; attention-notebook; iiga-equations 4; vit-report 2.1; tlob-architecture 2.4; "
        "Vaswani et al. 2017, 3.5; D11",
        {CheckpointError: ("", controls.restore_remedy())},
    )
)
