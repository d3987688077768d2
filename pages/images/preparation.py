"""The preparation of a picture: every step with its image and its numbers, and a control to do it otherwise."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from core.figures.pictures import picture_png
from core.vision.classifier import Classifier, Manner
from core.vision.pictures import Picture
from core.vision.preprocessing import STEPS, PreparationStep, PreparedPicture, Recipe, StepName
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _, number

DEFAULT: Final = Recipe()
EDGES: Final = ("left", "top", "right", "bottom")
"""Of a box, percent. Every choice has its own name in the URL."""
THUMBNAIL_PX: Final = 136
"""Longest side of a step's image; Streamlit would reduce a larger one itself, a very long one to a height of 0."""


def options() -> dict[str, dict[str, str]]:
    """The choices of each step, the data set's way first."""
    switch = {"auto": _("As needed"), "yes": _("Yes"), "no": _("No")}
    return {
        "ground": {"white": _("On white"), "black": _("On black")},
        "border": switch,
        "turn": {
            "auto": _("As needed"),
            "none": _("Not at all"),
            "left": _("90° to the left"),
            "half": _("180°"),
            "right": _("90° to the right"),
        },
        "grey": {"auto": _("As needed"), "luminance": _("Luminance")},
        "invert": switch,
        "black": switch,
        "crop": {"auto": _("As needed"), "box": _("By hand"), "whole": _("Not at all")},
        "resize": {"area": _("Mean of the area"), "subsample": _("Every n-th pixel")},
        "sharpen": switch,
    }


def titles() -> dict[StepName, str]:
    """Names of the steps."""
    return {
        "ground": _("The picture"),
        "border": _("Border"),
        "turn": _("Upright"),
        "grey": _("Grey"),
        "invert": _("Invert"),
        "black": _("Background to black"),
        "crop": _("Crop"),
        "pad": _("Pad to a square"),
        "resize": _("To the model's size"),
        "sharpen": _("Sharpen"),
    }


def linked(manner: Manner) -> Recipe:
    """The recipe of the link, or of the page before, without showing its controls.

    Args:
        manner: the model's own, for what nobody chose.
    """
    choices: dict[str, Any] = {}
    for name, codes in options().items():
        code = _linked_or_kept(name)
        url_state.remember(name, code if code in codes and code != getattr(DEFAULT, name) else None)
        if code in codes:
            choices[name] = code
    for name in EDGES:
        value = url_state.whole_number(_linked_or_kept(name), 0, 100, None)
        if value is not None:
            choices[name] = value
            url_state.remember(name, None if value == getattr(DEFAULT, name) else str(value))
    recipe = Recipe(manner=manner, **choices)
    return recipe if recipe.left < recipe.right and recipe.top < recipe.bottom else Recipe(manner=manner)


def _linked_or_kept(key: str) -> str | None:
    """A choice's value in the URL, else from a page before."""
    kept = st.session_state.get(key, st.session_state.get(f"{key}:kept"))
    return st.query_params.get(key, None if kept is None else str(kept))


def show(picture: Picture, classifier: Classifier) -> tuple[Recipe, PreparedPicture] | None:
    """All steps with their controls; returns the recipe and its result, or None, after a message, where the crop has no room.

    What nobody chooses is done in the classifier's own manner.
    """
    st.header(_("From the picture to what the model reads"), anchor=False)
    cells: dict[StepName, Any] = {}
    choices: dict[str, Any] = {}
    with st.container(horizontal=True, key="classify_steps"):
        for place, name in enumerate(STEPS):
            with st.container(border=True, width=170, key=f"step_{name}"):
                st.markdown(f"**{place + 1}. {titles()[name]}**")
                cells[name] = st.container()
                choices |= _controls(name)
    recipe = Recipe(manner=classifier.manner, **choices)
    try:
        prepared = cached_results.prepare(classifier, picture, recipe)
    except ValueError:
        controls.error_box(_("The box has no room in it: left must be less than right, and top less than bottom."))
        return None
    for step in prepared.steps:
        with cells[step.name]:
            st.image(picture_png(step.image, side=THUMBNAIL_PX), width=THUMBNAIL_PX, alt=titles()[step.name])
            st.caption(_description(step, prepared))
    return recipe, prepared


def _controls(name: StepName) -> dict[str, Any]:
    if (codes := options().get(name)) is None:
        return {}
    choices: dict[str, Any] = {
        name: url_state.choice(st.selectbox, titles()[name], codes, key=name, label_visibility="collapsed")
    }
    if choices[name] == "box":
        edges = {"left": _("Left edge, %"), "right": _("Right edge, %"), "top": _("Top edge, %"), "bottom": _("Bottom edge, %")}
        for edge, label in edges.items():
            choices[edge] = url_state.slider(label, 0, 100, key=edge, default=getattr(DEFAULT, edge))
    return choices


def _description(step: PreparationStep, prepared: PreparedPicture) -> str:
    """Describes a step, with its numbers."""
    if step.name == "grey" and step.image.ndim == 3:
        return _("Left in colour.")
    if step.name == "crop" and prepared.blank and not step.done:
        return _("Nothing stands out from the background.")
    done, otherwise = {
        "ground": (_("Transparent parts got a background."), _("As decoded; nothing is transparent.")),
        "border": (_("A uniform border is cut off: {width} x {height} pixels left."), _("Nothing is cut off.")),
        "turn": (_("Turned by {degrees}° to the right."), _("Left as it lies.")),
        "grey": (_("0.299 R + 0.587 G + 0.114 B."), _("Already grey.")),
        "invert": (_("The corners are at {level} of 255: inverted."), _("The corners are at {level} of 255: not inverted.")),
        "black": (_("Everything up to {level} becomes 0, the rest is stretched."), _("Nothing to do.")),
        "crop": (_("{width} x {height} pixels left; tolerance {share} %."), _("Nothing is cut off.")),
        "pad": (_("{side} x {side} pixels."), _("Already square.")),
        "resize": (_("From {side} x {side} pixels."), _("Already of that size.")),
        "sharpen": (_("By a Gaussian of deviation 1, as the data set does."), _("Left as it is.")),
    }[step.name]
    facts = dict.fromkeys(("width", "height", "side", "background", "quarters", "tolerance"), 0.0) | step.facts
    return (done if step.done else otherwise).format(
        width=number(facts["width"]), height=number(facts["height"]), side=number(facts["side"]),
        level=number(facts["background"]), degrees=number(360 - 90 * facts["quarters"]), share=number(facts["tolerance"], 1),
    )  # fmt: skip
