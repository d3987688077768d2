"""A picture with a box that the visitor may drag, and others to press (its browser side: assets/scripts/picture_box.js)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from core.figures.pictures import data_url
from pages.shared.browser_component import browser_component

EDGES: Final = ("left", "top", "right", "bottom")

CSS: Final = """
.picture-box {
  position: relative; display: inline-block; touch-action: none; cursor: crosshair; line-height: 0; user-select: none;
}
.picture-box img { max-width: 100%; border-radius: 0.2rem; }
.picture-box-frame {
  position: absolute; border: 2px solid #2F7EC7; box-shadow: 0 0 0 1px rgba(255, 255, 255, 0.8); cursor: move;
  box-sizing: border-box;
}
.picture-box-other {
  position: absolute; border: 2px dashed #2F7EC7; box-shadow: 0 0 0 1px rgba(255, 255, 255, 0.8); background: transparent;
  padding: 0; cursor: pointer;
}
.picture-box-other span {
  position: absolute; left: 0; top: 0; background: #1F5F9E; color: #fff; font-size: 0.75rem; font-weight: 600; line-height: 1.4;
  padding: 0 0.3rem; white-space: nowrap;
}
.picture-box-frame:focus-visible { outline: 2px solid #D5701F; }
.picture-box-frame i {
  position: absolute; width: 16px; height: 16px; background: #2F7EC7; border: 2px solid #fff; border-radius: 50%;
  transform: translate(-50%, -50%);
}
.picture-box-frame i.left { left: 0; } .picture-box-frame i.right { left: 100%; }
.picture-box-frame i.top { top: 0; cursor: nwse-resize; } .picture-box-frame i.bottom { top: 100%; cursor: nwse-resize; }
"""


def show(png: bytes, box: Mapping[str, int], others: Sequence[Mapping[str, Any]], *, label: str, key: str) -> None:
    """The picture with the box; dragging it, or pressing another, chooses the crop "by hand" with these edges.

    Args:
        png: the picture. box: edges now, percent of width and height. others: edges and a `label` each.
        label: says what it is and how to use it.
    """
    browser_component("picture_box", CSS)(
        key=key,
        data={"image": data_url(png), "box": dict(box), "others": [dict(one) for one in others], "label": label},
        on_box_change=lambda: _take(st.session_state[key].get("box")),
    )


def _take(box: object) -> None:
    """Put a box from the browser into the controls of the crop; one that is no box is left out."""
    if not isinstance(box, Mapping):
        return
    edges = {name: box.get(name) for name in EDGES}
    left, top, right, bottom = (round(edge) if isinstance(edge, int | float) else -1 for edge in edges.values())
    if 0 <= left < right <= 100 and 0 <= top < bottom <= 100:
        st.session_state.update({"crop": "box", "left": left, "top": top, "right": right, "bottom": bottom})


def drop() -> None:
    """Leave the crop to the model's manner again."""
    st.session_state["crop"] = "auto"
