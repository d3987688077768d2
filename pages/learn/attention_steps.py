"""Attention step by step: words to Q, K, V, to scores, weights, a mixture, heads side by side, all with numbers; and the cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Final

import streamlit as st

from core.explain.summaries import strongest
from core.figures.learn.attention_steps import grouped_bars, growth_figure, row_bars
from core.figures.matrix import Matrix
from core.lecture import attention_steps, cost, cost_count, tokens
from core.lecture.attention_steps import Mask, Role, Steps, concatenate_heads
from core.lecture.moved import Moved
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import digits_needed, dot, flat
from core.lecture.tokens import MAX_TOKENS, TokenError
from core.lecture.trained_head import HEAD, LAYER, POINTED, trained_head
from pages.learn import frame, lesson_page, matrix_editor
from pages.learn.frame import Dial, Worked, choice, passage, slider, stops, tex, tex_matrix, tex_row
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, check, plot, render, stats, word_matrix, written
from pages.learn.what_moved import Followed
from pages.shared import controls, url_state
from pages.shared.language import N_, _, number, percent, significant, size
from pages.shared.stat_strip import Stat

SENTENCE: Final = N_("the cat sat on the mat")
WIDTH: Final = 4
MAP: Final[Mapping[str, Any]] = {"signed": False, "top": 1.0}
"""A matrix of attention weights."""
ROLES: Final = {"v": N_("the value"), "k": N_("the key"), "q": N_("the query")}
TOKENS: Final = (4, 8, 12, 16, 24, 32, 50, 64, 100, 128, 197, 256, 512, 1024, 2048, 4096, 8192)
WIDTHS: Final = (16, 32, 40, 64, 96, 128, 144, 256, 512, 768, 1280, 2048)
HEADS: Final = (1, 2, 4, 8)
"""Every number of heads divides every width."""
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
    t: Annotated[float, stops(_("Temperature") + " τ", TEMPERATURES, key="t", default=1.0)]
    mask: Annotated[Mask, choice(_("Mask"), masks(), key="mask")]
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
        """The part's passage, the origin of the numbers, and how near these weights are to those of the whole head."""
        head = trained_head()
        at_start = min(head.whole[head.tokens.index(word), 0] for word in ("cat", "milk", "thirsty"))
        origin = passage("attention_steps", "trained").format(
            layer=number(LAYER),
            head=number(HEAD),
            off=number(head.deviation(self.steps.weights[0]), 2),
            share=percent(at_start, 0),
        )
        return [passage("attention_steps", part), origin]

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
    def key(self) -> int:
        """The key with the largest weight of the query."""
        return strongest(self.steps.weights[0, self.q], 1)[0][0]

    def followed(self, view: str, values: Any, *, keys: bool = False) -> Followed:
        """A matrix with one row per token."""
        return Followed(name=view, values=values, rows=self.names, columns=self.names if keys else None)

    @property
    def operands(self) -> dict[str, Any]:
        """Matrices that others come from."""
        return self.steps.operands(0, self.q)

    def notebook_values(self, **shown: Any) -> dict[str, Any]:
        """Values for a part's notebook."""
        layer = {"HEADS": self.heads, "MASK": self.steps.mask.astype(int), "TEMPERATURE": self.t}
        return {"WORDS": self.names, **self.edited, **layer, "QUERY": self.q, **on_screen(shown)}


@dataclass(frozen=True, kw_only=True)
class ManyHeads(Attended):
    """Several heads on the reader's words, with numbers drawn at random."""

    words: Annotated[str, frame.words(_("Words, with blanks between"), _(SENTENCE), key="words", short=_("Words"))]
    heads: Annotated[int, choice(_("Heads"), frame.whole_numbers(1, 2, 4), key="heads", value=int)]

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
    given = {"outlined": ((it.q, it.q, 0, values.shape[1] - 1),), **more}
    return word_matrix(values, name, f"steps_{key}", it.names, columns, chooses="q" if given["outlined"] else "", **given)


def by_key(it: Attended, values: Any, name: str, key: str, **more: Any) -> Item:
    """A matrix of queries by keys."""
    return matrix(it, values, name, key, it.names, **more)


def weight_bars(it: Attended, key: str, moved: Moved | None = None) -> Item:
    """The weights of the query."""
    i = it.q
    before = moved.before[i] if moved and i in moved.rows else None
    even = attention_steps.even_weights(it.steps.mask[i])
    bars = row_bars(it.steps.weights[0, i], it.names, y_title=_("Weight"), even=even, before=before)
    return plot(bars, key, _("Weights of the chosen query, one bar per key."))


def project(it: Attended) -> PartView:
    """X, and Q, K and V from it."""
    i, x = it.q, it.edited["X"]
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
    steps, i, j = it.steps, it.q, it.key
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
    steps, i = it.steps, it.q
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
    steps, i = it.steps, it.q
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
    steps, i, count = it.steps, it.q, it.heads
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


def words() -> list[str]:
    """The sentence's words, each different."""
    return tokens.unique_names(tokens.split_words(_(SENTENCE)))


def roles(
    role: Annotated[Role, choice(_("Multiply"), ROLES, key="role")],
    word: Annotated[int, choice(_("Word"), dict(zip("012345", words(), strict=True)), key="role_word", default="1", value=int)],
    factor: Annotated[float, slider(_("Factor"), -3.0, 3.0, key="role_factor", default=2.0, step=0.5)],
) -> PartView:
    """One word's query, key or value is made longer: which numbers move."""
    names = words()
    x, weights = tokens.embed(tokens.split_words(_(SENTENCE)), WIDTH), attention_steps.random_weights(WIDTH)
    looks, output = attention_steps.role_study(x, weights, role=role, word=word, factor=factor)
    bars = grouped_bars(
        {_("before"): output.before[word], _("afterwards"): output.after[word]},
        x_title=_("Channel"),
        y_title=_("Output of this word"),
    )
    untouched = _("Values take no part in relevance: the weights changed by {value}.").format(value=written(looks.largest, -1))
    note = _("{what} of “{word}” times {factor}")
    return PartView(
        equation=Worked(
            r"Z = AV, \qquad A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)",
            rf"\begin{{aligned}} \max \lvert \Delta A \rvert &= {tex(looks.largest)} \\ "
            rf"\max \lvert \Delta Z \rvert &= {tex(output.largest)} \end{{aligned}}",
            note.format(what=_(ROLES[role]), word=names[word], factor=significant(factor)),
        ),
        figure=[
            [
                word_matrix(looks.after, _("A afterwards"), "role_weights", names, names, **MAP),
                word_matrix(looks.after - looks.before, _("A afterwards − A before"), "role_change", names, names),
            ],
            plot(bars, "role_output", _("The word's output before and afterwards, channel by channel.")),
            check(untouched, looks.largest == 0) if role == "v" else None,
        ],
        asked=lambda: (_("the largest change of a weight"), looks.largest),
        notes=[passage("attention_steps", f"role_{role}")],
    )


def setup_names() -> dict[str, str]:
    """Each configuration's name on the page."""
    known = {
        "tlob": _("TLOB, the document's listing"),
        "tlob-lean": _("TLOB, lean layers"),
        "tlob-fi2010": "TLOB, FI-2010",
        "vit": _("ViT, default"),
        "iiga": _("IIGA, the document's"),
        "dates": _("Transformer of dates"),
    }
    kinds = {"tlob": "TLOB", "vit": "ViT", "iiga": "IIGA", "transformer": "Transformer"}
    shipped = _("{model} as shipped: {name}")
    return {
        code: known.get(code) or shipped.format(model=kinds[setup.config.model], name=code.removeprefix("shipped-"))
        for code, setup in cost_count.setups().items()
    }


def equations(one: cost.Layer) -> list[Worked]:
    """Multiply-adds and memory of one layer, and the lengths at which two of their terms are equal."""
    t, d, n = one.tokens, one.width, one.heads
    terms = (one.projections, one.scores, one.feed_forward)
    return [
        Worked(
            r"\underbrace{4TD^2}_{Q,K,V,O} + \underbrace{2T^2D}_{QK^\top,\ AV} + \underbrace{8TD^2}_{\text{FFN}}",
            rf"\begin{{aligned}} & 4 \cdot {t} \cdot {d}^2 + 2 \cdot {t}^2 \cdot {d} + 8 \cdot {t} \cdot {d}^2 \\"
            rf"&= {' + '.join(tex(term, 0) for term in terms)} \\ &= {tex(one.macs, 0)} \end{{aligned}}",
            _("multiply-adds of one layer; biases, softmax and norms are no matrix products and not counted"),
        ),
        Worked(
            r"2T^2D = 4TD^2 \Leftrightarrow T = 2D, \qquad 2T^2D = 12TD^2 \Leftrightarrow T = 6D",
            rf"T = {tex(cost.crossing_attention(d), 0)}, \qquad T = {tex(cost.crossing_layer(d), 0)}",
            _("the orders O(T²D) and O(TD²) alone would cross at T = D = {d}").format(d=d),
        ),
        Worked(
            r"\underbrace{N T^2}_{A}, \quad \underbrace{T \cdot 4D}_{\text{FFN}}, \qquad T^\ast = \frac{4D}{N}",
            rf"\begin{{aligned}} {n} \cdot {t}^2 \cdot 4\,\mathrm{{B}} &= \text{{{size(one.maps)}}} \\"
            rf"{t} \cdot 4 \cdot {d} \cdot 4\,\mathrm{{B}} &= \text{{{size(one.middle)}}} \\"
            rf"T^\ast &= {tex(cost.crossing_memory(d, n), 1)} \end{{aligned}}",
            _("float32: four bytes a number. More heads cost no more multiply-adds, but more maps."),
        ),
    ]


def growth(
    t: Annotated[int, stops(_("Tokens") + " T", TOKENS, key="layer_t", default=128, short="T")],
    d: Annotated[int, stops(_("Width D"), WIDTHS, key="layer_d", default=40, short="D")],
    n: Annotated[int, stops(_("Heads") + " N", HEADS, key="layer_n", default=1, short="N")],
    setup: Annotated[str, choice(_("Model"), setup_names(), key="setup", widget=st.selectbox)],
) -> PartView:
    """Scores against projections and the feed-forward network, with their constants, and a model's own counts."""
    one, counted = cost.layer(t, d, n), cost_count.layer_macs(t, d, n)
    terms = {"projections": one.projections, "scores": one.scores, "feed-forward": one.feed_forward}
    crossings = [cost.crossing_attention(d), cost.crossing_layer(d)]
    sentence = _("PyTorch counts {counted} in the built layer; the formula says {formula}.")
    return PartView(
        equation=equations(one),
        figure=[
            plot(
                growth_figure(d, at=t),
                "cost_growth",
                _("Multiply-adds of scores, projections and feed-forward network along T, and where the lines cross."),
            ),
            stats(
                Stat(name=_("Scores"), value=percent(one.scores / one.macs)),
                Stat(name=_("Projections"), value=percent(one.projections / one.macs)),
                Stat(name=_("Feed-forward"), value=percent(one.feed_forward / one.macs)),
            ),
            check(sentence.format(counted=number(counted), formula=number(one.macs)), counted == one.macs),
        ],
        more=model_counts(setup),
        asked=lambda: (_("the share of the scores in the multiply-adds"), one.scores / one.macs),
        notebook_values=lambda: {
            "T": t,
            "D": d,
            "N": n,
            **on_screen(terms | {"counted": counted, "crossings": crossings, "maps": one.maps, "middle": one.middle}),
        },
    )


def model_counts(code: str) -> list[Item]:
    """One model, a row a module, counted in the built model (D4, D7)."""
    setups = cost_count.setups()
    counting = controls.counted((code, "tlob", "tlob-lean"), _("Counting each model's multiply-adds…"))
    counted, listed, lean = (cost_count.count(setups[one].config, setups[one].tokens) for one in counting)
    strip = stats(
        Stat(name=_("Parameters"), value=number(counted.parameters), note=size(cost.BYTES * counted.parameters)),
        Stat(
            name=_("Multiply-adds"),
            value=millions(counted.macs),
            note=_("one sample; {flops} FLOPs").format(flops=millions(2 * counted.macs)),
        ),
        Stat(name=_("Attention maps"), value=number(counted.maps), note=size(cost.BYTES * counted.maps)),
    )
    rows = [
        {
            _("Module"): row.module,
            _("Shapes: in → out, map"): " → ".join(", ".join(map(str, shape)) for shape in row.shapes) or "–",
            _("Parameters, counted"): row.parameters,
            _("Share of the parameters"): percent(row.parameters / counted.parameters, 2),
            _("MACs, counted"): row.macs,
        }
        for row in counted.rows
    ]
    localized = {
        name: st.column_config.NumberColumn(format="localized") for name in (_("Parameters, counted"), _("MACs, counted"))
    }
    weighs = _(
        "TLOB as its document lists it has {parameters} parameters and takes {macs} MACs a window; with one projection each, "
        "{lean} and {lean_macs} (D4, D7)."
    ).format(
        parameters=number(listed.parameters),
        macs=millions(listed.macs),
        lean=number(lean.parameters),
        lean_macs=millions(lean.macs),
    )
    heading = f"**{setup_names()[code]}.** {passage('attention_steps', 'cost_of_a_model')}"
    counts = lesson_page.table(rows, height="content", column_config=localized)
    return [lesson_page.markdown(heading), strip, lesson_page.caption(weighs), counts]


def millions(count: int) -> str:
    """A count as people read it: 62.1 M."""
    return f"{significant(count / 1e6, 3)} M"


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
            Part("cost", _("6 · Cost"), growth, "cost_dial"),
            Part("roles", _("What Q, K and V are"), roles, "role_dial"),
        ],
        "iiga-equations 1, 5.1–5.7, 14; vit-report 2.2, 4; sequence-modelling; attention-notebook; "
        "tlob-architecture 6.1–6.3; D4, D7, D16, D20",
        {TokenError: (_("Write 1 to {most} words, with blanks between.").format(most=MAX_TOKENS), "")},
        moved={"words": "learn?stop=2.1"},
    )
)
