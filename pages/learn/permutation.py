"""Order and permutation: shuffle the words and check Z' = PZ, with its largest deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.learn.diagrams.permutation import permutation_diagram
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import attention_steps, claims, notebooks, permutation, tokens
from core.lecture.claims import permutation as permutation_claims
from core.lecture.permutation import Causal, Shuffle
from core.lecture.tokens import MAX_TOKENS, TokenError
from pages.learn import diagram, frame, predict, questions, what_moved
from pages.learn.frame import Dial, tex
from pages.shared import controls, url_state
from pages.shared.language import _, significant
from pages.shared.live_plot import static_plot

PAGE: Final = "permutation"
WIDTH: Final = 4
ORDER: Final = "order"
DRAWS: Final = "permutation:draws"


@dataclass(frozen=True, kw_only=True)
class PermutationChoices:
    """The reader's choices: the words, their new order, and the settings of the layer."""

    sentence: str
    names: list[str]
    order: list[int]
    heads: int
    seed: int
    positions: bool
    causal: Causal
    x: Any
    weights: dict[str, Any]

    def taken(self, part: str, shuffle: Shuffle) -> dict[str, Any]:
        """Values for a part's notebook."""
        shown: dict[str, Any] = {
            "rows": {
                "first row of PZ": shuffle.moved[0],
                "first row of Z'": shuffle.after.joined[0],
                "largest |Z' - PZ|": shuffle.rows,
            },
            "maps": {
                "first row of PAP^T": permutation.permute_map(shuffle.before.weights[0], shuffle.p)[0],
                "first row of A'": shuffle.after.weights[0][0],
                "largest |A' - PAP^T|": shuffle.maps,
            },
            "pool": {
                "mean of Z": permutation.pooled(shuffle.before.joined),
                "mean of Z'": permutation.pooled(shuffle.after.joined),
            },
        }
        if part == "table":
            found = permutation.compare_settings(self.x, self.weights, self.order, heads=self.heads)
            shown["table"] = {"equivariant": [one.equivariant for one in found], "invariant": [one.invariant for one in found]}
        layer = {"HEADS": self.heads} | ({} if part == "table" else {"POSITIONS": self.positions, "CAUSAL": self.causal})
        words = {"WORDS": self.names, "ORDER": self.order, "X": self.x}
        words |= {name: self.weights[name] for name in ("W_Q", "W_K", "W_V")}
        return {**words, **layer, **notebooks.on_screen(shown[part])}

    @property
    def shuffled(self) -> list[str]:
        """The words in their new order."""
        return [self.names[index] for index in self.order]


def current_order(count: int) -> list[int]:
    """The order of the session, else of the link, else a random one."""
    kept = permutation.read_order(st.session_state.get(f"{ORDER}:kept") or st.query_params.get(ORDER), count)
    return kept or permutation.random_order(count, 1)


def put_order(order: list[int]) -> None:
    """Keep an order in the session, and in the link unless it is the order the page opens with."""
    written = permutation.write_order(order)
    st.session_state[f"{ORDER}:kept"] = written
    url_state.remember(ORDER, None if order == permutation.random_order(len(order), 1) else written)


def reorder(how: str, count: int) -> None:
    """Change the order as a button says; runs before the page is drawn."""
    order = current_order(count)
    if how == "shuffle":
        st.session_state[DRAWS] = st.session_state.get(DRAWS, 1) + 1
        order = permutation.random_order(count, st.session_state[DRAWS])
    elif how == "reverse":
        order = order[::-1]
    elif how == "original":
        order = list(range(count))
    else:
        chosen = int(st.session_state.get("word") or order[0])
        order = permutation.move_token(order, order.index(min(chosen, count - 1)), -1 if how == "earlier" else 1)
    put_order(order)
    st.session_state.pop("permutation:typed", None)


def type_order(count: int) -> None:
    """Take the typed order, or mark it as refused."""
    typed = permutation.read_order(st.session_state["permutation:typed"], count)
    st.session_state["permutation:refused"] = typed is None
    if typed is not None:
        put_order(typed)


def order_editor(names: list[str]) -> list[int]:
    """Buttons that change the order, one word to move, and a field for a typed order."""
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


def read_choices(part: str) -> PermutationChoices:
    """Show the dials of a part and return what they say.

    Raises:
        TokenError: for words that cannot be used.
    """
    words: list[str] = []

    def write_words() -> str:
        sentence = st.text_input(
            _("Words, with blanks between"), _(permutation.SENTENCE), key="said", bind="query-params", max_chars=120
        )
        words[:] = tokens.split_words(sentence)
        return sentence

    masks = {"none": _("No mask"), "fixed": _("Causal, by place"), "permuted": _("Causal, shuffled along")}
    offered = {
        "said": Dial(_("Words"), write_words),
        "order": Dial(
            _("Order"),
            lambda: order_editor(tokens.unique_names(words)),
            lambda order: " ".join(tokens.unique_names(words)[index] for index in order),
        ),
        "places": frame.switch(_("Add positions to the words"), key="places", short=_("Positions")),
        "causal": frame.choice(_("Mask"), masks, key="causal"),
        "heads": frame.choice(_("Heads"), frame.whole_numbers(1, 2, 4), key="heads", value=int),
        "draw": frame.slider(_("Draw of words and weights"), 0, 20, key="draw", default=0, short=_("Draw")),
    }
    if part == "table":  # it has every setting of these two
        del offered["places"], offered["causal"]
    values = frame.dials("dial", offered, first="order")
    return PermutationChoices(
        sentence=values["said"],
        names=tokens.unique_names(words),
        order=values["order"],
        heads=values["heads"],
        seed=values["draw"],
        positions=values.get("places", False),
        causal=cast(Causal, values.get("causal", "none")),
        x=tokens.embed(words, WIDTH, seed=values["draw"]),
        weights=attention_steps.random_weights(WIDTH, seed=values["draw"]),
    )


def matrix(
    values: Any, name: str, key: str, *, rows: list[str], columns: list[str], signed: bool = True, top: float = 0.0
) -> None:
    """One matrix with its numbers."""
    square = len(columns) == len(rows) and columns[0] in rows
    drawn = Matrix(
        values=values,
        name=name,
        rows=rows,
        columns=columns,
        x_title=_("Key") if square else _("Channel"),
        y_title=_("Query") if square else _("Token"),
        signed=signed,
        top=top or (None if signed else 1.0),
    )
    static_plot(matrix_figure(drawn), key=key, alt=_("{what}, a matrix with one row per token.").format(what=name))


def tell_moved(choices: PermutationChoices, shuffle: Shuffle) -> None:
    """Tells what the last change moved in each word's own output, wherever the word now stands."""
    moved = what_moved.track("outputs by word", shuffle.p.T @ shuffle.after.joined, rows=choices.names)
    still = _("No word's output changed; its row stands where the word now stands.")
    what_moved.tell("outputs by word", moved, rows=choices.names, still=still)


def verdict(shuffle: Shuffle) -> None:
    """The two claims, checked."""
    left, right = st.columns(2)
    with left:
        frame.check(
            (
                _("Equivariant: largest |Z' − PZ| is {value}.")
                if shuffle.equivariant
                else _("Not equivariant: largest |Z' − PZ| is {value}.")
            ).format(value=f"{shuffle.rows:.1e}" if shuffle.equivariant else significant(shuffle.rows)),
            holds=shuffle.equivariant,
        )
    with right:
        frame.check(
            (
                _("Invariant after pooling: the means differ by {value}.")
                if shuffle.invariant
                else _("Not invariant: the means differ by {value}.")
            ).format(value=f"{shuffle.pool:.1e}" if shuffle.invariant else significant(shuffle.pool)),
            holds=shuffle.invariant,
        )


def rows(choices: PermutationChoices, shuffle: Shuffle) -> None:
    """P, PZ, Z' and their difference."""
    frame.equation(
        r"\begin{aligned} X' = PX \;\Rightarrow\; & Q' = PQ,\ K' = PK,\ V' = PV \\ & Z' = A'V' = PAP^\top PV = PZ \end{aligned}"
        if shuffle.equivariant
        else r"Z = AV, \qquad Z' = A'V' \neq PZ",
        rf"\begin{{aligned}} (PZ)_1 &= {frame.tex_row(shuffle.moved[0])} \\ Z'_1 &= {frame.tex_row(shuffle.after.joined[0])} \\ "
        rf"\max\lvert Z' - PZ \rvert &= {tex(shuffle.rows, 6)} \end{{aligned}}",
        note=_("Row 1 is now the word {word}.").format(word=choices.shuffled[0]),
    )
    channels = [str(index + 1) for index in range(WIDTH)]
    columns = st.columns(4)
    with columns[0]:
        static_plot(
            matrix_figure(
                Matrix(
                    values=shuffle.p,
                    name="P",
                    rows=choices.shuffled,
                    columns=choices.names,
                    x_title=_("Was"),
                    y_title=_("Is now"),
                    signed=False,
                    top=1.0,
                ),
                form=".0f",
            ),
            key="permutation_p",
            alt=_("The permutation matrix: a one in each row and column."),
        )
    parts = (("PZ", "pz", shuffle.moved), ("Z'", "after", shuffle.after.joined), ("Z' − PZ", "off", shuffle.off))
    top = shuffle.largest
    for column, (name, key, values) in zip(columns[1:], parts, strict=True):
        with column:
            matrix(values, name, f"permutation_{key}", rows=choices.shuffled, columns=channels, top=top)


def maps(choices: PermutationChoices, shuffle: Shuffle) -> None:
    """A, P A P^T and A' of the first head."""
    frame.equation(
        r"A' = \mathrm{softmax}\!\left(\frac{PQK^\top P^\top}{\sqrt{d_k}}\right) = PAP^\top"
        if shuffle.maps < permutation.EXACT
        else r"A' \neq PAP^\top",
        rf"\max\lvert A' - PAP^\top \rvert = {tex(shuffle.maps, 6)}",
        note=_("Over all heads; the maps shown are those of head 1."),
    )
    turned = permutation.permute_map(shuffle.before.weights[0], shuffle.p)
    for column, (name, key, names, values) in zip(
        st.columns(3),
        (
            ("A", "map", choices.names, shuffle.before.weights[0]),
            ("PAPᵀ", "turned", choices.shuffled, turned),
            ("A'", "map_after", choices.shuffled, shuffle.after.weights[0]),
        ),
        strict=True,
    ):
        with column:
            matrix(values, name, f"permutation_{key}", rows=names, columns=names, signed=False)


def pool(choices: PermutationChoices, shuffle: Shuffle) -> None:
    """The mean over rows, before and after."""
    before, after = permutation.pooled(shuffle.before.joined), permutation.pooled(shuffle.after.joined)
    frame.equation(
        r"\bar Z = \tfrac{1}{T}\mathbf{1}^\top Z, \qquad "
        + (
            r"\mathbf{1}^\top P = \mathbf{1}^\top \;\Rightarrow\; \bar Z' = \bar Z"
            if shuffle.invariant
            else r"\bar Z' \neq \bar Z"
        ),
        rf"\begin{{aligned}} \bar Z &= {frame.tex_row(before, 4)} \\ \bar Z' &= {frame.tex_row(after, 4)} \end{{aligned}}",
        note=_("Means over {count} words.").format(count=len(choices.names)),
    )
    static_plot(
        grouped_bars({_("in order"): before, _("shuffled"): after}, x_title=_("Channel"), y_title=_("Mean output")),
        key="permutation_pool",
        alt=_("The mean of the outputs in each channel, before and after the shuffle."),
    )


def table(choices: PermutationChoices, _shuffle: Shuffle) -> None:
    """Equivariance and invariance in each setting, for this order."""
    frame.equation(
        r"Z' \overset{?}{=} PZ, \qquad \bar Z' \overset{?}{=} \bar Z",
        rf"P: {','.join(str(index + 1) for index in choices.order)}",
        note=_("Each word's place in the sentence, in the new order."),
    )
    masks = {"none": _("no mask"), "fixed": _("causal, by place"), "permuted": _("causal, shuffled along")}
    yes = {True: "✓", False: "✗"}
    compared = permutation.compare_settings(choices.x, choices.weights, choices.order, heads=choices.heads)
    lines = [
        {
            _("Positions"): _("on") if positions else _("off"),
            _("Mask"): masks[causal],
            _("largest |Z' − PZ|"): f"{result.rows:.1e}",
            _("equivariant"): yes[result.equivariant],
            _("largest |Z̄' − Z̄|"): f"{result.pool:.1e}",
            _("invariant"): yes[result.invariant],
        }
        for (positions, causal), result in zip(permutation.SETTINGS, compared, strict=True)
    ]
    settings = pd.DataFrame(lines)
    st.dataframe(settings, hide_index=True, width="stretch")
    with frame.controls_block("table"):
        controls.download_table(_("Table"), lambda: settings, key="permutation_table", filename="permutation", formats=("csv",))
    frame.look_for(*claims.told(permutation_claims.TABLE, compared))


part = frame.open_page(
    PAGE,
    _("Order and permutation"),
    parts={
        "rows": _("Rows: Z' = PZ"),
        "maps": _("Maps: A' = PAPᵀ"),
        "pool": _("Pooling"),
        "table": _("Which property holds when"),
    },
)


SAID: Final = {"rows": permutation_claims.ROWS, "maps": permutation_claims.MAPS, "pool": permutation_claims.POOL}


@st.fragment
def body(which: str) -> None:
    """Everything that changes with the order or a dial."""
    diagram.slot()
    try:
        choices = read_choices(which)
    except TokenError:
        controls.error_box(_("Write 1 to {most} words, with blanks between.").format(most=MAX_TOKENS))
        frame.link_only()
        return
    shuffle = permutation.shuffle(
        choices.x, choices.weights, choices.order, heads=choices.heads, positions=choices.positions, causal=choices.causal
    )
    diagram.show(
        permutation_diagram(shuffle, choices.order, heads=choices.heads, write=diagram.write, size=lambda value: f"{value:.1e}"),
        dial="dial",
    )
    predict.ask(
        lambda: questions.backwards(
            choices.x,
            choices.weights,
            count=choices.heads,
            positions=choices.positions,
            causal=choices.causal,
            names=choices.names,
        )
    )
    {"rows": rows, "maps": maps, "pool": pool, "table": table}[which](choices, shuffle)
    if which != "table":
        verdict(shuffle)
        tell_moved(choices, shuffle)
        frame.look_for(*claims.told(SAID[which], shuffle))
    frame.close_page(
        PAGE,
        sources=_(
            "attention-notebook (self-attention under permutation, sections 1 to 3; it calls equivariance invariance: D21), "
            "iiga-equations 5, vit-report 2.2 for the causal mask."
        ),
        values=choices.taken(which, shuffle),
    )


body(part)
