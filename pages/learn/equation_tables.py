"""Tables below the index of equations: what the documents define that is no equation."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.lecture.matrices import EXAMPLES, MATRIX_OPERATIONS
from pages.learn.frame import tex_matrix, tex_row
from pages.shared.language import _, significant


def _written(values: Any) -> str:
    if values.ndim == 0:
        return significant(float(values))
    return tex_row(values) if values.ndim == 1 else tex_matrix(values)


def example(equation: str) -> str:
    """LaTeX of an equation's small worked example; empty where it has none."""
    return " ".join(one if isinstance(one, str) else _written(one) for one in EXAMPLES.get(equation, ()))


def operations() -> None:
    """The report's class `Matrix`, operation by operation."""
    rows = {_("In the report"): list(MATRIX_OPERATIONS), _("Here"): list(MATRIX_OPERATIONS.values())}
    with st.expander(_("Every operation of the report's class, and what does it here"), icon=":material/table:"):
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")
