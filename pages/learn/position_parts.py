"""What the positional-encoding page asks for, and the parts that need more than a formula: scale and shuffled words."""

from __future__ import annotations

from dataclasses import dataclass
from operator import truediv
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from core.checkpoints import names
from core.figures.learn import positions as figures
from core.figures.learn.matrix import matrix_figure
from core.lecture import attention_steps, permutation, positions, tokens
from core.lecture.positions import Shipped
from core.lecture.shown_digits import digits_needed
from core.market.book import read_rows
from core.market.library import recordings
from core.market.predictor import load_predictor
from pages.learn import frame
from pages.learn.frame import Dial, tex
from pages.shared import url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import static_plot

WORDS: Final = ["the", "dog", "bites", "the·2", "man"]
ORDER: Final = [3, 4, 2, 0, 1]
WIDTHS: Final = ("4", "8", "16", "32", "64", "128")
BASES: Final = ("10", "100", "1000", "10000", "100000")
LENGTH: Final = 64
WIDTH: Final = 32


@dataclass(frozen=True, kw_only=True)
class PositionChoices:
    """Everything the page was asked for, in range.

    Attributes:
        kind: "sinusoidal" or the name of a checkpoint. known: that checkpoint's positions.
        matrix: (length, width). pos, pair, shift: counted from 0, inside the matrix.
    """

    kind: str
    known: Shipped | None
    matrix: Any
    base: float
    scale: float
    pos: int
    pair: int
    shift: int
    content: str
    with_positions: bool

    @classmethod
    def of(cls, kind: str, known: Shipped | None, found: dict[str, Any]) -> PositionChoices:
        """From the values of the dials."""
        length, width, base = int(found.get("n", LENGTH)), int(found.get("d", WIDTH)), float(found.get("base", 10_000))
        matrix = known.matrix if known is not None else positions.encoding(length, width, base=base)
        length, width = matrix.shape
        return cls(
            kind=kind,
            known=known,
            matrix=matrix,
            base=base,
            scale=known.scale if known is not None else float(found.get("s", 1.0)),
            pos=min(int(found.get("pos", 5)), length - 1),
            pair=min(int(found.get("i", 2)), width // 2 - 1),
            shift=min(int(found.get("k", 3)), length // 2),
            content=str(found.get("of", "tlob")),
            with_positions=bool(found.get("positions", False)),
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
        """Whether the formula holds."""
        return self.known is None or self.known.kind == "sinusoidal"

    @property
    def spread(self) -> float:
        """Root mean square of the matrix."""
        return positions.root_mean_square(self.matrix)

    def entry(self) -> positions.EncodingEntry:
        """The chosen pair at the chosen position, by hand."""
        return positions.entry(self.pos, self.pair, self.width, base=self.base, scale=self.scale)

    def by_shift(self) -> Any:
        """What the sum of cosines says of the chosen position and all others."""
        return positions.dot_product_from(self.pos, self.length, self.width, base=self.base, scale=self.scale)

    def moved(self) -> positions.Shift:
        """The rotation, or what comes nearest for a learned encoding."""
        if self.sinusoidal:
            return positions.apply_shift(self.matrix, self.shift, positions.rotation(self.width, self.shift, base=self.base))
        return positions.fitted_shift(self.matrix, self.shift)

    def snippet(self) -> dict[str, Any]:
        """Values for the page's snippet."""
        return {"LENGTH": self.length, "WIDTH": self.width, "BASE": self.base, "SCALE": self.scale, "SHIFT": self.shift}


def dials_of(part: str, known: Shipped | None) -> tuple[dict[str, Dial], str]:
    """The dials of a part by their URL parameter, and which of them is shown at first."""

    def shape() -> tuple[int, int]:
        return known.matrix.shape if known else (int(st.session_state["n"]), int(st.session_state["d"]))

    def whole_number(name: str, key: str, low: int, default: int, high: Any) -> Dial:
        def draw() -> int:
            most = max(low + 1, high())
            return url_state.slider(name, low, most, key=key, default=min(default, most))

        return Dial(name, draw)

    size: dict[str, Dial] = {
        "n": Dial(_("Length"), lambda: url_state.slider(_("Length"), 8, 256, key="n", default=LENGTH)),
        "d": _stepped(_("Channels d"), "d", WIDTHS, str(WIDTH)),
        "base": _stepped(_("Base"), "base", BASES, "10000"),
    }
    size = {} if known else size
    at = whole_number(_("Position"), "pos", 0, 5, lambda: shape()[0] - 1)
    pair = whole_number(_("Pair of channels i"), "i", 0, 2, lambda: shape()[1] // 2 - 1)
    shift = whole_number(_("Shift k"), "k", 1, 3, lambda: shape()[0] // 2)
    return {
        "matrix": ({**size, "pos": at, "i": pair}, "pos"),
        "waves": ({**size, "i": pair}, "i"),
        "similarity": ({**size, "pos": at}, "pos"),
        "rotation": ({**size, "k": shift, "i": pair, "pos": at}, "k"),
        "scale": ({"s": _scale(), "of": _content()}, "s"),
        "exponent": (size, "base"),
        "without": ({"positions": _switch()}, "positions"),
    }[part]


def _stepped(name: str, key: str, options: tuple[str, ...], default: str) -> Dial:
    labels = {code: number(int(code)) for code in options}
    return Dial(
        name, lambda: url_state.choice(st.select_slider, name, labels, key=key, default=default), shown=lambda code: labels[code]
    )


def _scale() -> Dial:
    return Dial(
        _("Scale s"), lambda: url_state.slider(_("Scale s"), 0.0, 2.0, key="s", default=0.1, step=0.05), shown=significant
    )


def _content() -> Dial:
    labels = {"tlob": _("A book window, as TLOB embeds it")}
    if names("vit"):
        labels["vit"] = _("A garment, as the ViT embeds it")
    labels["drawn"] = _("Drawn from N(0, 1), as embeddings start")
    return Dial(
        _("Added to"),
        lambda: url_state.choice(st.radio, _("Added to"), labels, key="of"),
        shown=lambda code: labels[code],
    )


def _switch() -> Dial:
    name = _("Add positions to the words")
    return Dial(name, lambda: st.toggle(name, key="positions", bind="query-params"))


def write(value: float) -> str:
    """Two decimals, in the reader's language."""
    return number(value + 0.0, 2)


def whole(
    values: Any,
    name: str,
    *,
    row: int | None = None,
    signed: bool = True,
    height: int = 400,
    square: bool = False,
    channels: bool = False,
) -> go.Figure:
    """A large matrix without numbers: positions down; across positions (square), else channels."""
    across = _("Position") if square else _("Channel")
    return matrix_figure(
        values,
        rows=[str(index) for index in range(values.shape[0])],
        columns=[str(index) for index in range(values.shape[1])],
        name=name,
        x_title=across,
        y_title=_("Channel") if channels else _("Position"),
        signed=signed,
        row=row,
        shown=False,
        height=height,
    )


@st.cache_data(show_spinner=False)
def _tlob_content() -> tuple[Any, str]:
    """The first whole window of the first recording as the shipped TLOB embeds it, and the recording's symbol."""
    predictor, recording = load_predictor(), recordings()[0]
    window = read_rows(recording.path).levels[: predictor.window]
    market = predictor.market(recording.name)
    return positions.tlob_content(predictor.model, predictor.inputs(window[None], market)), recording.symbol


@st.cache_data(show_spinner=False)
def _vit_content() -> Any:
    """The first bundled garment as the shipped ViT embeds it, the class token first."""
    from core.vision.classifier import load_classifier  # only where it is asked for
    from core.vision.gallery import gallery

    classifier = load_classifier()
    return positions.vit_content(classifier.model, classifier.normalise(gallery()[0][:1]))


def scale(chosen: PositionChoices) -> None:
    """content + s * PE: how much of the sum is place."""
    if chosen.content == "tlob":
        content, market = _tlob_content()
        words = _("Content: the first window of {market}, after BiN and embedding of the shipped TLOB.").format(market=market)
    elif chosen.content == "vit":
        content = _vit_content()
        words = _(
            "Content: the first bundled garment as the shipped ViT embeds it, class token first; it was trained with s = 0.1."
        )
    else:
        content = positions.drawn_embeddings(LENGTH, WIDTH)
        words = _("Content: numbers from N(0, 1), as `nn.Embedding` starts; nothing here was trained.")
    places = positions.encoding(*content.shape, scale=chosen.scale)
    found = positions.balance(content, places)
    top, bottom = positions.root_mean_square(places), positions.root_mean_square(content)
    digits = digits_needed(truediv, top, bottom, result=3)
    frame.equation(
        r"X_{pe} = X + s \cdot PE, \qquad \frac{\mathrm{rms}(s\,PE)}{\mathrm{rms}(X)}",
        rf"s = {tex(chosen.scale, 2)}: \quad \frac{{{tex(top, digits)}}}{{{tex(bottom, digits)}}} = {tex(found.ratio, 3)}",
        words=_("Root mean squares over all positions and channels."),
    )
    left, right = st.columns(2)
    with left:
        static_plot(
            figures.balance_figure(found.content, found.position),
            key="pe_balance",
            alt=_("Root mean square of the content and of the scaled encoding, along the positions."),
        )
        st.caption(words)
        st.markdown(_("The encoding is {share} of the content in size.").format(share=percent(found.ratio)))
    with right:
        static_plot(
            whole(found.cosines, _("Cosine similarity of the rows of X + s PE"), height=420, square=True),
            key="pe_cosines",
            alt=_("Cosine similarity of every two rows of content plus positions."),
        )


def shuffled_words(*, with_positions: bool) -> permutation.Shuffle:
    """Five words through one untrained attention layer, in order and shuffled."""
    x = tokens.embed([word.split("·")[0] for word in WORDS], 8)
    return permutation.shuffle(x, attention_steps.drawn_weights(8), ORDER, positions=with_positions)
