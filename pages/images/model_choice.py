"""The choice of the ViT checkpoint that answers, and the messages where none can be loaded."""

from __future__ import annotations

import streamlit as st

from core.checkpoints import CheckpointError
from core.vision.classifier import DEFAULT, Classifier
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _


def pick_classifier() -> Classifier | None:
    """The chosen classifier; None, after a message, where there is none or it cannot be loaded."""
    try:
        names = cached_results.model_names()
        if not names:
            controls.notice(
                "empty",
                _("There is no garment model here yet: train one with `python -m core train vit --data DIR`."),
            )
            return None
        name = DEFAULT if DEFAULT in names else names[0]
        if len(names) > 1:
            name = url_state.choice(st.selectbox, _("Model"), {one: one for one in names}, key="vit", default=name, width=260)
        return cached_results.classifier_of(name)
    except CheckpointError as error:
        show_checkpoint_error(error)
        return None


def show_checkpoint_error(error: CheckpointError) -> None:
    """What is wrong with a checkpoint, and what to do."""
    controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
