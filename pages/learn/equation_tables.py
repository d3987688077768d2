"""Tables below the index of equations: what the documents define that is no equation."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.lecture import cost_count
from core.lecture.matrices import EXAMPLES, MATRIX_OPERATIONS
from core.models.iiga import DOCUMENT
from core.models.tlob import BTC, TLOBConfig
from core.models.vit import ViTConfig
from pages.learn.frame import passage, tex_matrix, tex_row
from pages.shared.language import _, number, significant

PUBLISHED: Final = {"BERT-base": 109_482_240, "GPT-2": 124_439_808, "T5-base": 222_903_552}
"""Parameters: Devlin et al. 2019, Radford et al. 2019, Raffel et al. 2020."""


def _table(title: str, columns: Mapping[str, Sequence[str]], below: str = "") -> None:
    with st.expander(title, icon=":material/table:"):
        st.dataframe(pd.DataFrame(columns), hide_index=True, width="stretch", height="content")
        if below:
            st.markdown(below)


def _size(value: int | str) -> str:
    return number(value) if isinstance(value, int) else value


def _written(values: Any) -> str:
    if values.ndim == 0:
        return significant(float(values))
    return tex_row(values) if values.ndim == 1 else tex_matrix(values)


def example(equation: str) -> str:
    """LaTeX of an equation's small worked example; empty where it has none."""
    return " ".join(one if isinstance(one, str) else _written(one) for one in EXAMPLES.get(equation, ()))


def families() -> None:
    """TLOB beside BERT, GPT and T5 (tlob-architecture section 7), by their published sizes."""
    lean = cost_count.count(TLOBConfig(qkv="single"), 0).parameters
    _table(
        _("BERT, GPT, T5 and TLOB"),
        {
            _("Model"): [*PUBLISHED, "TLOB"],
            _("Made of"): [_("encoder"), _("decoder"), _("encoder and decoder"), _("encoder, over time and over features")],
            _("Learns to"): [
                _("fill in hidden words"),
                _("continue a text"),
                _("turn a text into another"),
                _("call the mid's direction"),
            ],
            _("Used for"): [_("classes, search, names in a text"), _("writing"), _("translation, summaries"), _("order books")],
            _("Reads"): [_("tokens")] * 3 + [_("vectors of 40 numbers")],
            _("Looks"): [_("both ways"), _("back"), _("both ways to read, back to write"), _("both ways")],
            _("Norm of the input"): ["LayerNorm"] * 3 + ["BiN"],
            _("Layers"): ["12", "12", "12 + 12", str(2 * BTC.pairs)],
            _("Parameters"): [number(one) for one in (*PUBLISHED.values(), lean)],
        },
    )


def notation() -> None:
    """The symbols of the documents, with each model's sizes."""
    vit, iiga = ViTConfig(), DOCUMENT
    symbols = ("B", "T", "H, W", "C", "D", "V", "N", "L", "d_k")
    side, patches = f"{vit.side} × {vit.side}", (vit.side // vit.patch) ** 2
    rows: dict[str, tuple[int | str, ...]] = {
        "IIGA": (2, 12, f"{iiga.image_size} × {iiga.image_size}", 3, iiga.width, iiga.vocabulary, iiga.heads, iiga.layers,
                 iiga.width // iiga.heads),
        "TLOB": (32, BTC.steps, "–", BTC.features, BTC.width, 3, BTC.heads, 2 * BTC.pairs, BTC.width // BTC.heads),
        "ViT": ("–", patches + 1, side, 1, vit.width, vit.classes, vit.heads, vit.layers, vit.width // vit.heads),
    }  # fmt: skip
    sizes = {model: dict(zip(symbols, row, strict=True)) for model, row in rows.items()}
    meanings = {
        "B": _("samples computed together (batch)"), "T": _("tokens: frames, moments of the book, patches and class token"),
        "H, W": _("height and width of a picture, pixels"), "C": _("channels of a picture; columns of the book"),
        "D": _("width of a token (d_model)"), "V": _("classes or glosses told apart"), "N": _("attention heads (h)"),
        "L": _("layers"), "d_k": _("width of a head: D / N"), "⊙": _("product entry by entry (Hadamard)"),
        "⊕": _("joining side by side (concatenation)"), "Q, K, V": _("queries, keys and values"),
        "ε": _("CTC's blank; in a norm, what keeps the divisor above 0"), "γ, β": _("a norm's scale and shift"),
    }  # fmt: skip
    _table(
        _("Notation"),
        {
            _("Symbol"): list(meanings),
            _("Meaning"): list(meanings.values()),
            **{model: [_size(known.get(symbol, "–")) for symbol in meanings] for model, known in sizes.items()},
        },
        passage("equations", "notation"),
    )


def literature() -> None:
    """Papers that the documents and the pages name."""
    with st.expander(_("Literature"), icon=":material/menu_book:"):
        st.markdown(passage("equations", "literature"))


def operations() -> None:
    """The report's class `Matrix`, operation by operation."""
    rows = {_("In the report"): list(MATRIX_OPERATIONS), _("Here"): list(MATRIX_OPERATIONS.values())}
    _table(_("Every operation of the report's class, and what does it here"), rows)
