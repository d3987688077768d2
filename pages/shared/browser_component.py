"""Components of our own in the browser: a script of `assets/scripts` with a function `receive`, fetched by its address."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import streamlit as st

from pages.shared import assets
from pages.shared.assets import style as style


@cache
def browser_component(name: str, css: str) -> Callable[..., Any]:
    """The component of the script `name`.js, registered once per process.

    Args:
        css: its styles, which hold for the whole page.
    """
    script = f"""
export default async function (component) {{
  const {{ receive }} = await import(new URL("{assets.script(f"{name}.js")}", location.origin).href);
  return receive(component);
}}
"""
    return cast("Callable[..., Any]", st.components.v2.component(f"observatory_{name}", js=script, css=css, isolate_styles=False))
