"""A picture with a box that the visitor may drag, and others to press (its browser side: assets/scripts/picture_box.js)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.figures.pictures import data_url
from pages.images.preparation import EDGES, NO_BOX, choose
from pages.shared.browser_component import browser_component


def draw_picture_box(png: bytes, box: Mapping[str, int], others: Sequence[Mapping[str, Any]], *, label: str, key: str) -> None:
    """The picture with the box; dragging it, or pressing another, crops the picture to these edges.

    Args:
        png: the picture. box: edges now, percent of width and height. others: edges and a `label` each.
        label: says what it is and how to use it.
    """
    browser_component("picture_box")(
        key=key,
        data={"image": data_url(png), "box": dict(box), "others": [dict(one) for one in others], "label": label},
        on_box_change=lambda: _take(st.session_state[key].get("box")),
    )


def _take(box: object) -> None:
    """Put a box from the browser into the link; one that is no box is left out."""
    if not isinstance(box, Mapping):
        return
    edges = {name: box.get(name) for name in EDGES}
    left, top, right, bottom = (round(edge) if isinstance(edge, int | float) else -1 for edge in edges.values())
    if 0 <= left < right <= 100 and 0 <= top < bottom <= 100:
        choose(crop="box", left=str(left), top=str(top), right=str(right), bottom=str(bottom))


def drop() -> None:
    """Leave the crop to the model's manner again."""
    choose(**NO_BOX)
