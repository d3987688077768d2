"""The preparation of a picture: the choices of it that a link holds, and one line of what was done."""

from dataclasses import replace
from typing import Final

import streamlit as st

from core.vision.classifier import Classifier, Manner
from core.vision.preprocessing import PreparedPicture, Recipe
from core.vision.uprightness import pointed_garment
from pages.shared import url_state
from pages.shared.language import _, number

WHOLE: Final = {"left": 0, "top": 0, "right": 100, "bottom": 100}
"""Edges of the whole picture, percent."""
PRESSED: Final = "classify:pressed"
"""Session key: layer, head and token that were pressed last on the stage."""
NO_BOX: Final = dict.fromkeys(("crop", *WHOLE))


def linked(manner: Manner) -> Recipe:
    """The recipe of the link, or of the page before.

    Args:
        manner: the model's own.
    """
    wanted = {name: st.query_params.get(name, st.session_state.get(f"{name}:kept")) for name in ("turn", *NO_BOX)}
    as_given = wanted["turn"] == "none"
    recipe = Recipe(manner=manner, turn="none" if as_given else "auto")
    choose(turn="none" if as_given else None)
    left, top, right, bottom = (url_state.whole_number(wanted[name], 0, 100, edge) for name, edge in WHOLE.items())
    if wanted["crop"] != "box" or left >= right or top >= bottom:
        choose(**NO_BOX)
        return recipe
    choose_box(left, top, right, bottom)
    return replace(recipe, crop=(left, top, right, bottom))


def choose(**choices: str | None) -> None:
    """Put choices into the link, and keep them for the next page; None for the model's own."""
    for name, value in choices.items():
        st.session_state[f"{name}:kept"] = value
        url_state.remember(name, value)


def choose_box(*edges: float) -> None:
    """Read the part of the picture between these edges, in the order of `WHOLE`."""
    moved = zip(WHOLE.items(), map(round, edges), strict=True)
    choose(crop="box", **{name: None if edge == whole else str(edge) for (name, whole), edge in moved})


def press(choice: str) -> None:
    """Keep what was pressed on the stage."""
    st.session_state[PRESSED] = choice


def point(classifier: Classifier, prepared: PreparedPicture, recipe: Recipe) -> None:
    """The button that reads the garment at the patch that is pressed on the stage."""

    def on_press() -> None:
        _layer, _head, patch = ([*str(st.session_state.get(PRESSED, "")).split("."), "", ""])[:3]
        at = url_state.whole_number(patch, 1, classifier.config.grid**2, None)
        if at is None:
            st.toast(_("Press the garment on the picture first, then this button."), icon=":material/touch_app:")
            return
        choose_box(*pointed_garment(classifier, prepared, at - 1, recipe))
        st.session_state[PRESSED] = ""

    st.button(_("Read the garment that I pressed"), key="classify_point", icon=":material/touch_app:", on_click=on_press)


def line(prepared: PreparedPicture) -> None:
    """One line of what was done, and a button for a picture that is left as it lies."""
    words = {
        "ground": _("put on white"),
        "border": _("a uniform border cut off"),
        "turn": _("set upright"),
        "grey": _("turned grey"),
        "invert": _("negated"),
        "black": _("its background brought to black"),
        "crop": _("cropped"),
        "pad": _("padded to a square"),
        "resize": _("brought to {side} x {side} pixels").format(side=number(prepared.image.shape[0])),
        "sharpen": _("sharpened"),
    }
    done = ", ".join(words[step] for step in prepared.done)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_("Prepared for the model: {steps}.").format(steps=done or _("nothing had to be done")), width="content")
        if st.query_params.get("turn") == "none":
            st.button(_("Set it upright"), key="classify_upright", type="tertiary", on_click=choose, kwargs={"turn": None})
