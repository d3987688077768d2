"""Components of our own in the browser: a script of `assets/scripts` with a function `receive`, fetched by its address."""

import base64
import binascii
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import streamlit as st

from pages.shared import assets
from pages.shared.language import _

MAX_SENT: Final = 6_000_000
"""Bytes of a picture of 1,024 x 1,024 pixels, the largest that `clipboard.js` sends."""


@cache
def browser_component(name: str) -> Callable[..., Any]:
    """The component of the script `name`.js, registered once per process; its styles are in the page's HTML."""
    script = f"""
export default async function (component) {{
  try {{
    const {{ receive }} = await {assets.imported(f"{name}.js")};
    return receive(component);
  }} catch (error) {{
    const missing = component.data?.chrome?.labels.missing;
    if (!missing) throw error;
    component.parentElement.textContent = missing;
  }}
}}
"""
    return cast("Callable[..., Any]", st.components.v2.component(f"observatory_{name}", js=script, isolate_styles=False))


def clipboard(key: str, on_picture: Callable[[bytes | None], None], *, chooses: bool = True) -> object:
    """Takes a picture that is pasted or, where it `chooses`, chosen or dropped anywhere on the page.

    Returns:
        What was sent last, for `sent_picture`.
    """
    labels = {
        "paste": _("Paste"),
        "none": _("There is no picture in the clipboard: copy one first."),
        "refused": _("The browser does not let this page read the clipboard: press Ctrl+V instead, or upload the file."),
        "damaged": _("This browser cannot read the file as a picture: save it as PNG or JPEG first."),
    }
    if chooses:
        labels |= {"choose": _("Choose a picture"), "hint": _("or drop it anywhere on this page")}
    component, change = browser_component("clipboard"), lambda: on_picture(sent_picture(st.session_state[key].get("picture")))
    return component(key=key, data={"labels": labels}, on_picture_change=change).get("picture")


def sent_picture(url: object, *, max_bytes: int = MAX_SENT) -> bytes | None:
    """The bytes of a picture that a component sent as a data URL; None for anything else, or more of it."""
    if not isinstance(url, str) or len(url) > 2 * max_bytes:
        return None
    try:
        return base64.b64decode(url.partition(";base64,")[2], validate=True) or None
    except binascii.Error:
        return None
