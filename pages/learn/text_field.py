"""A text field that examples can fill, kept in the URL and across pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.shared import url_state


def typed(label: str, *, key: str, default: str, examples: Sequence[str] = (), **arguments: Any) -> str:
    """The text, as `url_state.slider` keeps a number: by link, then by what was typed, then by default.

    Args:
        key: of the widget and of the URL parameter. examples: a button each, which fills the field.
        arguments: for the widget.
    """
    state, told, seen, kept = st.session_state, st.query_params.get(key), f"{key}:seen", f"{key}:kept"
    value = state.get(key, state.get(kept, default))
    if told is not None and told != state.get(seen):
        value = told
    state[key] = value
    chosen = str(st.text_input(label, key=key, **arguments) or "")
    if examples:
        with st.container(horizontal=True):
            for number, example in enumerate(examples):
                st.button(example, key=f"{key}:example:{number}", on_click=_fill, args=(key, example))
    state[kept] = chosen
    url_state.remember(key, None if chosen == default else chosen)
    state[seen] = st.query_params.get(key)
    return chosen


def _fill(key: str, text: str) -> None:
    st.session_state[key] = text
    st.session_state[f"{key}:seen"] = st.query_params.get(key)
