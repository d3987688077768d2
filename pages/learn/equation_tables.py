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
    sizes = {**PUBLISHED, "TLOB": cost_count.count(TLOBConfig(qkv="single"), 0).parameters, "layers": 2 * BTC.pairs}
    text = passage("equations", "families")
    for name, value in sizes.items():
        text = text.replace(f"{{{name}}}", number(value))
    head, _rule, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line)
    _table(_("BERT, GPT, T5 and TLOB"), dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)))


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
    lines = passage("equations", "symbols").splitlines()
    meanings = dict(line.removeprefix("- ").split(": ", 1) for line in lines if line)
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
