"""Uses of attention: queries, keys and values, heads, families of models, peers, an embedding, and the notation."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from core.figures.learn.attention_steps import grouped_bars
from core.figures.matrix import Matrix
from core.lecture import attention_steps, tokens, uses
from core.lecture.claims import told
from core.lecture.claims import uses as said
from core.lecture.notebooks import on_screen
from core.lecture.positions import cosines
from core.lecture.worked import Worked
from core.models.iiga import DOCUMENT
from core.models.tlob import BTC
from core.models.vit import ViTConfig
from pages.learn.amounts import amount
from pages.learn.frame import choice, passage, slider, tex, whole_numbers
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, check, markdown, plot, render, table, written
from pages.shared.language import N_, _, number, significant

SENTENCE: Final = N_("the cat sat on the mat")
WIDTH: Final = 4
WIDE: Final = 8
"""Width of the part on heads, which eight heads can share."""


def words() -> list[str]:
    """The sentence's words, each different."""
    return tokens.unique_names(tokens.split_words(_(SENTENCE)))


def drawn(width: int) -> tuple[Any, dict[str, Any]]:
    """The sentence as vectors, and weights."""
    return tokens.embed(tokens.split_words(_(SENTENCE)), width), attention_steps.random_weights(width)


def by_word(label: str, key: str) -> Any:
    """A dial for one of the words."""
    return choice(label, {str(index): name for index, name in enumerate(words())}, key=key, default="1", value=int)


def matrix(values: Any, name: str, key: str, rows: list[str], columns: list[str], *, top: float | None = 1.0) -> Item:
    """Queries by keys; with signs where it has no top."""
    it = Matrix(
        values=values, name=name, rows=rows, columns=columns, x_title=_("Key"), y_title=_("Query"), signed=top is None, top=top
    )
    return plot(it, key, _("{what}, a matrix with one row per token.").format(what=name))


def role_names() -> dict[str, str]:
    """Each role of a word, by its name on the page."""
    return {"v": _("the value"), "k": _("the key"), "q": _("the query")}


def roles(role: uses.Role, word: int, factor: float) -> PartView:
    """One word's query, key or value is made longer: which numbers move."""
    names, (x, weights) = words(), drawn(WIDTH)
    study = uses.role_study(x, weights, role=role, word=word, factor=factor)
    weight_moved, output_moved = study.moved
    change = study.weights_after - study.weights
    bars = grouped_bars(
        {_("before"): study.mixed[word], _("afterwards"): study.mixed_after[word]},
        x_title=_("Channel"), y_title=_("Output of this word"),
    )  # fmt: skip
    untouched = _("Values take no part in relevance: the weights changed by {value}.").format(value=written(weight_moved, -1))
    note = _("{what} of “{word}” times {factor}")
    shown = {"largest change of A": weight_moved, "largest change of Z": output_moved}
    given = {"X": x, **{name: weights[name] for name in ("W_Q", "W_K", "W_V")}, "ROLE": role, "WORD": word, "FACTOR": factor}
    return PartView(
        equation=Worked(
            r"Z = \underbrace{\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)}_{A:\ \text{Q, K}}\; V",
            rf"\begin{{aligned}} \max \lvert \Delta A \rvert &= {tex(weight_moved)} \\ "
            rf"\max \lvert \Delta Z \rvert &= {tex(output_moved)} \end{{aligned}}",
            note.format(what=role_names()[role], word=names[word], factor=significant(factor)),
        ),
        figure=[
            [
                matrix(study.weights_after, _("A afterwards"), "role_weights", names, names),
                matrix(change, _("A afterwards − A before"), "role_change", names, names, top=None),
            ],
            plot(bars, "role_output", _("The word's output before and afterwards, channel by channel.")),
            check(untouched, weight_moved == 0) if role == "v" else None,
        ],
        notes=[passage("uses", f"role_{role}"), *told(said.roles(study, role, factor))],
        taken=lambda: given | on_screen(shown),
    )


def heads(heads: int, word: int) -> PartView:
    """The same weights as one head and as several."""
    names, (x, weights) = words(), drawn(WIDE)
    single, multi = (attention_steps.steps(x, weights, heads=one) for one in (1, heads))
    maps, name, title = range(heads), _("head {number}"), _("A of head {number}")
    by_head = Matrix(
        values=multi.weights[:, word], name=_("“{word}” in each head").format(word=names[word]), columns=names,
        rows=[name.format(number=one + 1) for one in maps], x_title=_("Key"), y_title=_("Head"), signed=False, top=1.0,
    )  # fmt: skip
    shown = {"single": single.weights[0, word], "first head": multi.weights[0, word], "output": multi.output[word]}
    return PartView(
        equation=Worked(
            r"\mathrm{head}_i = \mathrm{Attention}(QW_i^Q, KW_i^K, VW_i^V), \quad W_i \in \mathbb{R}^{D \times D/h}",
            rf"\begin{{aligned}} D/h &= {WIDE} / {heads} = {WIDE // heads} \\ "
            rf"4D^2 &= 4 \cdot {WIDE}^2 = {4 * WIDE * WIDE} \\ h\,n^2 &= {heads} \cdot {len(names)}^2 = "
            rf"{heads * len(names) ** 2}\end{{aligned}}",
            _("width of a head; weights, the same for any number of heads; attention weights, which grow with it"),
        ),
        figure=[
            *(
                [matrix(multi.weights[one], title.format(number=one + 1), f"many_{one}", names, names) for one in row]
                for row in (maps[at : at + 4] for at in range(0, heads, 4))
            ),
            [
                matrix(single.weights[0], _("A of a single head"), "many_single", names, names),
                plot(by_head, "many_rows", _("Weights of the chosen query, one row per head.")),
            ],
        ],
        notes=[passage("uses", "heads")],
        taken=lambda: {"X": x, **weights, "HEADS": heads, "WORD": word} | on_screen(shown),
    )


FAMILIES: Final = {"bert": "BERT", "gpt": "GPT", "t5": "T5"}


def families(family: uses.Family, n: int, m: int) -> PartView:
    """Encoder, decoder, or both: who may look at whom."""
    masks = uses.family_masks(family, n, m)
    titles = {
        "encoder": _("Encoder: all look at all"),
        "decoder": _("Decoder: none looks at a later one"),
        "cross": _("Cross-attention: the written looks at the read"),
    }
    allowed = {code: int(mask.sum()) for code, mask in masks.items()}
    counts = {"encoder": rf"n^2 = {n}^2", "decoder": rf"\tfrac{{m(m+1)}}{{2}} = \tfrac{{{m} \cdot {m + 1}}}{{2}}",
              "cross": rf"m\,n = {m} \cdot {n}"}  # fmt: skip

    def one(code: str) -> Item:
        rows, columns = ([str(index + 1) for index in range(size)] for size in masks[code].shape)
        return matrix(masks[code], titles[code], f"family_{code}", rows, columns)

    def taken() -> dict[str, Any]:
        held = {name: uses.family_parameters(code) for code, name in zip(uses.FAMILIES, FAMILIES.values(), strict=True)}
        shown = {f"pairs, {code}": value for code, value in allowed.items()} | held
        return {"FAMILY": family, "N": n, "M": m} | on_screen(shown)

    return PartView(
        equation=Worked(
            r"A_{ij} > 0 \iff M_{ij} = 1",
            r"\begin{aligned} "
            + r" \\ ".join(rf"& {counts[one]} = {value}" for one, value in allowed.items())
            + r" \end{aligned}",
            _("pairs that may look at each other, a head and layer"),
        ),
        figure=[[*map(one, masks), *[None] * (3 - len(masks))], family_table()],
        notes=[passage("uses", f"family_{family}"), *told(said.families(masks))],
        taken=taken,
    )


def family_table() -> Item:
    """The three families beside TLOB (tlob-architecture section 7)."""
    lean = next(peer for peer in uses.peers() if peer.code == "tlob")
    return table({
        _("Model"): [*FAMILIES.values(), "TLOB"],
        _("Made of"): [_("encoder"), _("decoder"), _("encoder and decoder"), _("encoder, over time and over features")],
        _("Learns to"): [_("fill in hidden words"), _("continue a text"), _("turn a text into another"),
                         _("call the mid's direction")],
        _("Used for"): [_("classes, search, names in a text"), _("writing"), _("translation, summaries"), _("order books")],
        _("Reads"): [_("tokens")] * 3 + [_("vectors of 40 numbers")],
        _("Looks"): [_("both ways"), _("back"), _("both ways to read, back to write"), _("both ways")],
        _("Norm of the input"): ["LayerNorm"] * 3 + ["BiN"],
        _("Layers"): ["12", "12", "12 + 12", str(2 * BTC.pairs)],
        _("Parameters"): [*(number(uses.family_parameters(code)) for code in uses.FAMILIES), number(lean.parameters)],
    })  # fmt: skip


def peers(batch: int) -> PartView:
    """TLOB beside DeepLOB and TransLOB, counted."""
    measured = uses.peers()
    tlob, deep, trans = measured
    names = {"tlob": "TLOB", "deeplob": "DeepLOB", "translob": "TransLOB"}
    rows = [
        {
            _("Model"): names[peer.code],
            _("Parameters, counted"): number(peer.parameters),
            _("MACs a window, counted"): number(peer.macs),
            _("FLOPs, {count} windows").format(count=number(batch)): amount(2 * batch * peer.macs),
            _("times TLOB"): number(peer.macs / tlob.macs, 2),
            _("The document: FLOPs of 32"): amount(peer.said),
            _("times TLOB, the document"): number(peer.said / tlob.said, 2),
        }
        for peer in measured
    ]
    relative = {
        _("counted"): pd.Series([peer.macs / tlob.macs for peer in measured]).to_numpy(),
        _("the document"): pd.Series([peer.said / tlob.said for peer in measured]).to_numpy(),
    }
    bars = grouped_bars(relative, x_title=_("1: TLOB, 2: DeepLOB, 3: TransLOB"), y_title=_("Work, times TLOB's"))
    claimed = _("The document has DeepLOB at {said} times TLOB's work; counted it is {counted}.")
    counted, document = deep.macs / tlob.macs, deep.said / tlob.said

    def whole(count: int) -> str:
        return number(count).replace(",", "{,}")

    note = _("PyTorch's counter in a forward pass of the built modules; windows of {steps} steps, {columns} columns")
    shown = {"DeepLOB's LSTM": 128 * 4 * 64 * (96 + 64), "TransLOB": trans.macs, "FLOPs of TLOB": 2 * batch * tlob.macs}
    return PartView(
        equation=Worked(
            r"\text{FLOPs} = 2 \cdot B \cdot \text{MACs}",
            rf"\begin{{aligned}} \text{{TLOB}}: 2 \cdot {batch} \cdot {whole(tlob.macs)} &= {whole(2 * batch * tlob.macs)} \\ "
            rf"\text{{DeepLOB}}: \frac{{{whole(deep.macs)}}}{{{whole(tlob.macs)}}} &= {tex(counted, 2)} \end{{aligned}}",
            note.format(steps=uses.STEPS, columns=uses.FEATURES),
        ),
        figure=[
            table(rows),
            plot(bars, "peer_work", _("Work of each model as a multiple of TLOB's: counted, and as the document says.")),
            check(claimed.format(said=number(document, 1), counted=number(counted, 2)), abs(counted - document) < 0.2),
        ],
        notes=[passage("uses", "peers")],
        more=[markdown(passage("uses", "literature"))],
        taken=lambda: {"BATCH": batch} | on_screen(shown),
    )


def ids(ids: str, draw: int) -> PartView:
    """The notebook's sentence: ids, and a row of 512 numbers an id."""
    coded = uses.cat_ids(as_written=ids == "written")
    x = uses.embedding(coded, seed=draw)
    rows = [f"{index} {word} · {one}" for index, (word, one) in enumerate(zip(uses.CAT, coded, strict=True), 1)]
    weights, mixed = uses.attend(x, x, x)
    like = cosines(x)
    whole = Matrix(values=x, name=_("X: six words, 512 numbers each"), rows=rows, x_title=_("Channel"), y_title=_("Word · id"))
    same = bool(coded[1] == coded[5])
    verdict = (
        _("Both “cat” have one id and so one vector.")
        if same
        else _("Both “cat” have other ids, {first} and {second}, and so other vectors: the notebook's own rule says one.").format(
            first=coded[1], second=coded[5]
        )
    )
    note = _("Q = K = V = X, as the notebook has it; first numbers of the second word: {row}")
    shown = {"cosine of both cats": like[1, 5], "first row of A": weights[0], "first numbers of the output": mixed[0, :4]}
    return PartView(
        equation=Worked(
            r"\begin{gathered} \text{word} \to \text{id} \to X \in \mathbb{R}^{6 \times 512} \\ "
            r"(6, 512)(512, 6) = (6, 6), \quad (6, 6)(6, 512) = (6, 512) \end{gathered}",
            rf"\begin{{aligned}} \cos(\text{{cat}}_2, \text{{cat}}_6) &= {tex(like[1, 5])} \\ "
            rf"\textstyle\sum_j A_{{2j}} &= {tex(float(weights[1].sum()))} \end{{aligned}}",
            note.format(row=", ".join(number(float(value), 2) for value in x[1, :4])),
        ),
        figure=[
            plot(whole, "cat_rows", _("Six rows of 512 numbers, one row per word."), height=260),
            [
                matrix(like, _("Cosine similarity of the rows"), "cat_cosines", rows, rows),
                matrix(weights, _("A = softmax(XXᵀ/√512)"), "cat_weights", rows, rows),
            ],
            check(verdict, same),
        ],
        notes=[passage("uses", "words")],
        taken=lambda: {"WORDS": list(uses.CAT), "IDS": list(coded), "X": x} | on_screen(shown),
    )


MODELS: Final = {"iiga": "IIGA", "tlob": "TLOB", "vit": "ViT"}


def notation(of: str) -> PartView:
    """The symbols of the documents, with each model's values."""
    vit, c = ViTConfig(), DOCUMENT
    patches = (vit.side // vit.patch) ** 2
    values: dict[str, tuple[Any, ...]] = {
        "iiga": (2, 12, f"{c.image_size} × {c.image_size}", 3, c.width, c.vocabulary, c.heads, c.layers),
        "tlob": (uses.BATCH, BTC.steps, "–", BTC.features, BTC.width, 3, BTC.heads, 2 * BTC.pairs),
        "vit": ("–", patches + 1, f"{vit.side} × {vit.side}", 1, vit.width, vit.classes, vit.heads, vit.layers),
    }
    sizes: dict[str, Any] = dict(zip(("B", "T", "H, W", "C", "D", "V", "N", "L"), values[of], strict=True))
    sizes["d_k"] = sizes["D"] // sizes["N"]
    meanings = {
        "B": _("samples computed together (batch)"), "T": _("tokens: frames, moments of the book, patches and class token"),
        "H, W": _("height and width of a picture, pixels"), "C": _("channels of a picture; columns of the book"),
        "D": _("width of a token (d_model)"), "V": _("classes or glosses told apart"), "N": _("attention heads (h)"),
        "L": _("layers"), "d_k": _("width of a head: D / N"), "⊙": _("product entry by entry (Hadamard)"),
        "⊕": _("joining side by side (concatenation)"), "Q, K, V": _("queries, keys and values"),
        "ε": _("CTC's blank; in a norm, what keeps the divisor above 0"), "γ, β": _("a norm's scale and shift"),
    }  # fmt: skip

    def written(value: Any) -> str:
        return number(value) if isinstance(value, int) else str(value)

    rows = [
        {_("Symbol"): symbol, _("Meaning"): meaning, MODELS[of]: written(sizes.get(symbol, "–"))}
        for symbol, meaning in meanings.items()
    ]
    return PartView(
        equation=Worked(
            r"d_k = \frac{D}{N}",
            rf"d_k = \frac{{{sizes['D']}}}{{{sizes['N']}}} = {sizes['d_k']}",
            _("sizes of {model} as its document gives them").format(model=MODELS[of]),
        ),
        figure=[table(rows, height="content")],
        notes=[passage("uses", "notation")],
        taken=lambda: {name: sizes[name] for name in ("D", "N", "T")} | on_screen({"d_k": sizes["d_k"]}),
    )


render(
    LessonPage(
        "uses",
        _("Uses and notation"),
        [
            Part("roles", _("What Q, K and V are"), lambda: {
                "role": choice(_("Multiply"), role_names(), key="role"),
                "word": by_word(_("Word"), "role_word"),
                "factor": slider(_("by the factor"), -3.0, 3.0, key="role_factor", default=2.0, step=0.5, short=_("Factor")),
            }, roles, "role_dial"),
            Part("heads", _("One head or several"), lambda: {
                "heads": choice(_("Heads"), whole_numbers(2, 4, 8), key="many", default="4", value=int),
                "word": by_word(_("Query"), "many_word"),
            }, heads, "many_dial"),
            Part("families", _("BERT, GPT, T5"), lambda: {
                "family": choice(_("Family"), FAMILIES, key="family"),
                "n": slider(_("Words read"), 2, 10, key="family_n", default=6),
                "m": slider(_("Words written"), 2, 10, key="family_m", default=5),
            }, families, "family_dial"),
            Part("peers", _("Peers of TLOB"), lambda: {
                "batch": slider(_("Windows at once"), 1, 64, key="peer_batch", default=uses.BATCH),
            }, peers, "peer_dial"),
            Part("words", _("Words, ids, vectors"), lambda: {
                "ids": choice(
                    _("Ids"), {"written": _("the notebook's ids"), "rule": _("the same word, the same id")}, key="cat_ids"
                ),
                "draw": slider(_("Draw of the vectors"), 0, 20, key="cat_draw", default=0),
            }, ids, "cat_dial"),
            Part("notation", _("Notation"), lambda: {
                "of": choice(_("Model"), MODELS, key="notation"),
            }, notation, "notation_dial"),
        ],
        _(
            "sequence-modelling (dot-product attention, single and multi-head, general architecture), attention-notebook "
            "(embedding, self-attention), iiga-equations 1, tlob-architecture 6.3 and 7; Wallbridge 2020; D7"
        ),
    )
)  # fmt: skip
