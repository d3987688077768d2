"""Order and permutation: shuffle the words and check Z' = PZ, with its largest deviation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.matrix import Matrix
from core.lecture import attention_steps, permutation, tokens
from core.lecture.notebooks import on_screen
from core.lecture.permutation import Causal, Shuffle
from core.lecture.tokens import MAX_TOKENS, TokenError
from pages.learn import frame
from pages.learn.frame import Dial, Elsewhere, Worked, tex, tex_row
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, check, plot, render, table, word_matrix, written
from pages.learn.what_moved import Followed
from pages.shared import url_state
from pages.shared.language import N_, _, ngettext, number

WIDTH: Final = 4
ORDER: Final = "order:kept"
DRAWS: Final = "permutation:draws"
MASKS: Final = {"none": N_("No mask"), "fixed": N_("Causal, by place"), "permuted": N_("Causal, shuffled along")}


def current_order(count: int) -> list[int]:
    """The order of the session, else of the link, else a random one."""
    kept = permutation.read_order(st.session_state.get(ORDER) or st.query_params.get("order"), count)
    return kept or permutation.random_order(count, 1)


def put_order(order: list[int]) -> None:
    """Keep an order in the session, and in the link unless it is the order the page opens with."""
    st.session_state[ORDER] = written = permutation.write_order(order)
    url_state.remember("order", None if order == permutation.random_order(len(order), 1) else written)


def reorder(how: str, count: int) -> None:
    """Change the order as a button says; runs before the page is drawn."""
    order, state = current_order(count), st.session_state
    if how == "shuffle":
        state[DRAWS] = state.get(DRAWS, 1) + 1
        order = permutation.random_order(count, state[DRAWS])
    else:
        order = order[::-1] if how == "reverse" else list(range(count))
    put_order(order)


def order_editor(values: Mapping[str, Any]) -> list[int]:
    """Buttons that change the order."""
    count = len(tokens.split_words(values["typed"]))
    order = current_order(count)
    put_order(order)

    def offer(how: str, label: str, icon: str) -> None:
        st.button(label, icon=f":material/{icon}:", key=f"permutation_{how}", on_click=reorder, args=(how, count))

    with st.container(horizontal=True, gap="xsmall"):
        offer("shuffle", _("Shuffle"), "shuffle")
        offer("reverse", _("Reverse"), "swap_horiz")
        offer("original", _("Original order"), "undo")
    return order


def order_dial() -> Dial:
    """The words' order."""

    def words(order: list[int], values: Mapping[str, Any]) -> str:
        names = tokens.unique_names(tokens.split_words(values["typed"]))
        return " ".join(names[index] for index in order)

    def backwards(order: list[int]) -> Elsewhere:
        return Elsewhere(order[::-1], {ORDER: permutation.write_order(order[::-1])})

    return Dial(_("Order"), order_editor, words, elsewhere=backwards)


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """The reader's words in their new order, through one layer; the fields are the dials."""

    typed: Annotated[str, frame.words(_("Words, with blanks between"), _(permutation.SENTENCE), key="typed", short=_("Words"))]
    order: Annotated[list[int], order_dial()]
    places: Annotated[bool, frame.switch(_("Positions"), key="places")] = False
    causal: Annotated[Causal, frame.choice(_("Mask"), MASKS, key="causal")] = "none"
    heads: Annotated[int, frame.choice(_("Heads"), frame.whole_numbers(1, 2, 4), key="heads", value=int)]

    @cached_property
    def names(self) -> list[str]:
        """The words, each different."""
        return tokens.unique_names(tokens.split_words(self.typed))

    @cached_property
    def x(self) -> Any:
        """(words, width)."""
        return tokens.embed(tokens.split_words(self.typed), WIDTH)

    @cached_property
    def weights(self) -> dict[str, Any]:
        """By name."""
        return attention_steps.random_weights(WIDTH)

    @cached_property
    def result(self) -> Shuffle:
        """The layer on the words before and afterwards."""
        given: dict[str, Any] = {"heads": self.heads, "positions": self.places, "causal": self.causal}
        return permutation.shuffle(self.x, self.weights, self.order, **given)

    @property
    def shuffled(self) -> list[str]:
        """The words in their new order."""
        return [self.names[index] for index in self.order]

    def asked(self) -> tuple[str, float]:
        """The number whose change a reader is asked to predict."""
        return _("the largest |Z' − PZ|"), self.result.rows

    def notebook_values(self, shown: Mapping[str, Any], **layer: Any) -> dict[str, Any]:
        """Values for a part's notebook."""
        words = {"WORDS": self.names, "ORDER": self.order, "X": self.x, "HEADS": self.heads}
        return words | {name: self.weights[name] for name in ("W_Q", "W_K", "W_V")} | layer | on_screen(shown)


def verdict(shuffle: Shuffle) -> list[Item]:
    """The two claims, checked."""
    kept, pooled = shuffle.equivariant, shuffle.invariant
    equivariant = _("Equivariant: largest |Z' − PZ| is {value}.") if kept else _("Not equivariant: largest |Z' − PZ| is {value}.")
    invariant = (
        _("Invariant after pooling: the means differ by {value}.") if pooled else _("Not invariant: the means differ by {value}.")
    )
    return [
        check(equivariant.format(value=written(shuffle.rows, -1)), kept),
        check(invariant.format(value=written(shuffle.pool, -1)), pooled),
    ]


def shown(it: Shuffled, equation: Worked, figure: list[Item], numbers: Mapping[str, Any]) -> PartView:
    """Pieces of all parts but the table: equation and figure, the verdict, the words' outputs followed wherever they stand."""
    own = it.result.p.T @ it.result.after.joined
    still = _("No word's output changed; its row stands where the word now stands.")
    return PartView(
        equation=equation,
        figure=[*figure, verdict(it.result)],
        followed=Followed(name="outputs by word", values=own, rows=it.names, still=still),
        asked=it.asked,
        notebook_values=lambda: it.notebook_values(numbers, POSITIONS=it.places, CAUSAL=it.causal),
    )


def rows(it: Shuffled) -> PartView:
    """P, PZ, Z' and their difference."""
    shuffle, names = it.result, it.shuffled
    top = shuffle.largest
    equation = Worked(
        r"\begin{aligned} X' = PX \;\Rightarrow\; & Q' = PQ,\ K' = PK,\ V' = PV \\ & Z' = A'V' = PAP^\top PV = PZ \end{aligned}"
        if shuffle.equivariant
        else r"Z = AV, \qquad Z' = A'V' \neq PZ",
        rf"\begin{{aligned}} (PZ)_1 &= {tex_row(shuffle.moved[0])} \\ Z'_1 &= {tex_row(shuffle.after.joined[0])} \\ "
        rf"\max\lvert Z' - PZ \rvert &= {tex(shuffle.rows, 6)} \end{{aligned}}",
        _("Row 1 is now the word {word}.").format(word=names[0]),
    )
    p = Matrix(
        values=shuffle.p,
        name="P",
        rows=names,
        columns=it.names,
        x_title=_("Was"),
        y_title=_("Is now"),
        signed=False,
        top=1.0,
        digits=0,
    )
    of_after = shuffle.operands if it.heads == 1 else {}
    figure: list[Item] = [
        plot(p, "permutation_p", _("The permutation matrix: a one in each row and column.")),
        word_matrix(shuffle.moved, "PZ", "permutation_pz", names, top=top, of=shuffle.operands),
        word_matrix(shuffle.after.joined, "Z'", "permutation_after", names, top=top, of=of_after),
        word_matrix(shuffle.off, "Z' − PZ", "permutation_off", names, top=top, of=shuffle.operands),
    ]
    numbers = {"first row of PZ": shuffle.moved[0], "first row of Z'": shuffle.after.joined[0], "largest |Z' - PZ|": shuffle.rows}
    return shown(it, equation, [figure], numbers)


def maps(it: Shuffled) -> PartView:
    """A, P A P^T and A' of the first head."""
    shuffle, names = it.result, it.shuffled
    equation = Worked(
        r"A' = \mathrm{softmax}\!\left(\frac{PQK^\top P^\top}{\sqrt{d_k}}\right) = PAP^\top"
        if shuffle.maps < permutation.EXACT
        else r"A' \neq PAP^\top",
        rf"\max\lvert A' - PAP^\top \rvert = {tex(shuffle.maps, 6)}",
        _("Over all heads; the maps shown are those of head 1."),
    )
    before, after = shuffle.before.weights[0], shuffle.after.weights[0]
    turned = permutation.permute_map(before, shuffle.p)
    figure: list[Item] = [
        word_matrix(before, "A", "permutation_map", it.names, it.names, signed=False, top=1.0, of=shuffle.operands),
        word_matrix(turned, "PAPᵀ", "permutation_turned", names, names, signed=False, top=1.0),
        word_matrix(after, "A'", "permutation_map_after", names, names, signed=False, top=1.0, of=shuffle.operands),
    ]
    numbers = {"first row of PAP^T": turned[0], "first row of A'": after[0], "largest |A' - PAP^T|": shuffle.maps}
    return shown(it, equation, [figure], numbers)


def pool(it: Shuffled) -> PartView:
    """The mean over rows, before and after."""
    shuffle = it.result
    before, after = permutation.pooled(shuffle.before.joined), permutation.pooled(shuffle.after.joined)
    count = len(it.names)
    equal = r"\mathbf{1}^\top P = \mathbf{1}^\top \;\Rightarrow\; \bar Z' = \bar Z"
    equation = Worked(
        r"\bar Z = \tfrac{1}{T}\mathbf{1}^\top Z, \qquad " + (equal if shuffle.invariant else r"\bar Z' \neq \bar Z"),
        rf"\begin{{aligned}} \bar Z &= {tex_row(before, 4)} \\ \bar Z' &= {tex_row(after, 4)} \end{{aligned}}",
        ngettext("The mean over {count} word.", "The mean over {count} words.", count).format(count=number(count)),
    )
    bars = grouped_bars({_("in order"): before, _("shuffled"): after}, x_title=_("Channel"), y_title=_("Mean output"))
    alt = _("The mean of the outputs in each channel, before and after the shuffle.")
    numbers = {"mean of Z": before, "mean of Z'": after}
    return shown(it, equation, [plot(bars, "permutation_pool", alt)], numbers)


def settings(it: Shuffled) -> PartView:
    """Equivariance and invariance in each setting, for this order."""
    yes = {True: "✓", False: "✗"}
    compared = permutation.compare_settings(it.x, it.weights, it.order, heads=it.heads)
    lines = [
        {
            _("Positions"): _("on") if positions else _("off"),
            _("Mask"): _(MASKS[causal]),
            _("largest |Z' − PZ|"): written(result.rows, -1),
            _("equivariant"): yes[result.equivariant],
            _("largest |Z̄' − Z̄|"): written(result.pool, -1),
            _("invariant"): yes[result.invariant],
        }
        for (positions, causal), result in zip(permutation.SETTINGS, compared, strict=True)
    ]
    equation = Worked(
        r"Z' \overset{?}{=} PZ, \qquad \bar Z' \overset{?}{=} \bar Z",
        rf"P: {','.join(str(index + 1) for index in it.order)}",
        _("Each word's place in the sentence, in the new order."),
    )
    numbers = {"equivariant": [one.equivariant for one in compared], "invariant": [one.invariant for one in compared]}
    return PartView(
        equation=equation,
        figure=[table(lines)],
        asked=it.asked,
        notebook_values=lambda: it.notebook_values(numbers),
    )


render(
    LessonPage(
        "permutation",
        _("Order and permutation"),
        [
            Part("rows", _("Rows: Z' = PZ"), rows, first="order"),
            Part("maps", _("Maps: A' = PAPᵀ"), maps, first="order"),
            Part("pool", _("Pooling"), pool, first="order"),
            Part("table", _("Which property holds when"), settings, first="order", dials=("typed", "order", "heads")),
        ],
        "attention-notebook 1–3; iiga-equations 5; vit-report 2.2; D21",
        {TokenError: (_("Write 1 to {most} words, with blanks between.").format(most=MAX_TOKENS), "")},
    )
)
