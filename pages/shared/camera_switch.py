"""The switch that puts the camera in a picture's place. Nothing here loads torch, which the front page does without."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.language import _

ASKED = "start"
"""Value in the session while the camera was just asked for; "on" from its first run on, None while it is off."""


def button(filming: bool, on_click: Callable[..., None], *args: Any, key: str) -> None:
    """The button of the camera, which is on where it is `filming`."""
    st.button(
        _("Camera"),
        icon=":material/videocam:",
        key=key,
        type="primary" if filming else "secondary",
        on_click=on_click,
        args=args,
    )


def switch(state: str, *, key: str) -> None:
    """Turns the camera on and off; `state` is the session's key that says which."""
    filming = bool(st.session_state.get(state))
    button(filming, st.session_state.update, {state: None if filming else ASKED}, key=key)


def begins(state: str) -> bool:
    """Tells whether the camera was just asked for, and so starts by itself; from then on it is on."""
    asked, st.session_state[state] = st.session_state[state] == ASKED, "on"
    return asked
