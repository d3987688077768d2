"""An editor for a small matrix, with the edits in the URL: `?wq=0.1_1.5~2.3_-1` is W_Q[0, 1] = 1.5 and W_Q[2, 3] = -1."""

import math
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import pandas as pd
import streamlit as st

from pages.shared import url_state
from pages.shared.language import _

EDIT: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})_(-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:e-?[0-9]{1,2})?)")
LARGEST: Final = 100.0
"""Entries are clipped to this size, beyond which softmax and gates are saturated."""

Edits = dict[tuple[int, int], float]


def read_edits(text: str | None, shape: tuple[int, int]) -> Edits:
    """Edits from the URL; those that do not fit the matrix are left out."""
    edits: Edits = {}
    for part in (text or "").split("~"):
        match = EDIT.fullmatch(part)
        if match and int(match[1]) < shape[0] and int(match[2]) < shape[1] and math.isfinite(float(match[3])):
            edits[int(match[1]), int(match[2])] = _clip(float(match[3]))
    return edits


def write_edits(edits: Mapping[tuple[int, int], float]) -> str | None:
    """Edits as text for the URL; None for no edits."""
    return "~".join(f"{row}.{column}_{value:.6g}" for (row, column), value in sorted(edits.items())) or None


def edited(default: Any, *, key: str) -> Any:
    """The matrix with its edits, without showing an editor.

    Args:
        default: (rows, columns) array. key: of the matrix, its URL parameter.
    """
    values = default.copy()
    for (row, column), value in current(key, default.shape).items():
        values[row, column] = value
    return values


def editor(default: Any, *, key: str, label: str, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Show the matrix for editing. `edited` returns the values; call it afterwards for those of this run.

    Args:
        default: (rows, columns) array, rounded to what is shown.
        rows, columns: names, different from one another.
    """
    version = st.session_state.get(f"{key}:version", 0)
    digest = blake2b(default.tobytes(), digest_size=6).hexdigest()  # other default values need another widget
    widget = f"{key}:editor:{version}:{digest}:{'|'.join(rows)}"
    configured: dict[str, Any] = {
        str(index): st.column_config.NumberColumn(name, format="%.2f", step=0.01, width=54) for index, name in enumerate(columns)
    }
    configured["_index"] = st.column_config.TextColumn("", width=54, disabled=True)
    base = f"{widget}:base"
    if widget not in st.session_state or base not in st.session_state:
        st.session_state[base] = edited(default, key=key)
    shown = pd.DataFrame(st.session_state[base], index=list(rows), columns=[str(index) for index in range(len(columns))])
    st.markdown(f"**{label}**")
    table = st.data_editor(shown, key=widget, column_config=configured, width="stretch", num_rows="fixed")
    edits: Edits = {}
    for row in range(default.shape[0]):
        for column in range(default.shape[1]):
            value = table.iat[row, column]
            if not pd.isna(value) and abs(float(value) - float(default[row, column])) > 1e-9:
                edits[row, column] = _clip(float(value))
    st.session_state[f"{key}:edits"] = edits
    url_state.remember(key, write_edits(edits))
    if edits:
        st.button(_("Undo the edits"), icon=":material/undo:", key=f"{key}:undo", on_click=_remove_edits, args=(key,))


def _remove_edits(key: str) -> None:
    st.session_state[f"{key}:edits"] = {}
    st.session_state[f"{key}:version"] = st.session_state.get(f"{key}:version", 0) + 1
    url_state.remember(key, None)


def current(key: str, shape: tuple[int, ...]) -> Edits:
    """The edits that fit a matrix of this shape, by (row, column)."""
    kept: Edits | None = st.session_state.get(f"{key}:edits")
    size = (shape[0], shape[1])
    if kept is None:
        kept = st.session_state[f"{key}:edits"] = read_edits(st.query_params.get(key), size)
    url_state.remember(key, write_edits(kept))
    return {at: value for at, value in kept.items() if at[0] < size[0] and at[1] < size[1]}


def _clip(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)
