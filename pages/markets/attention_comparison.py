"""A second window to compare with, pinned and kept in the link.

`?with=` holds a window of a recording as `name@second@model`, which opens anywhere, or the id of a frozen window, which is kept
as long as the app runs.
"""

from __future__ import annotations

import streamlit as st

from core.market.book import BookError
from core.market.store.index import RecordingError
from core.market.windows import STORE, FrozenWindow, WindowError
from pages.markets import attention_window, cached_results
from pages.markets.attention_window import WindowSource
from pages.shared import controls, url_state
from pages.shared.language import _


def pick(window: FrozenWindow, source: WindowSource) -> FrozenWindow | None:
    """Buttons to pin this window and to unpin; returns the pinned one, None where there is none."""
    reference = st.query_params.get("with")
    pinned = _find(reference) if reference else None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Pin this window"),
            icon=":material/keep:",
            key="attention_pin",
            on_click=_pin,
            args=(window, source),
            help=_("Then move on, or change the model: the page shows what differs from the pinned one."),
        )
        if reference:
            st.button(
                _("Unpin"), icon=":material/keep_off:", key="attention_unpin", on_click=url_state.remember, args=("with", None)
            )
        if pinned:
            st.caption(_("Compared with {title}, {model}").format(title=attention_window.title(pinned), model=pinned.predictor))
    if reference and pinned is None:
        controls.notice("stale", _("The pinned window cannot be found any more: pin another one."))
    return pinned


def _pin(window: FrozenWindow, source: WindowSource) -> None:
    if source.kind == "recording":
        second = st.session_state[attention_window.SECOND]
        url_state.remember("with", f"{source.name}@{second:g}@{source.model}")
    else:
        url_state.remember("with", STORE.keep(window))


def _find(reference: str) -> FrozenWindow | None:
    if "@" not in reference:
        return STORE.find(reference)
    try:
        name, second, model = reference.split("@")
        return attention_window.recorded(name, cached_results.predictor_of(model).window).window(float(second), predictor=model)
    except (ValueError, RecordingError, WindowError, BookError):  # CheckpointError is a ValueError too
        return None
