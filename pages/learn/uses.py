"""Uses of attention: queries, keys and values, heads, families of models, peers, an embedding, and the notation."""

from __future__ import annotations

from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures.learn.attention_steps import grouped_bars
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import attention_steps, claims, notebooks, tokens, uses
from core.lecture.claims import uses as said
from core.lecture.positions import cosines
from core.models.iiga import DOCUMENT
from core.models.tlob import BTC
from core.models.vit import ViTConfig
from pages.learn import frame
from pages.learn.amounts import amount
from pages.shared.language import N_, _, number, significant
from pages.shared.live_plot import static_plot

PAGE: Final = "uses"
SENTENCE: Final = N_("the cat sat on the mat")
WIDTH: Final = 4
WIDE: Final = 8
"""Width of the part on heads, which eight heads can share."""


def _draw(width: int, seed: int) -> tuple[list[str], Any, dict[str, Any]]:
    words = tokens.split_words(_(SENTENCE))
    return tokens.unique_names(words), tokens.embed(words, width, seed=seed), attention_steps.random_weights(width, seed=seed)


def _map(values: Any, name: str, key: str, rows: list[str], columns: list[str], *, top: float | None = 1.0) -> None:
    drawn = Matrix(
        values=values, name=name, rows=rows, columns=columns, x_title=_("Key"), y_title=_("Query"), signed=top is None, top=top
    )
    static_plot(matrix_figure(drawn), key=key, alt=_("{what}, a matrix with one row per token.").format(what=name))


def roles() -> dict[str, Any]:
    """One word's query, key or value is made longer: which numbers move."""
    names, x, weights = _draw(WIDTH, 0)
    words = {str(index): name for index, name in enumerate(names)}
    kinds = {"v": _("the value"), "k": _("the key"), "q": _("the query")}
    chosen = frame.dials(
        "role_dial",
        {
            "role": frame.choice(_("Multiply"), kinds, key="role"),
            "word": frame.choice(_("Word"), words, key="role_word", default="1", value=int),
            "factor": frame.slider(_("by the factor"), -3.0, 3.0, key="role_factor", default=2.0, step=0.5, short=_("Factor")),
        },
    )
    role, word = cast(uses.Role, chosen["role"]), chosen["word"]
    study = uses.role_study(x, weights, role=role, word=word, factor=chosen["factor"])
    weight_moved, output_moved = study.moved
    frame.equation(
        r"Z = \underbrace{\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)}_{A:\ \text{Q, K}}\; V",
        rf"\begin{{aligned}} \max \lvert \Delta A \rvert &= {frame.tex(weight_moved)} \\ "
        rf"\max \lvert \Delta Z \rvert &= {frame.tex(output_moved)} \end{{aligned}}",
        note=_("{what} of “{word}” times {factor}").format(
            what=kinds[role], word=names[word], factor=significant(chosen["factor"])
        ),
    )
    left, right = st.columns(2)
    with left:
        _map(study.weights_after, _("A afterwards"), "role_weights", names, names)
    with right:
        _map(study.weights_after - study.weights, _("A afterwards − A before"), "role_change", names, names, top=None)
    rows = {_("before"): study.mixed[word], _("afterwards"): study.mixed_after[word]}
    static_plot(
        grouped_bars(rows, x_title=_("Channel"), y_title=_("Output of this word")), key="role_output",
        alt=_("The word's output before and afterwards, channel by channel."),
    )  # fmt: skip
    if role == "v":
        frame.check(
            _("Values take no part in relevance: the weights changed by {value}.").format(value=f"{weight_moved:.0e}"),
            holds=weight_moved == 0,
        )
    scaled = said.Scaled(study=study, role=role, factor=chosen["factor"])
    frame.look_for(frame.passage(PAGE, f"role_{role}"), *claims.told(said.ROLES, scaled))
    given = {"X": x, **{name: weights[name] for name in ("W_Q", "W_K", "W_V")}}
    shown = notebooks.on_screen({"largest change of A": weight_moved, "largest change of Z": output_moved})
    return {**given, "ROLE": role, "WORD": word, "FACTOR": chosen["factor"], **shown}


def heads() -> dict[str, Any]:
    """The same weights as one head and as several."""
    names, x, weights = _draw(WIDE, 0)
    chosen = frame.dials(
        "many_dial",
        {
            "heads": frame.choice(_("Heads"), frame.whole_numbers(2, 4, 8), key="many", default="4", value=int),
            "word": frame.choice(
                _("Query"), {str(i): name for i, name in enumerate(names)}, key="many_word", default="1", value=int
            ),
        },
    )
    count, word = chosen["heads"], chosen["word"]
    single, multi = (attention_steps.steps(x, weights, heads=one) for one in (1, count))
    frame.equation(
        r"\mathrm{head}_i = \mathrm{Attention}(QW_i^Q, KW_i^K, VW_i^V), \quad W_i \in \mathbb{R}^{D \times D/h}",
        rf"\begin{{aligned}} D/h &= {WIDE} / {count} = {WIDE // count} \\ "
        rf"4D^2 &= 4 \cdot {WIDE}^2 = {4 * WIDE * WIDE} \\ h\,n^2 &= {count} \cdot {len(names)}^2 = {count * len(names) ** 2}"
        r"\end{aligned}",
        note=_("width of a head; weights, the same for any number of heads; attention weights, which grow with it"),
    )
    columns = st.columns(min(count, 4) + 1)
    with columns[0]:
        _map(single.weights[0], _("A of a single head"), "many_single", names, names)
    for head, column in zip(range(min(count, 4)), columns[1:], strict=True):
        with column:
            _map(multi.weights[head], _("A of head {number}").format(number=head + 1), f"many_{head}", names, names)
    rows = {_("single"): single.weights[0, word]} | {
        _("head {number}").format(number=head + 1): multi.weights[head, word] for head in range(min(count, 4))
    }
    static_plot(
        grouped_bars(rows, x_title=_("Key, in the order of the words"), y_title=_("Weight")), key="many_rows",
        alt=_("Weights of the chosen query in the single head and in each of several."),
    )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "heads"))
    shown = {"single": single.weights[0, word], "first head": multi.weights[0, word], "output": multi.output[word]}
    return {"X": x, **weights, "HEADS": count, "WORD": word, **notebooks.on_screen(shown)}


def families() -> dict[str, Any]:
    """Encoder, decoder, or both: who may look at whom."""
    names = {"bert": "BERT", "gpt": "GPT", "t5": "T5"}
    chosen = frame.dials(
        "family_dial",
        {
            "family": frame.choice(_("Family"), names, key="family"),
            "n": frame.slider(_("Words read"), 2, 10, key="family_n", default=6),
            "m": frame.slider(_("Words written"), 2, 10, key="family_m", default=5),
        },
    )
    family = cast(uses.Family, chosen["family"])
    masks = uses.family_masks(family, chosen["n"], chosen["m"])
    titles = {
        "encoder": _("Encoder: all look at all"),
        "decoder": _("Decoder: none looks at a later one"),
        "cross": _("Cross-attention: the written looks at the read"),
    }
    for column, (part_, mask) in zip(st.columns(3), masks.items(), strict=False):
        with column:
            rows, columns = ([str(index + 1) for index in range(size)] for size in mask.shape)
            _map(mask, titles[part_], f"family_{part_}", rows, columns)
    allowed = {code: int(mask.sum()) for code, mask in masks.items()}
    n, m = chosen["n"], chosen["m"]
    counts = {"encoder": rf"n^2 = {n}^2", "decoder": rf"\tfrac{{m(m+1)}}{{2}} = \tfrac{{{m} \cdot {m + 1}}}{{2}}",
              "cross": rf"m\,n = {m} \cdot {n}"}  # fmt: skip
    frame.equation(
        r"A_{ij} > 0 \iff M_{ij} = 1",
        r"\begin{aligned} " + r" \\ ".join(rf"& {counts[one]} = {value}" for one, value in allowed.items()) + r" \end{aligned}",
        note=_("pairs that may look at each other, a head and layer"),
    )
    st.dataframe(_family_table(names), hide_index=True, width="stretch")
    frame.look_for(frame.passage(PAGE, f"family_{family}"), *claims.told(said.FAMILIES, masks))
    held = {name: uses.family_parameters(cast(uses.Family, code)) for code, name in names.items()}
    shown = {f"pairs, {code}": value for code, value in allowed.items()} | held
    return {"FAMILY": family, "N": n, "M": m, **notebooks.on_screen(shown)}


def _family_table(names: dict[str, str]) -> pd.DataFrame:
    """The three families beside TLOB (tlob-architecture section 7)."""
    lean = next(peer for peer in uses.peers() if peer.code == "tlob")
    held = [number(uses.family_parameters(code)) for code in uses.FAMILIES]
    return pd.DataFrame(
        {
            _("Model"): [*names.values(), "TLOB"],
            _("Made of"): [_("encoder"), _("decoder"), _("encoder and decoder"), _("encoder, over time and over features")],
            _("Learns to"): [_("fill in hidden words"), _("continue a text"), _("turn a text into another"),
                             _("call the mid's direction")],
            _("Used for"): [_("classes, search, names in a text"), _("writing"), _("translation, summaries"), _("order books")],
            _("Reads"): [_("tokens")] * 3 + [_("vectors of 40 numbers")],
            _("Looks"): [_("both ways"), _("back"), _("both ways to read, back to write"), _("both ways")],
            _("Norm of the input"): ["LayerNorm"] * 3 + ["BiN"],
            _("Layers"): ["12", "12", "12 + 12", str(2 * BTC.pairs)],
            _("Parameters"): [*held, number(lean.parameters)],
        }
    )  # fmt: skip


def peers() -> dict[str, Any]:
    """TLOB beside DeepLOB and TransLOB, counted."""
    found = uses.peers()
    names = {"tlob": "TLOB", "deeplob": "DeepLOB", "translob": "TransLOB"}
    batch = frame.dials("peer_dial", {"batch": frame.slider(_("Windows at once"), 1, 64, key="peer_batch", default=uses.BATCH)})[
        "batch"
    ]
    tlob = found[0]
    table = pd.DataFrame(
        {
            _("Model"): names[peer.code],
            _("Parameters, counted"): number(peer.parameters),
            _("MACs a window, counted"): number(peer.macs),
            _("FLOPs, {count} windows").format(count=number(batch)): amount(2 * batch * peer.macs),
            _("times TLOB"): number(peer.macs / tlob.macs, 2),
            _("The document: FLOPs of 32"): amount(peer.said),
            _("times TLOB, the document"): number(peer.said / tlob.said, 2),
        }
        for peer in found
    )
    st.dataframe(table, hide_index=True, width="stretch")
    relative = {_("counted"): [peer.macs / tlob.macs for peer in found], _("the document"): [p.said / tlob.said for p in found]}
    static_plot(
        grouped_bars({name: pd.Series(row).to_numpy() for name, row in relative.items()},
                     x_title=_("1: TLOB, 2: DeepLOB, 3: TransLOB"), y_title=_("Work, times TLOB's")),
        key="peer_work", alt=_("Work of each model as a multiple of TLOB's: counted, and as the document says."),
    )  # fmt: skip
    deep = found[1]
    frame.equation(
        r"\text{FLOPs} = 2 \cdot B \cdot \text{MACs}",
        rf"\begin{{aligned}} \text{{TLOB}}: 2 \cdot {batch} \cdot {number(tlob.macs).replace(',', '{,}')} "
        rf"&= {number(2 * batch * tlob.macs).replace(',', '{,}')} \\ "
        rf"\text{{DeepLOB}}: \frac{{{number(deep.macs).replace(',', '{,}')}}}{{{number(tlob.macs).replace(',', '{,}')}}} "
        rf"&= {frame.tex(deep.macs / tlob.macs, 2)} \end{{aligned}}",
        note=_("PyTorch's counter in a forward pass of the built modules; windows of {steps} steps, {columns} columns").format(
            steps=uses.STEPS, columns=uses.FEATURES
        ),
    )
    frame.check(
        _("The document has DeepLOB at {said} times TLOB's work; counted it is {counted}.").format(
            said=number(deep.said / tlob.said, 1), counted=number(deep.macs / tlob.macs, 2)
        ),
        holds=abs(deep.macs / tlob.macs - deep.said / tlob.said) < 0.2,
    )
    frame.look_for(frame.passage(PAGE, "peers"))
    st.markdown(frame.passage(PAGE, "literature"))
    shown = {"DeepLOB's LSTM": 128 * 4 * 64 * (96 + 64), "TransLOB": found[2].macs, "FLOPs of TLOB": 2 * batch * tlob.macs}
    return {"BATCH": batch, **notebooks.on_screen(shown)}


def words() -> dict[str, Any]:
    """The notebook's sentence: ids, and a row of 512 numbers an id."""
    rules = {"written": _("the notebook's ids"), "rule": _("the same word, the same id")}
    chosen = frame.dials(
        "cat_dial",
        {
            "ids": frame.choice(_("Ids"), rules, key="cat_ids"),
            "draw": frame.slider(_("Draw of the vectors"), 0, 20, key="cat_draw", default=0),
        },
    )
    ids = uses.cat_ids(as_written=chosen["ids"] == "written")
    x = uses.embedding(ids, seed=chosen["draw"])
    names = [f"{word} · {one}" for word, one in zip(uses.CAT, ids, strict=True)]
    rows = [f"{index + 1} {name}" for index, name in enumerate(names)]
    weights, mixed = uses.attend(x, x, x)
    like = cosines(x)
    frame.equation(
        r"\begin{gathered} \text{word} \to \text{id} \to X \in \mathbb{R}^{6 \times 512} \\ "
        r"(6, 512)(512, 6) = (6, 6), \quad (6, 6)(6, 512) = (6, 512) \end{gathered}",
        rf"\begin{{aligned}} \cos(\text{{cat}}_2, \text{{cat}}_6) &= {frame.tex(like[1, 5])} \\ "
        rf"\textstyle\sum_j A_{{2j}} &= {frame.tex(float(weights[1].sum()))} \end{{aligned}}",
        note=_("Q = K = V = X, as the notebook has it; first numbers of the second word: {row}").format(
            row=", ".join(number(float(value), 2) for value in x[1, :4])
        ),
    )
    figure = matrix_figure(
        Matrix(values=x, name=_("X: six words, 512 numbers each"), rows=rows, x_title=_("Channel"), y_title=_("Word · id")),
        numbers=False, height=260,
    )  # fmt: skip
    static_plot(figure, key="cat_rows", alt=_("Six rows of 512 numbers, one row per word."))
    left, right = st.columns(2)
    with left:
        _map(like, _("Cosine similarity of the rows"), "cat_cosines", rows, rows)
    with right:
        _map(weights, _("A = softmax(XXᵀ/√512)"), "cat_weights", rows, rows)
    same = bool(ids[1] == ids[5])
    frame.check(
        _("Both “cat” have one id and so one vector.")
        if same
        else _("Both “cat” have other ids, {first} and {second}, and so other vectors: the notebook's own rule says one.").format(
            first=ids[1], second=ids[5]
        ),
        holds=same,
    )
    frame.look_for(frame.passage(PAGE, "words"))
    shown = {"cosine of both cats": like[1, 5], "first row of A": weights[0], "first numbers of the output": mixed[0, :4]}
    return {"WORDS": list(uses.CAT), "IDS": list(ids), "X": x, **notebooks.on_screen(shown)}


def notation() -> dict[str, Any]:
    """The symbols of the documents, with each model's values."""
    models = {"iiga": "IIGA", "tlob": "TLOB", "vit": "ViT"}
    which = frame.dials("notation_dial", {"of": frame.choice(_("Model"), models, key="notation")})["of"]
    vit, c = ViTConfig(), DOCUMENT
    patches = (vit.side // vit.patch) ** 2
    symbols = ("B", "T", "H, W", "C", "D", "V", "N", "L")
    values: dict[str, tuple[Any, ...]] = {
        "iiga": (2, 12, f"{c.image_size} × {c.image_size}", 3, c.width, c.vocabulary, c.heads, c.layers),
        "tlob": (uses.BATCH, BTC.steps, "–", BTC.features, BTC.width, 3, BTC.heads, 2 * BTC.pairs),
        "vit": ("–", patches + 1, f"{vit.side} × {vit.side}", 1, vit.width, vit.classes, vit.heads, vit.layers),
    }
    chosen: dict[str, Any] = dict(zip(symbols, values[which], strict=True))
    meanings = {
        "B": _("samples computed together (batch)"), "T": _("tokens: frames, moments of the book, patches and class token"),
        "H, W": _("height and width of a picture, pixels"), "C": _("channels of a picture; columns of the book"),
        "D": _("width of a token (d_model)"), "V": _("classes or glosses told apart"), "N": _("attention heads (h)"),
        "L": _("layers"), "d_k": _("width of a head: D / N"), "⊙": _("product entry by entry (Hadamard)"),
        "⊕": _("joining side by side (concatenation)"), "Q, K, V": _("queries, keys and values"),
        "ε": _("CTC's blank; in a norm, what keeps the divisor above 0"), "γ, β": _("a norm's scale and shift"),
    }  # fmt: skip
    chosen["d_k"] = chosen["D"] // chosen["N"]
    table = pd.DataFrame(
        {
            _("Symbol"): symbol,
            _("Meaning"): meaning,
            models[which]: number(value) if isinstance(value := chosen.get(symbol, "–"), int) else value,
        }
        for symbol, meaning in meanings.items()
    )
    frame.equation(
        r"d_k = \frac{D}{N}",
        rf"d_k = \frac{{{chosen['D']}}}{{{chosen['N']}}} = {chosen['d_k']}",
        note=_("sizes of {model} as its document gives them").format(model=models[which]),
    )
    st.dataframe(table, hide_index=True, width="stretch", height="content")
    frame.look_for(frame.passage(PAGE, "notation"))
    return {"D": chosen["D"], "N": chosen["N"], "T": chosen["T"], **notebooks.on_screen({"d_k": chosen["d_k"]})}


part = frame.open_page(
    PAGE,
    _("Uses and notation"),
    parts={
        "roles": _("What Q, K and V are"),
        "heads": _("One head or several"),
        "families": _("BERT, GPT, T5"),
        "peers": _("Peers of TLOB"),
        "words": _("Words, ids, vectors"),
        "notation": _("Notation"),
    },
)
taken = {"roles": roles, "heads": heads, "families": families, "peers": peers, "words": words, "notation": notation}[part]()
frame.close_page(
    PAGE,
    sources=_(
        "sequence-modelling (dot-product attention, single and multi-head, general architecture), attention-notebook (embedding, "
        "self-attention), iiga-equations 1, tlob-architecture 6.3 and 7; Wallbridge 2020; D7"
    ),
    values=taken,
)
