"""Moves every widget of a page, one after the other, to its ends; after each the page must run without an exception."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.open_page import ran


def move_everything(app: AppTest) -> int:
    """Move every widget but the choice of a part; returns how many moves were made."""
    moves = 0
    kinds = ("slider", "select_slider", "radio", "pills", "segmented_control", "selectbox", "toggle", "checkbox", "button")
    for kind in kinds:
        for index in range(len(getattr(app, kind))):
            if index >= len(getattr(app, kind)):
                break  # a move may take a widget away
            widget = getattr(app, kind)[index]
            if widget.key in ("part", "lang"):
                continue
            if kind == "button":
                widget.click()
                ran(app)
                moves += 1
                continue
            if kind == "slider":
                ends = [widget.min, widget.max]
            elif kind in ("toggle", "checkbox"):
                ends = [not widget.value]
            else:
                ends = _codes(widget)
            for end in ends:
                getattr(app, kind)[index].set_value(end)
                ran(app)
                moves += 1
    return moves


def _codes(widget: object) -> list[object]:
    """The first and the last choice that is not the present one, as the code that stands for it."""
    options = list(getattr(widget, "options", []))
    ends = [options[0], options[-1]] if len(options) > 1 else options
    return [end for end in ends if end != getattr(widget, "value", None)]
