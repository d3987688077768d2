"""Components of our own in the browser: a script of `assets/scripts` with a function `receive`, fetched by its address."""

import base64
import binascii
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import streamlit as st

from pages.shared import assets


@cache
def browser_component(name: str) -> Callable[..., Any]:
    """The component of the script `name`.js, registered once per process; its styles are in the page's HTML."""
    script = f"""
export default async function (component) {{
  const {{ receive }} = await {assets.imported(f"{name}.js")};
  return receive(component);
}}
"""
    return cast("Callable[..., Any]", st.components.v2.component(f"observatory_{name}", js=script, isolate_styles=False))


def sent_picture(url: object, *, max_bytes: int) -> bytes | None:
    """The bytes of a picture that a component sent as a data URL; None for anything else, or more of it."""
    if not isinstance(url, str) or len(url) > 2 * max_bytes:
        return None
    try:
        return base64.b64decode(url.partition(";base64,")[2], validate=True) or None
    except binascii.Error:
        return None
