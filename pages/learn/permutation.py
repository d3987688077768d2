"""Order and permutation: shuffle the words, and see Z' = PZ hold, or not, with its largest deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.learn.matrix import matrix_figure
from core.lecture import attention_steps, permutation, tokens
from core.lecture.permutation import Causal, Shuffle
from core.lecture.tokens import MOST, TokenError
from pages.learn import frame
from pages.learn.frame import Dial, tex
from pages.shared import controls, url_state
from pages.shared.language import _, number, significant
from pages.shared.live_plot import static_plot

PAGE: Final = "permutation"
WIDTH: Final = 4
SENTENCE: Final = "the dog bites the man"
ORDER: Final = "order"
DRAWS: Final = "permutation:draws"


@dataclass(frozen=True, kw_only=True)
class PermutationChoices:
    """The page's choices: the words, their new order, and what the layer is given besides."""

    sentence: str
    names: list[str]
    order: list[int]
    heads: int
    seed: int
    positions: bool
    causal: Causal
    x: Any
    weights: dict[str, Any]

    @property
    def shuffled(self) -> list[str]:
        """The words in their new order."""
        return [self.names[index] for index in self.order]


def current_order(count: int) -> list[int]:
    """The order in the session, else that of the link, else a shuffle."""
    kept = permutation.read_order(st.session_state.get(f"{ORDER}:kept") or st.query_params.get(ORDER), count)
    return kept or permutation.shuffled(count, 1)


def put_order(order: list[int]) -> None:
    """Keep an order, in the link too unless it is the one the page opens with."""
    written = permutation.write_order(order)
    st.session_state[f"{ORDER}:kept"] = written
    url_state.remember(ORDER, None if order == permutation.shuffled(len(order), 1) else written)


def reorder(how: str, count: int) -> None:
    """What a button does, before the page is drawn."""
    order = current_order(count)
    if how == "shuffle":
        st.session_state[DRAWS] = st.session_state.get(DRAWS, 1) + 1
        order = permutation.shuffled(count, st.session_state[DRAWS])
    elif how == "reverse":
        order = order[::-1]
    elif how == "original":
        order = list(range(count))
    else:
        chosen = int(st.session_state.get("word") or order[0])
        order = permutation.moved_by(order, order.index(min(chosen, count - 1)), -1 if how == "earlier" else 1)
    put_order(order)
    st.session_state.pop("permutation:typed", None)


def type_order(count: int) -> None:
    """Take a typed order, or say why not."""
    typed = permutation.read_order(st.session_state["permutation:typed"], count)
    st.session_state["permutation:refused"] = typed is None
    if typed is not None:
        put_order(typed)


def order_editor(names: list[str]) -> list[int]:
    """Buttons that shuffle, and one word that is moved, or the whole order typed."""
    count = len(names)
    order = current_order(count)
    put_order(order)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for how, label, icon in (
            ("shuffle", _("Shuffle"), ":material/shuffle:"),
            ("reverse", _("Reverse"), ":material/swap_horiz:"),
            ("original", _("Original order"), ":material/undo:"),
        ):
            st.button(label, icon=icon, key=f"permutation_{how}", on_click=reorder, args=(how, count))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = {str(index): names[index] for index in order}
        url_state.choice(st.segmented_control, _("Take a word and move it"), words, key="word", required=True)
        for how, label, icon in (
            ("earlier", _("Earlier"), ":material/arrow_back:"),
            ("later", _("Later"), ":material/arrow_forward:"),
        ):
            st.button(label, icon=icon, key=f"permutation_{how}", on_click=reorder, args=(how, count))
        if "permutation:typed" not in st.session_state:
            st.session_state["permutation:typed"] = permutation.write_order(order)
        st.text_input(_("Or type the order"), key="permutation:typed", on_change=type_order, args=(count,), width=200)
    if st.session_state.pop("permutation:refused", False):
        controls.error_box(_("This is no order of {count} words: write each number from 1 to {count} once.").format(count=count))
    return order


def ask(part: str) -> PermutationChoices:
    """Draw the dials of a part.

    Raises:
        TokenError: for words that cannot be used.
    """
    words: list[str] = []

    def write_words() -> str:
        sentence = st.text_input(_("Words, with blanks between"), SENTENCE, key="said", bind="query-params", max_chars=120)
        words[:] = tokens.split(sentence)
        return sentence

    masks = {"none": _("No mask"), "fixed": _("Causal, by place"), "permuted": _("Causal, shuffled along")}
    heads = {"1": "1", "2": "2", "4": "4"}
    offered = {
        "said": Dial(_("Words"), write_words),
        "order": Dial(
            _("Order"),
            lambda: order_editor(tokens.numbered(words)),
            shown=lambda order: " ".join(tokens.numbered(words)[index] for index in order),
        ),
        "places": Dial(
            _("Positions"),
            lambda: st.toggle(_("Add positions to the words"), key="places", bind="query-params"),
        ),
        "causal": Dial(
            _("Mask"),
            lambda: url_state.choice(st.segmented_control, _("Mask"), masks, key="causal", required=True),
            shown=lambda code: masks[code],
        ),
        "heads": Dial(
            _("Heads"), lambda: int(url_state.choice(st.segmented_control, _("Heads"), heads, key="heads", required=True))
        ),
        "draw": Dial(_("Draw"), lambda: url_state.slider(_("Draw of words and weights"), 0, 20, key="draw", default=0)),
    }
    if part == "table":  # which has all settings of these two anyway
        del offered["places"], offered["causal"]
    found = frame.dials("dial", offered, first="order")
    return PermutationChoices(
        sentence=found["said"],
        names=tokens.numbered(words),
        order=found["order"],
        heads=found["heads"],
        seed=found["draw"],
        positions=found.get("places", False),
        causal=cast(Causal, found.get("causal", "none")),
        x=tokens.embed(words, WIDTH, seed=found["draw"]),
        weights=attention_steps.drawn_weights(WIDTH, seed=found["draw"]),
    )


def matrix(
    values: Any, name: str, key: str, *, rows: list[str], columns: list[str], signed: bool = True, top: float = 0.0
) -> None:
    """One matrix with its numbers."""
    square = len(columns) == len(rows) and columns[0] in rows
    figure = matrix_figure(
        values,
        rows=rows,
        columns=columns,
        name=name,
        x_title=_("Key") if square else _("Channel"),
        y_title=_("Query") if square else _("Token"),
        signed=signed,
        top=top or (None if signed else 1.0),
        write=lambda value: number(round(value, 2) + 0.0, 2),
    )
    static_plot(figure, key=key, alt=_("{what}, a matrix with a row a token.").format(what=name))


def verdict(found: Shuffle) -> None:
    """The two claims, checked."""
    left, right = st.columns(2)
    with left:
        frame.check(
            (
                _("Equivariant: largest |Z' − PZ| is {value}.")
                if found.equivariant
                else _("Not equivariant: largest |Z' − PZ| is {value}.")
            ).format(value=f"{found.rows:.1e}" if found.equivariant else significant(found.rows)),
            holds=found.equivariant,
        )
    with right:
        frame.check(
            (
                _("Invariant after pooling: the means differ by {value}.")
                if found.invariant
                else _("Not invariant: the means differ by {value}.")
            ).format(value=f"{found.pool:.1e}" if found.invariant else significant(found.pool)),
            holds=found.invariant,
        )


def rows(asked: PermutationChoices, found: Shuffle) -> None:
    """P, PZ, Z' and what differs."""
    frame.equation(
        r"\begin{aligned} X' = PX \;\Rightarrow\; & Q' = PQ,\ K' = PK,\ V' = PV \\ & Z' = A'V' = PAP^\top PV = PZ \end{aligned}",
        rf"\begin{{aligned}} (PZ)_1 &= {frame.tex_row(found.moved[0])} \\ Z'_1 &= {frame.tex_row(found.after.output[0])} \\ "
        rf"\max\lvert Z' - PZ \rvert &= {tex(found.rows, 6)} \end{{aligned}}",
        words=_("Row 1 is now the word {word}.").format(word=asked.shuffled[0]),
    )
    channels = [str(index + 1) for index in range(WIDTH)]
    columns = st.columns(4)
    with columns[0]:
        static_plot(
            matrix_figure(
                found.p, rows=asked.shuffled, columns=asked.names, name="P", x_title=_("Was"), y_title=_("Is now"), signed=False,
                top=1.0, write=lambda value: number(value),
            ),
            key="permutation_p",
            alt=_("The permutation matrix: a one in each row and column."),
        )  # fmt: skip
    parts = (("PZ", "pz", found.moved), ("Z'", "after", found.after.output), ("Z' − PZ", "off", found.off))
    top = found.largest
    for column, (name, key, values) in zip(columns[1:], parts, strict=True):
        with column:
            matrix(values, name, f"permutation_{key}", rows=asked.shuffled, columns=channels, top=top)


def maps(asked: PermutationChoices, found: Shuffle) -> None:
    """A, P A P^T and A', first head."""
    frame.equation(
        r"A' = \mathrm{softmax}\!\left(\frac{PQK^\top P^\top}{\sqrt{d_k}}\right) = PAP^\top",
        rf"\max\lvert A' - PAP^\top \rvert = {tex(found.maps, 6)}",
        words=_("Over all heads; the maps shown are those of head 1."),
    )
    turned = permutation.permute_map(found.before.weights[0], found.p)
    for column, (name, key, names, values) in zip(
        st.columns(3),
        (
            ("A", "map", asked.names, found.before.weights[0]),
            ("PAPᵀ", "turned", asked.shuffled, turned),
            ("A'", "map_after", asked.shuffled, found.after.weights[0]),
        ),
        strict=True,
    ):
        with column:
            matrix(values, name, f"permutation_{key}", rows=names, columns=names, signed=False)


def pool(asked: PermutationChoices, found: Shuffle) -> None:
    """The mean over rows, before and after."""
    before, after = permutation.pooled(found.before.output), permutation.pooled(found.after.output)
    frame.equation(
        r"\bar z = \tfrac{1}{n}\mathbf{1}^\top Z, \qquad \mathbf{1}^\top P = \mathbf{1}^\top \;\Rightarrow\; \bar z' = \bar z",
        rf"\begin{{aligned}} \bar z &= {frame.tex_row(before, 4)} \\ \bar z' &= {frame.tex_row(after, 4)} \end{{aligned}}",
        words=_("Means over {count} words.").format(count=len(asked.names)),
    )
    static_plot(
        grouped_bars({_("in order"): before, _("shuffled"): after}, x_title=_("Channel"), y_title=_("Mean output")),
        key="permutation_pool",
        alt=_("The mean of the outputs in each channel, before and after the shuffle."),
    )


def table(asked: PermutationChoices, _found: Shuffle) -> None:
    """What holds in each setting, for this order."""
    frame.equation(
        r"Z' \overset{?}{=} PZ, \qquad \bar z' \overset{?}{=} \bar z",
        rf"P: {','.join(str(index + 1) for index in asked.order)}",
        words=_("Each word's place in the sentence, in the new order."),
    )
    masks = {"none": _("no mask"), "fixed": _("causal, by place"), "permuted": _("causal, shuffled along")}
    yes = {True: "✓", False: "✗"}
    lines = [
        {
            _("Positions"): _("on") if positions else _("off"),
            _("Mask"): masks[causal],
            _("largest |Z' − PZ|"): f"{found.rows:.1e}",
            _("equivariant"): yes[found.equivariant],
            _("largest |z̄' − z̄|"): f"{found.pool:.1e}",
            _("invariant"): yes[found.invariant],
        }
        for (positions, causal), found in zip(
            permutation.SETTINGS,
            permutation.what_holds(asked.x, asked.weights, asked.order, heads=asked.heads),
            strict=True,
        )
    ]
    frame_ = pd.DataFrame(lines)
    st.dataframe(frame_, hide_index=True, width="stretch")
    with frame.controls_block("table"):
        controls.download_table(_("Table"), lambda: frame_, key="permutation_table", filename="permutation", formats=("csv",))


part = frame.open_page(
    PAGE,
    _("Order and permutation"),
    parts={
        "rows": _("Rows: Z' = PZ"),
        "maps": _("Maps: A' = PAPᵀ"),
        "pool": _("Pooling"),
        "table": _("What holds when"),
    },
)


@st.fragment
def body(which: str) -> None:
    """Everything that changes with the order or a dial."""
    try:
        asked = ask(which)
    except TokenError:
        controls.error_box(_("Write 1 to {most} words, with blanks between.").format(most=MOST))
        return
    found = permutation.shuffle(
        asked.x, asked.weights, asked.order, heads=asked.heads, positions=asked.positions, causal=asked.causal
    )
    {"rows": rows, "maps": maps, "pool": pool, "table": table}[which](asked, found)
    if which != "table":
        verdict(found)
    frame.look_for(frame.passage(PAGE, which))
    frame.close_page(
        PAGE,
        sources=_(
            "attention-notebook (self-attention under permutation, sections 1 to 3; it calls equivariance invariance: D21), "
            "iiga-equations 5, vit-report 2.2 for the causal mask."
        ),
        values={"SENTENCE": asked.sentence, "ORDER": asked.order, "HEADS": asked.heads, "SEED": asked.seed},
    )


body(part)
