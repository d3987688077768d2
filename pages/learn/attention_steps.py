"""Attention step by step: words to Q, K, V, to scores, to weights, to a mixture, to heads side by side, all with numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

import streamlit as st

from core.explain.summaries import even_entropy, strongest
from core.figures.learn.attention_steps import row_bars
from core.figures.learn.diagrams.attention import attention_diagram
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import attention_steps, claims, notebooks, tokens
from core.lecture.attention_steps import Mask, Steps
from core.lecture.claims import attention as attention_claims
from core.lecture.moved import Moved
from core.lecture.shown_digits import digits_needed, dot, flat
from core.lecture.tokens import MAX_TOKENS, TokenError
from pages.learn import diagram, frame, matrix_editor, predict, questions, what_moved
from pages.learn.frame import Dial, tex
from pages.shared import controls, url_state
from pages.shared.language import N_, _, number, significant
from pages.shared.live_plot import Point, live_plot, static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "attention_steps"
WIDTH: Final = 4
SENTENCE: Final = N_("the cat sat on the mat")
QUERY: Final = "q"
TEMPERATURES: Final = ("0.05", "0.1", "0.2", "0.5", "0.7", "1", "1.5", "2", "5", "10", "50")
KEYS: Final = {"X": "x", "W_Q": "wq", "W_K": "wk", "W_V": "wv", "W_O": "wo"}
"""URL parameter of each matrix's edits."""


@dataclass(frozen=True, kw_only=True)
class AttentionChoices:
    """The reader's choices.

    Attributes:
        sentence: as typed. names: the words, each different. x: (n, 4). weights: by name, edits included.
        query, head: counted from 0.
        mask: (n, n), True where a query may look, built from kind, window and kept (real tokens before the padding).
    """

    sentence: str
    names: list[str]
    seed: int
    x: Any
    weights: dict[str, Any]
    query: int
    heads: int
    head: int
    mask: Any
    kind: Mask
    window: int
    kept: int
    temperature: float

    @property
    def count(self) -> int:
        """Tokens."""
        return len(self.names)

    @property
    def even_entropy(self) -> float:
        """Entropy of equal weights on all tokens, nats."""
        return even_entropy(self.count)

    def strongest(self, steps: Steps) -> int:
        """The key with the largest weight of the chosen query."""
        return strongest(steps.weights[self.head, self.query], 1)[0][0]

    def taken(self, part: str, steps: Steps) -> dict[str, Any]:
        """Values for a part's notebook."""
        i, head = self.query, self.head
        q, k, v = (attention_steps.concatenate_heads(one)[i] for one in (steps.q, steps.k, steps.v))
        weights = steps.weights[head, i]
        shown = {
            "project": {"q": q, "k": k, "v": v},
            "scores": {"q k": steps.raw[head, i], "scores": steps.scaled[head, i]},
            "softmax": {"weights": weights, "entropy": steps.entropy[head, i]},
            "sum": {"weights": weights, "z": steps.mixed[head, i]},
            "heads": {"concat": steps.joined[i], "output": steps.output[i]},
        }[part]
        layer = {"HEADS": self.heads, "MASK": self.mask.astype(int), "TEMPERATURE": self.temperature}
        place = {"QUERY": i, "HEAD": head}
        return {"WORDS": self.names, "X": self.x, **self.weights, **layer, **place, **notebooks.on_screen(shown)}


def read_query(row: int) -> None:
    """Choose this row as the query; call before the dials are drawn."""
    st.session_state[QUERY] = str(row)


def read_choices(part: str) -> AttentionChoices:
    """Show the dials of a part and return what they say.

    Raises:
        TokenError: for words that cannot be used.
    """
    words: list[str] = []

    def write_words(_values: object) -> str:
        sentence = st.text_input(_("Words, with blanks between"), _(SENTENCE), key="words", bind="query-params", max_chars=120)
        words[:] = tokens.split_words(sentence)
        return sentence

    def pick_query(_values: object) -> int:  # the options depend on the words, whose dial is drawn first
        names = {str(index): name for index, name in enumerate(tokens.unique_names(words))}
        return int(url_state.choice(st.segmented_control, _("Query"), names, key=QUERY, required=True))

    def pick_head(_values: object) -> int:
        options = {str(index): str(index + 1) for index in range(int(st.session_state.get("heads") or 1))}
        return int(url_state.choice(st.segmented_control, _("Head"), options, key="head", required=True))

    masks = {
        "none": _("No mask"),
        "causal": _("Causal"),
        "window": _("Window"),
        "padding": _("Padding"),
        "causal_padding": _("Causal and padding"),
    }
    offered = {
        "words": Dial(_("Words"), write_words),
        QUERY: Dial(_("Query"), pick_query, lambda index, _values: tokens.unique_names(words)[index], reads=True),
        "t": frame.choice(
            _("Temperature τ"),
            {code: significant(float(code)) for code in TEMPERATURES},
            key="t",
            default="1",
            widget=st.select_slider,
            value=float,
        ),
        "mask": frame.choice(_("Mask"), masks, key="mask"),
        "w": frame.slider(_("Window: keys to either side"), 0, 11, key="w", default=1, short=_("Window")),
        "kept": frame.slider(_("Real tokens; the rest is padding"), 1, 12, key="kept", default=4, short=_("Padding")),
        "heads": frame.choice(_("Heads"), frame.whole_numbers(1, 2, 4), key="heads", value=int),
        "head": Dial(_("Head shown"), pick_head, lambda index, _values: str(index + 1), reads=True),
        "seed": frame.slider(_("Draw of words and weights"), 0, 20, key="seed", default=0, short=_("Draw")),
    }
    first = {"project": "words", "scores": QUERY, "softmax": "t", "sum": QUERY, "heads": "heads"}[part]
    values = frame.dials("dial", offered, first=first)
    count, kind = len(words), cast(Mask, values["mask"])
    kept = min(values["kept"], count)
    choices = AttentionChoices(
        sentence=values["words"],
        names=tokens.unique_names(words),
        seed=values["seed"],
        x=tokens.embed(words, WIDTH, seed=values["seed"]),
        weights=attention_steps.random_weights(WIDTH, seed=values["seed"]),
        query=min(values[QUERY], count - 1),
        heads=values["heads"],
        head=min(values["head"], values["heads"] - 1),
        mask=attention_steps.build_mask(kind, count, window=values["w"], kept=kept),
        kind=kind,
        window=values["w"],
        kept=kept,
        temperature=values["t"],
    )
    return choices if part == "project" else with_edits(choices)


def editors(choices: AttentionChoices) -> None:
    """The tokens and the weights as tables to edit."""
    with frame.controls_block("editors"), st.expander(_("Edit the numbers"), icon=":material/edit:"):
        channels = [str(index + 1) for index in range(WIDTH)]
        shown = [("X", choices.x), *((name, choices.weights[name]) for name in ("W_Q", "W_K", "W_V"))]
        for column, (name, values) in zip([*st.columns(2), *st.columns(2)], shown, strict=True):
            with column:
                rows = choices.names if name == "X" else [f"{index}·" for index in channels]
                matrix_editor.editor(values, key=KEYS[name], label=name, rows=rows, columns=channels)


def with_edits(choices: AttentionChoices) -> AttentionChoices:
    """The same choices with the edited numbers in them."""
    return replace(
        choices,
        x=matrix_editor.edited(choices.x, key=KEYS["X"]),
        weights={name: matrix_editor.edited(values, key=KEYS[name]) for name, values in choices.weights.items()},
    )


def matrix(
    values: Any,
    choices: AttentionChoices,
    name: str,
    key: str,
    *,
    keys: bool = False,
    signed: bool = True,
    outlined: bool = True,
    moved: Moved | None = None,
) -> None:
    """One matrix with its numbers; hovering over a row, or clicking it, chooses that query.

    Args:
        keys: columns are tokens, else channels. outlined: outline the query's row.
        moved: what the last change of a dial moved in it.
    """
    row = choices.query
    figure = matrix_figure(
        Matrix(
            values=values,
            name=name,
            rows=choices.names,
            columns=choices.names if keys else None,
            x_title=_("Key") if keys else _("Channel"),
            y_title=_("Query") if keys else _("Token"),
            signed=signed,
            top=None if signed else 1.0,
            outlined=((row, row, 0, values.shape[1] - 1),) if outlined else (),
            moved=moved.rectangles if moved else (),
            before=moved.before if moved else None,
        )
    )

    def choose_row(point: Point) -> None:
        if point.y is not None and outlined:
            read_query(int(float(point.y)))

    alt = _("{what}, a matrix with one row per token.").format(what=name)
    live_plot(figure, key=key, height=int(figure.layout.height), alt=alt, on_hover=choose_row if outlined else None)


def follow(view: str, values: Any, choices: AttentionChoices) -> Moved | None:
    """Finds what the last change of a dial moved in a head's matrix with one row per token."""
    return what_moved.track(f"{view} {choices.head + 1} of {choices.heads}", values, rows=choices.names)


def tell(view: str, moved: Moved | None, choices: AttentionChoices, *, keys: bool = False) -> None:
    """The sentence on it."""
    name = f"{view} {choices.head + 1} of {choices.heads}"
    what_moved.tell(name, moved, rows=choices.names, columns=choices.names if keys else None)


def project(choices: AttentionChoices, steps: Steps) -> None:
    """X, and Q, K and V from it."""
    i, w_q = choices.query, frame.tex_matrix(choices.weights["W_Q"])
    frame.equation(
        r"Q = XW_Q, \qquad K = XW_K, \qquad V = XW_V",
        rf"\begin{{aligned}} X_{{{i + 1}}} &= {frame.tex_row(choices.x[i])} \\ W_Q &= {w_q} \\ "
        rf"Q_{{{i + 1}}} = X_{{{i + 1}}} W_Q &= {frame.tex_row(attention_steps.concatenate_heads(steps.q)[i])} \end{{aligned}}",
        note=_("Query {number}: {word}.").format(number=i + 1, word=choices.names[i]),
    )
    joined = [attention_steps.concatenate_heads(one) for one in (steps.q, steps.k, steps.v)]
    moved = follow("queries", joined[0], choices)
    for column, name, values in zip(st.columns(4), ("X", "Q", "K", "V"), (choices.x, *joined), strict=True):
        with column:
            matrix(values, choices, name, f"steps_{name}", moved=moved if name == "Q" else None)
    tell("queries", moved, choices)
    for column, name in zip(st.columns(4)[1:], ("W_Q", "W_K", "W_V"), strict=True):
        with column:
            drawn = Matrix(values=choices.weights[name], name=name, x_title=_("Channel"), y_title=_("Channel of X"))
            static_plot(matrix_figure(drawn), key=f"steps_{name}", alt=_("The matrix {name}.").format(name=name))


def scores(choices: AttentionChoices, steps: Steps) -> None:
    """The scores Q K^T, scaled and masked."""
    i, head = choices.query, choices.head
    j = choices.strongest(steps)
    raw = steps.raw[head, i, j]
    digits = max(
        digits_needed(dot, *flat(steps.q[head, i], steps.k[head, j])),
        digits_needed(attention_steps.scaled_score, raw, choices.temperature, steps.key_width),
    )
    pairs = " + ".join(rf"({tex(a, digits)})({tex(b, digits)})" for a, b in zip(steps.q[head, i], steps.k[head, j], strict=True))
    frame.equation(
        r"S = \frac{QK^\top}{\tau\sqrt{d_k}}, \qquad S_{ij} = \frac{Q_i \cdot K_j}{\tau\sqrt{d_k}}",
        rf"\begin{{aligned}} Q_{{{i + 1}}} \cdot K_{{{j + 1}}} &= {pairs} = {tex(raw, digits)} \\ "
        rf"S_{{{i + 1},{j + 1}}} &= \frac{{{tex(raw, digits)}}}{{{tex(choices.temperature, 2)} \cdot "
        rf"\sqrt{{{steps.key_width}}}}} = {tex(steps.scaled[head, i, j])} \end{{aligned}}",
        note=_("Query {query} and the key it looks at most, {key}.").format(query=choices.names[i], key=choices.names[j]),
    )
    moved = follow("scores", steps.masked[head], choices)
    for column, (name, key, values) in zip(
        st.columns(3),
        (
            (_("QKᵀ"), "raw", steps.raw[head]),
            (_("QKᵀ / (τ √d_k)"), "scaled", steps.scaled[head]),
            (_("masked"), "masked", steps.masked[head]),
        ),
        strict=True,
    ):
        with column:
            matrix(values, choices, name, f"steps_{key}", keys=True, moved=moved if key == "masked" else None)
    tell("scores", moved, choices, keys=True)


def softmax(choices: AttentionChoices, steps: Steps) -> None:
    """The weights of all queries, of one query, and their entropy."""
    i, head = choices.query, choices.head
    raw, row, weights = steps.raw[head, i], steps.masked[head, i], steps.weights[head, i]
    frame.equation(
        r"S_i = \frac{Q_i K^\top}{\tau\sqrt{d_k}}, \quad A_{ij} = \frac{e^{S_{ij}}}{\sum_{j'} e^{S_{ij'}}}, \quad "
        r"\mathrm{entropy}_i = -\sum_j A_{ij} \ln A_{ij}",
        rf"\begin{{aligned}} Q_{{{i + 1}}} K^\top &= {frame.tex_row(raw, 4)} \\ "
        rf"\tau\sqrt{{d_k}} &= {tex(choices.temperature, 2)} \cdot \sqrt{{{steps.key_width}}} \\ "
        rf"S_{{{i + 1}}} &= {frame.tex_row(row, 4)} \\ A_{{{i + 1}}} &= {frame.tex_row(weights, 4)} \\ "
        rf"\mathrm{{entropy}}_{{{i + 1}}} &= {tex(steps.entropy[head, i])} \end{{aligned}}",
        note=_("In nats; looking at all {count} keys alike would be {entropy}.").format(
            count=choices.count, entropy=number(choices.even_entropy, 3)
        ),
    )
    moved = follow("weights", steps.weights[head], choices)
    left, right = st.columns(2)
    with left:
        name = _("A, the attention weights")
        matrix(steps.weights[head], choices, name, "steps_weights", keys=True, signed=False, moved=moved)
        tell("weights", moved, choices, keys=True)
    with right:
        static_plot(
            row_bars(
                weights,
                choices.names,
                y_title=_("Weight"),
                even=1 / choices.count,
                before=moved.before[i] if moved and i in moved.rows else None,
            ),
            key="steps_row",
            alt=_("Weights of the chosen query, one bar per key."),
        )
        static_plot(
            row_bars(steps.entropy[head], choices.names, y_title=_("Entropy, nats"), even=choices.even_entropy, mark=i),
            key="steps_entropy",
            alt=_("Entropy of each query's weights; the chosen query is orange."),
        )


def weighted(choices: AttentionChoices, steps: Steps) -> None:
    """One query's output as a sum over the value rows."""
    i, head = choices.query, choices.head
    terms = [rf"{tex(weight, 2)}\,V_{{{j + 1}}}" for j, weight in enumerate(steps.weights[head, i]) if steps.mask[i, j]]
    frame.equation(
        r"Z = AV, \qquad Z_i = \sum_j A_{ij} V_j",
        rf"\begin{{aligned}} Z_{{{i + 1}}} &= {' + '.join(terms) or '0'} \\ "
        rf"&= {frame.tex_row(steps.mixed[head, i])} \end{{aligned}}",
    )
    first, second, third = st.columns([2, 2, 2])
    with first:
        static_plot(
            row_bars(steps.weights[head, i], choices.names, y_title=_("Weight"), even=1 / choices.count),
            key="steps_sum_row",
            alt=_("Weights of the chosen query, one bar per key."),
        )
    with second:
        matrix(steps.weighted_values(head, i), choices, _("A_ij V_j of this query"), "steps_parts", outlined=False)
    with third:
        moved = follow("outputs", steps.mixed[head], choices)
        matrix(steps.mixed[head], choices, _("Z, one row per query"), "steps_mixed", moved=moved)
    tell("outputs", moved, choices)


def multi_head(choices: AttentionChoices, steps: Steps) -> None:
    """Each head's map, their outputs side by side, and W_O, compared with PyTorch's layer."""
    i, count = choices.query, len(steps.q)
    frame.equation(
        r"Z = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_N), \qquad O = Z W_O",
        rf"\begin{{aligned}} Z_{{{i + 1}}} &= {frame.tex_row(steps.joined[i])} \\ "
        rf"O_{{{i + 1}}} &= {frame.tex_row(steps.output[i])} \end{{aligned}}",
        note=_("N × d_k = {heads} × {width} = {total} columns.").format(
            heads=count, width=steps.key_width, total=steps.joined.shape[1]
        ),
    )
    for head, column in enumerate(st.columns(max(count, 2))[:count]):
        with column:
            name = _("A of head {number}").format(number=head + 1)
            matrix(steps.weights[head], choices, name, f"steps_head_{head}", keys=True, signed=False)
    left, right = st.columns(2)
    with left:
        matrix(steps.joined, choices, _("Z: the heads side by side"), "steps_joined")
    with right:
        matrix(steps.output, choices, _("O = Z W_O, the output"), "steps_output")
    off = attention_steps.deviation_from_torch(steps, choices.weights)
    frame.check(
        _("Largest difference from torch.nn.MultiheadAttention with these weights: {value}.").format(value=f"{off:.1e}"),
        holds=off < 1e-9,
    )


part = frame.open_page(
    PAGE,
    _("Attention step by step"),
    parts={
        "project": _("1 · Q, K, V"),
        "scores": _("2 · Scores"),
        "softmax": _("3 · Softmax"),
        "sum": _("4 · Weighted sum"),
        "heads": _("5 · Heads"),
    },
)


@st.fragment
def body(which: str) -> None:
    """Everything that changes with a dial or a row hovered over; a fragment, which reruns on its own."""
    diagram.slot()
    try:
        choices = read_choices(which)
    except TokenError:
        controls.error_box(_("Write 1 to {most} words, with blanks between.").format(most=MAX_TOKENS))
        frame.link_only()
        return
    shown, below = st.container(), st.container()
    if which == "project":
        with below:
            editors(choices)
        choices = with_edits(choices)
    steps = attention_steps.steps(
        choices.x, choices.weights, heads=choices.heads, mask=choices.mask, temperature=choices.temperature
    )
    key = choices.strongest(steps)
    diagram.show(attention_diagram(steps, head=choices.head, query=choices.query, key=key, write=diagram.write), dial="dial")
    with shown:
        predict.ask(lambda: questions.attention(which, choices, steps))
        {"project": project, "scores": scores, "softmax": softmax, "sum": weighted, "heads": multi_head}[which](choices, steps)
        if which != "project":
            _summary(choices, steps)
        general = () if which == "heads" else (frame.passage(PAGE, which),)
        reading = attention_claims.Reading(steps=steps, names=choices.names, head=choices.head, query=choices.query)
        frame.look_for(*general, *claims.told(attention_claims.CLAIMS[which], reading))
    frame.close_page(
        PAGE,
        sources=_(
            "iiga-equations 5.1 to 5.7, vit-report 2.2 and 4, sequence-modelling (dot-product and multi-head attention), "
            "attention-notebook (self-attention); masks by D20. The temperature is ours: the documents have 1."
        ),
        values=choices.taken(which, steps),
    )


def _summary(choices: AttentionChoices, steps: Steps) -> None:
    head = choices.head
    stat_strip(
        [
            Stat(name=_("Query"), value=choices.names[choices.query]),
            Stat(name=_("Looks most at"), value=choices.names[choices.strongest(steps)]),
            Stat(name=_("Entropy"), value=_("{value} nats").format(value=significant(abs(steps.entropy[head, choices.query])))),
            Stat(name=_("Head"), value=f"{head + 1} / {choices.heads}"),
        ]
    )


body(part)
