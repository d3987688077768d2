"""Attention step by step: words to Q, K, V, to scores, to weights, to a mixture, to heads side by side, all with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Final

import streamlit as st

from core.explain.summaries import strongest
from core.figures.learn.attention_steps import row_bars
from core.figures.matrix import Matrix
from core.lecture import attention_steps, tokens
from core.lecture.attention_steps import Mask, Steps, concatenate_heads
from core.lecture.moved import Moved
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import digits_needed, dot, flat
from core.lecture.tokens import MAX_TOKENS, TokenError
from core.lecture.trained_head import HEAD, LAYER, POINTED, trained_head
from pages.learn import attention_cost, attention_roles, frame, matrix_editor
from pages.learn.attention_roles import MAP, SENTENCE, WIDTH
from pages.learn.frame import Dial, Worked, passage, tex, tex_matrix, tex_row
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, check, plot, render, word_matrix, written
from pages.learn.what_moved import Followed
from pages.shared import url_state
from pages.shared.language import _, number, percent

TEMPERATURES: Final = (0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 5.0, 10.0, 50.0)
KEYS: Final = {"X": "tx", "W_Q": "twq", "W_K": "twk", "W_V": "twv"}
"""URL parameter of each matrix's edits."""


def names_of(values: Mapping[str, Any]) -> list[str]:
    """The words, each different: the reader's where the part asks for them, else the trained head's."""
    return tokens.unique_names(values["words"].split() if "words" in values else trained_head().tokens)


def pick_query(values: Mapping[str, Any]) -> int:
    """Asks for the query."""
    options = {str(index): name for index, name in enumerate(names_of(values))}
    default = None if "words" in values else str(trained_head().tokens.index(POINTED))
    return int(url_state.choice(st.segmented_control, _("Query"), options, key="q", default=default))


def masks() -> dict[str, str]:
    """Each mask's name on the page."""
    names = {"none": _("No mask"), "causal": _("causal").capitalize(), "window": _("Window of 3 keys")}
    return names | {"padding": _("Padding: the last 2")}


@dataclass(frozen=True, kw_only=True)
class Attended:
    """A trained head on its sentence; the fields are the dials, the query counted from 0."""

    q: Annotated[int, Dial(_("Query"), pick_query, lambda index, values: names_of(values)[index], reads=True)]
    t: Annotated[float, frame.stops(_("Temperature") + " τ", TEMPERATURES, key="t", default=1.0)]
    mask: Annotated[Mask, frame.choice(_("Mask"), masks(), key="mask")]
    heads: int = 1

    @cached_property
    def names(self) -> list[str]:
        """The words, each different."""
        return names_of(vars(self))

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """X (words, width) and the weights, by name, before any edit."""
        return attention_steps.random_weights(WIDTH) | trained_head().matrices

    @cached_property
    def edited(self) -> dict[str, Any]:
        """The same with the reader's edits."""
        return self.drawn | {name: matrix_editor.edited(self.drawn[name], key=key) for name, key in KEYS.items()}

    def notes(self, part: str) -> list[str]:
        """The part's passage, and the origin of the numbers."""
        return [passage("attention_steps", part), about_the_head(self.steps.weights[0])]

    @property
    def weights(self) -> dict[str, Any]:
        """The edited weights alone."""
        return {name: values for name, values in self.edited.items() if name != "X"}

    @cached_property
    def steps(self) -> Steps:
        """Every number of the layer."""
        count = len(self.names)
        mask = attention_steps.build_mask(self.mask, count, kept=max(1, count - 2))
        return attention_steps.steps(self.edited["X"], self.weights, heads=self.heads, mask=mask, temperature=self.t)

    @property
    def query(self) -> int:
        """Row that is read."""
        return min(self.q, len(self.names) - 1)

    @property
    def key(self) -> int:
        """The key with the largest weight of the query."""
        return strongest(self.steps.weights[0, self.query], 1)[0][0]

    def followed(self, view: str, values: Any, *, keys: bool = False) -> Followed:
        """A matrix with one row per token."""
        return Followed(name=view, values=values, rows=self.names, columns=self.names if keys else None)

    @property
    def operands(self) -> dict[str, Any]:
        """Matrices that others come from."""
        return self.steps.operands(0, self.query)

    def notebook_values(self, **shown: Any) -> dict[str, Any]:
        """Values for a part's notebook."""
        layer = {"HEADS": self.heads, "MASK": self.steps.mask.astype(int), "TEMPERATURE": self.t}
        return {"WORDS": self.names, **self.edited, **layer, "QUERY": self.query, **on_screen(shown)}


@dataclass(frozen=True, kw_only=True)
class ManyHeads(Attended):
    """Several heads on the reader's words, with numbers drawn at random."""

    words: Annotated[str, frame.words(_("Words, with blanks between"), _(SENTENCE), key="words", short=_("Words"))]
    heads: Annotated[int, frame.choice(_("Heads"), frame.whole_numbers(1, 2, 4), key="heads", value=int)]

    @cached_property
    def edited(self) -> dict[str, Any]:
        """X (words, width) and the weights, by name."""
        return {"X": tokens.embed(self.words.split(), WIDTH)} | attention_steps.random_weights(WIDTH)


def editors(it: Attended) -> None:
    """The tokens and the weights as tables to edit."""
    with st.expander(_("Edit the numbers"), icon=":material/edit:"):
        channels = [str(index + 1) for index in range(WIDTH)]
        for column, name in zip([*st.columns(2), *st.columns(2)], KEYS, strict=True):
            with column:
                rows = it.names if name == "X" else [f"{index}·" for index in channels]
                matrix_editor.editor(it.drawn[name], key=KEYS[name], label=name, rows=rows, columns=channels)


def matrix(it: Attended, values: Any, name: str, key: str, columns: list[str] | None = None, **more: Any) -> Item:
    """One matrix with its numbers, by `word_matrix`; a click on a row's name chooses that query."""
    given = {"outlined": ((it.query, it.query, 0, values.shape[1] - 1),), **more}
    return word_matrix(values, name, f"steps_{key}", it.names, columns, chooses="q" if given["outlined"] else "", **given)


def by_key(it: Attended, values: Any, name: str, key: str, **more: Any) -> Item:
    """A matrix of queries by keys."""
    return matrix(it, values, name, key, it.names, **more)


def weight_bars(it: Attended, key: str, moved: Moved | None = None) -> Item:
    """The weights of the query."""
    i = it.query
    before = moved.before[i] if moved and i in moved.rows else None
    even = attention_steps.even_weights(it.steps.mask[i])
    bars = row_bars(it.steps.weights[0, i], it.names, y_title=_("Weight"), even=even, before=before)
    return plot(bars, key, _("Weights of the chosen query, one bar per key."))


def project(it: Attended) -> PartView:
    """X, and Q, K and V from it."""
    i, x = it.query, it.edited["X"]
    q, k, v = (concatenate_heads(one) for one in (it.steps.q, it.steps.k, it.steps.v))

    def weights(name: str) -> Item:
        drawn = Matrix(values=it.edited[name], name=name, x_title=_("Channel"), y_title=_("Channel of X"))
        return plot(drawn, f"steps_{name}", _("The matrix {name}.").format(name=name))

    return PartView(
        equation=Worked(
            r"Q = XW_Q, \qquad K = XW_K, \qquad V = XW_V",
            rf"\begin{{aligned}} X_{{{i + 1}}} &= {tex_row(x[i])} \\ W_Q &= {tex_matrix(it.edited['W_Q'])} \\ "
            rf"Q_{{{i + 1}}} = X_{{{i + 1}}} W_Q &= {tex_row(q[i])} \end{{aligned}}",
            _("Query {number}: {word}.").format(number=i + 1, word=it.names[i]),
        ),
        figure=lambda moved: [
            [
                matrix(it, x, "X", "X"),
                matrix(it, q, "Q", "Q", moved=moved, of=it.edited),
                matrix(it, k, "K", "K", of=it.edited),
                matrix(it, v, "V", "V", of=it.edited),
            ],
            [None, weights("W_Q"), weights("W_K"), weights("W_V")],
        ],
        notes=it.notes("project"),
        followed=it.followed("queries", q),
        asked=lambda: (_("the first number of the query of “{word}”").format(word=it.names[i]), float(q[i][0])),
        notebook_values=lambda: it.notebook_values(q=q[i], k=k[i], v=v[i]),
    )


def in_rows(it: Attended, raw: Item, scaled: Item, masked: Item) -> list[Item]:
    """The three matrices of scores, two side by side and one below, so that no column is cut off."""
    return [[raw, scaled], [masked, None]] if it.mask == "none" else [[scaled, masked], [raw, None]]


def scores(it: Attended) -> PartView:
    """The scores Q K^T, scaled and masked."""
    steps, i, j = it.steps, it.query, it.key
    raw, q, k = steps.raw[0, i, j], steps.q[0, i], steps.k[0, j]
    of_raw = digits_needed(attention_steps.scaled_score, raw, steps.temperature, steps.key_width)
    digits = digits_needed(dot, *flat(q, k), result=of_raw)
    terms = [rf"({tex(a, digits)})({tex(b, digits)})" for a, b in zip(q, k, strict=True)]
    pairs = r" \\ + ".join(" + ".join(terms[at : at + 2]) for at in range(0, len(terms), 2))  # two a row: half a page's width
    pairs = rf"\begin{{gathered}} {pairs} \end{{gathered}}" if len(terms) > 2 else pairs
    return PartView(
        equation=Worked(
            r"S = \frac{QK^\top}{\tau\sqrt{d_k}}, \qquad S_{ij} = \frac{Q_i \cdot K_j}{\tau\sqrt{d_k}}",
            rf"\begin{{aligned}} Q_{{{i + 1}}} \cdot K_{{{j + 1}}} &= {pairs} = {tex(raw, of_raw)} \\ "
            rf"S_{{{i + 1},{j + 1}}} &= \frac{{{tex(raw, of_raw)}}}{{{tex(it.t, 2)} \cdot "
            rf"\sqrt{{{steps.key_width}}}}} = {tex(steps.scaled[0, i, j])} \end{{aligned}}",
            _("Query {query} and the key it looks at most, {key}.").format(query=it.names[i], key=it.names[j]),
        ),
        figure=lambda moved: [
            *in_rows(
                it,
                by_key(it, steps.raw[0], "QKᵀ", "raw", of=it.operands),
                by_key(it, steps.scaled[0], "QKᵀ / (τ √d_k)", "scaled", of=it.operands),
                by_key(it, steps.masked[0], _("masked"), "masked", moved=moved, of=it.operands),
            ),
        ],
        notes=it.notes("scores"),
        followed=it.followed("scores", steps.masked[0], keys=True),
        asked=lambda: (_("the largest score of “{word}”").format(word=it.names[i]), float(steps.masked[0, i].max())),
        notebook_values=lambda: it.notebook_values(**{"q k": steps.raw[0, i], "scores": steps.scaled[0, i]}),
    )


def softmax(it: Attended) -> PartView:
    """The weights of all queries, of one query, and their entropy."""
    steps, i = it.steps, it.query
    weights, entropy = steps.weights[0], steps.entropy[0]
    row = partial(tex_row, digits=4, most=5)
    entropies = row_bars(entropy, it.names, y_title=_("Entropy, nats"), even=attention_steps.even_entropies(steps.mask), mark=i)
    count = int(steps.mask[i].sum())
    note = (
        _("In nats; looking at the {count} keys that this query may look at alike would be {entropy}.")
        if count > 1
        else _("In nats; this query may look at one key alone.")
    )
    return PartView(
        equation=Worked(
            r"S_i = \frac{Q_i K^\top}{\tau\sqrt{d_k}}, \quad A_{ij} = \frac{e^{S_{ij}}}{\sum_{j'} e^{S_{ij'}}}, \quad "
            r"\mathrm{entropy}_i = -\sum_j A_{ij} \ln A_{ij}",
            rf"\begin{{aligned}} Q_{{{i + 1}}} K^\top &= {row(steps.raw[0, i])} \\ "
            rf"\tau\sqrt{{d_k}} &= {tex(it.t, 2)} \cdot \sqrt{{{steps.key_width}}} \\ "
            rf"S_{{{i + 1}}} &= {row(steps.masked[0, i])} \\ A_{{{i + 1}}} &= {row(weights[i])} \\ "
            rf"\mathrm{{entropy}}_{{{i + 1}}} &= {tex(entropy[i])} \end{{aligned}}",
            note.format(count=number(count), entropy=number(attention_steps.even_entropies(steps.mask)[i], 3)),
        ),
        figure=lambda moved: [
            [
                by_key(
                    it,
                    weights,
                    _("A, the attention weights"),
                    "weights",
                    moved=moved,
                    of=it.operands,
                    masked=~steps.mask,
                    **MAP,
                ),
                [
                    weight_bars(it, "steps_row", moved),
                    plot(entropies, "steps_entropy", _("Entropy of each query's weights; the chosen query is orange.")),
                ],
            ],
        ],
        notes=it.notes("softmax"),
        followed=it.followed("weights", weights, keys=True),
        asked=lambda: (_("the largest weight of “{word}”").format(word=it.names[i]), float(weights[i].max())),
        notebook_values=lambda: it.notebook_values(weights=weights[i], entropy=entropy[i]),
    )


def weighted(it: Attended) -> PartView:
    """One query's output as a sum over the value rows."""
    steps, i = it.steps, it.query
    row, z = steps.weights[0, i], steps.mixed[0]
    terms = [rf"{tex(weight, 2)}\,V_{{{j + 1}}}" for j, weight in enumerate(row) if steps.mask[i, j]]
    joined = r" \\ &\quad + ".join(" + ".join(terms[at : at + 6]) for at in range(0, len(terms), 6))
    parts = matrix(
        it,
        steps.weighted_values(0, i),
        _("A_ij V_j of this query"),
        "parts",
        outlined=(),
        of=it.operands,
    )
    return PartView(
        equation=Worked(
            r"Z = AV, \qquad Z_i = \sum_j A_{ij} V_j",
            rf"\begin{{aligned}} Z_{{{i + 1}}} &= {joined or '0'} \\ &= {tex_row(z[i])} \end{{aligned}}",
        ),
        figure=lambda moved: [
            [
                weight_bars(it, "steps_sum_row"),
                parts,
                matrix(it, z, _("Z, one row per query"), "mixed", moved=moved, of=it.operands),
            ],
        ],
        notes=it.notes("sum"),
        followed=it.followed("outputs", z),
        asked=lambda: (_("the first number of Z of “{word}”").format(word=it.names[i]), float(z[i][0])),
        notebook_values=lambda: it.notebook_values(weights=row, z=z[i]),
    )


def multi_head(it: ManyHeads) -> PartView:
    """Each head's map, their outputs side by side, and W_O, compared with PyTorch's layer."""
    steps, i, count = it.steps, it.query, it.heads
    off = attention_steps.deviation_from_torch(steps, it.weights)
    sentence = _("Largest difference from {name} with these weights: {value}.")
    agree = sentence.format(name="torch.nn.MultiheadAttention", value=written(off, -1))
    name = _("A of head {number}")
    maps = [
        by_key(
            it,
            steps.weights[one],
            name.format(number=one + 1),
            f"head_{one}",
            of={"masked": steps.masked[one]},
            masked=~steps.mask,
            **MAP,
        )
        for one in range(count)
    ]
    note = _("N × d_k = {heads} × {width} = {total} columns.")
    return PartView(
        equation=Worked(
            r"Z = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_N), \qquad O = Z W_O",
            rf"\begin{{aligned}} Z_{{{i + 1}}} &= {tex_row(steps.joined[i])} \\ "
            rf"O_{{{i + 1}}} &= {tex_row(steps.output[i])} \end{{aligned}}",
            note.format(heads=count, width=steps.key_width, total=steps.joined.shape[1]),
        ),
        figure=[
            [*maps, *([None] if count == 1 else [])],
            [
                matrix(it, steps.joined, _("Z: the heads side by side"), "joined"),
                matrix(it, steps.output, _("O = Z W_O, the output"), "output", of=it.weights | {"joined": steps.joined}),
            ],
            check(agree, off < 1e-9),
        ],
        asked=lambda: (_("the number of attention weights in all"), float(steps.weights.size)),
        notebook_values=lambda: it.notebook_values(concat=steps.joined[i], output=steps.output[i]),
    )


def about_the_head(weights: Any) -> str:
    """The origin of the trained head's numbers, and how near these weights are to those of the whole head."""
    head = trained_head()
    at_start = min(head.whole[head.tokens.index(word), 0] for word in ("cat", "milk", "thirsty"))
    return passage("attention_steps", "trained").format(
        layer=number(LAYER), head=number(HEAD), off=number(head.deviation(weights), 2), share=percent(at_start, 0)
    )


render(
    LessonPage(
        "attention_steps",
        _("Attention step by step"),
        [
            Part("project", "1 · Q, K, V", project, first="q", below=editors),
            Part("scores", f"2 · {_('Scores')}", scores, first="q"),
            Part("softmax", "3 · Softmax", softmax, first="t"),
            Part("sum", _("4 · Weighted sum"), weighted, first="q"),
            Part("heads", f"5 · {_('Heads')}", multi_head, first="heads", dials=("words", "q", "t", "mask", "heads")),
            Part("cost", _("6 · Cost"), attention_cost.growth, "cost_dial"),
            Part("roles", _("What Q, K and V are"), attention_roles.roles, "role_dial"),
        ],
        "iiga-equations 1, 5.1–5.7, 14; vit-report 2.2, 4; sequence-modelling; attention-notebook; "
        "tlob-architecture 6.1–6.3; D4, D7, D16, D20",
        {TokenError: (_("Write 1 to {most} words, with blanks between.").format(most=MAX_TOKENS), "")},
        moved={"words": "learn?stop=2.1"},
    )
)
