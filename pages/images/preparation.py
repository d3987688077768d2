"""How the picture was prepared: every step with its image, what it went by, and a way to do it otherwise."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from core.figures.pictures import picture_png
from core.vision.pictures import Picture
from core.vision.preprocessing import STEPS, PreparationStep, PreparedPicture, Recipe, StepName
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _, number

DEFAULT: Final = Recipe()
NUMBERS: Final = ("tolerance", "margin", "left", "top", "right", "bottom")
"""Choices of a recipe that are percentages. Every choice goes by its own name in the URL."""


def options() -> dict[str, dict[str, str]]:
    """What each step can be told, the data set's way first."""
    switch = {"auto": _("As needed"), "yes": _("Yes"), "no": _("No")}
    return {
        "ground": {"white": _("On white"), "black": _("On black")},
        "grey": {"luminance": _("Luminance"), "red": _("Red alone"), "green": _("Green alone"), "blue": _("Blue alone")},
        "invert": switch,
        "black": switch,
        "crop": {
            "auto": _("To the garment"),
            "tolerance": _("By a tolerance"),
            "box": _("By hand"),
            "whole": _("Not at all"),
        },
        "pad": {"centre": _("Centred"), "stretch": _("Stretch it")},
        "resize": {"area": _("Mean of the area"), "bicubic": _("Bicubic"), "subsample": _("Every n-th pixel")},
        "sharpen": switch,
    }


def titles() -> dict[StepName, str]:
    """What a person calls the steps."""
    return {
        "ground": _("The picture"),
        "grey": _("Grey"),
        "invert": _("Invert"),
        "black": _("Background to black"),
        "crop": _("Crop"),
        "pad": _("Pad to a square"),
        "resize": _("28 x 28 pixels"),
        "sharpen": _("Sharpen"),
    }


def linked() -> Recipe:
    """The recipe of the link, or of the page before, without its controls."""
    found: dict[str, Any] = {}
    for name, codes in options().items():
        code = _told(name)
        url_state.remember(name, code if code in codes and code != getattr(DEFAULT, name) else None)
        if code in codes:
            found[name] = code
    for name in NUMBERS:
        told = _told(name)
        if told is not None and told.isdecimal() and int(told) <= 100:
            found[name] = int(told)
            url_state.remember(name, None if int(told) == getattr(DEFAULT, name) else told)
    recipe = Recipe(**found)
    return recipe if recipe.left < recipe.right and recipe.top < recipe.bottom else DEFAULT


def _told(key: str) -> str | None:
    kept = st.session_state.get(key, st.session_state.get(f"{key}:kept"))
    return st.query_params.get(key, None if kept is None else str(kept))


def show(picture: Picture) -> tuple[Recipe, PreparedPicture] | None:
    """All steps, and the recipe they followed; None where the choices give no image, and why has been said."""
    st.subheader(_("From the picture to what the model reads"), anchor=False)
    cells: dict[StepName, Any] = {}
    found: dict[str, Any] = {}
    with st.container(horizontal=True, key="classify_steps"):
        for place, name in enumerate(STEPS):
            with st.container(border=True, width=170, key=f"step_{name}"):
                st.markdown(f"**{place + 1}. {titles()[name]}**")
                cells[name] = st.container()
                found |= _controls(name)
    recipe = Recipe(**found)
    try:
        prepared = cached_results.prepared(picture, recipe)
    except ValueError:
        controls.error_box(_("The box has no room in it: left must be less than right, and top less than bottom."))
        return None
    for step in prepared.steps:
        with cells[step.name]:
            st.image(picture_png(step.image), width=136, alt=titles()[step.name])
            st.caption(_said(step, prepared))
    return recipe, prepared


def _controls(name: StepName) -> dict[str, Any]:
    codes = options()[name]
    found: dict[str, Any] = {name: url_state.choice(st.selectbox, titles()[name], codes, key=name, label_visibility="collapsed")}
    if name != "crop":
        return found
    if found[name] == "tolerance":
        found["tolerance"] = url_state.slider(_("Tolerance, % of the range"), 0, 60, key="tolerance", default=DEFAULT.tolerance)
    if found[name] == "box":
        edges = {"left": _("Left edge, %"), "right": _("Right edge, %"), "top": _("Top edge, %"), "bottom": _("Bottom edge, %")}
        for edge, label in edges.items():
            found[edge] = url_state.slider(label, 0, 100, key=edge, default=getattr(DEFAULT, edge))
    if found[name] != "whole":
        found["margin"] = url_state.slider(_("Margin, %"), 0, 50, key="margin", default=DEFAULT.margin)
    return found


def _said(step: PreparationStep, prepared: PreparedPicture) -> str:
    """What a step did, in a few words with its numbers."""
    facts, done = step.facts, step.done
    if step.name == "ground":
        return _("Transparent parts got a background.") if done else _("As decoded; nothing is transparent.")
    if step.name == "grey":
        return _("0.299 R + 0.587 G + 0.114 B, unless one channel is chosen.") if done else _("Grey already.")
    if step.name == "invert":
        words = (
            _("The corners are at {level} of 255: inverted.") if done else _("The corners are at {level} of 255: not inverted.")
        )
        return words.format(level=number(facts["background"]))
    if step.name == "black":
        words = _("Everything up to {level} becomes 0, the rest is stretched.") if done else _("Nothing to do.")
        return words.format(level=number(facts["background"]))
    if step.name == "crop":
        if prepared.blank and not done:
            return _("Nothing stands out from the background.")
        words = _("{width} x {height} pixels left; tolerance {share} %.") if done else _("Nothing is cut off.")
        return words.format(width=number(facts["width"]), height=number(facts["height"]), share=number(facts["tolerance"], 1))
    if step.name in ("pad", "resize"):
        words = {
            ("pad", True): _("{side} x {side} pixels."),
            ("pad", False): _("Square already."),
            ("resize", True): _("From {side} x {side} pixels."),
            ("resize", False): _("That large already."),
        }[step.name, done]
        return words.format(side=number(facts["side"]))
    return _("By a Gaussian of deviation 1, as the data set does.") if done else _("Left as it is.")
