"""What two pages ask first: which clip, which model; and the clip read by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.checkpoints import CheckpointError
from core.signs.recognition import Recognition
from core.signs.uploaded_weights import MOST_MIB
from pages.shared import controls, url_state
from pages.shared.language import _, number
from pages.signs import cached_results as answers
from pages.signs import clip_source
from pages.signs.cached_results import Clip, Model

KEYS: Final = (
    "input", "model", "sample", "sentence", "file", "start", "fit", "hold", "slayer", "sscale", "shead", "frame", "lang",
)  # fmt: skip
"""Of the URL, what names a clip and where one looks at it."""


@dataclass(frozen=True, kw_only=True)
class Picked:
    """A model, and where there is one the clip and what the model makes of it."""

    model: Model
    clip: Clip | None = None
    found: Recognition | None = None


def pick() -> Picked | None:
    """The pickers. None where no model can be had yet; what is missing, the page has said."""
    with st.container(border=True):
        source = clip_source.pick_source()
        model = _pick_model(clip_source.front_of(source))
        clip = clip_source.pick(source, model.recogniser) if model else None
    if model is None:
        return None
    if clip is None:
        return Picked(model=model)
    try:
        with st.spinner(_("Reading the clip…"), show_time=True):
            return Picked(model=model, clip=clip, found=answers.read(model, clip))
    except ValueError as error:
        controls.error_box(str(error), remedy=_("Choose another clip or another model."))
        return Picked(model=model)


def link() -> dict[str, str]:
    """What a link to the other page carries, so that it opens the same clip."""
    asked = st.query_params.to_dict()
    return {key: asked[key] for key in KEYS if key in asked}


def _pick_model(front: str) -> Model | None:
    """A shipped checkpoint, or the visitor's own; None where there is none yet, and the page has said so."""
    try:
        options = {name: name for name in answers.model_names(front)}
        options[answers.OWN] = _("Your own")
        chosen = url_state.choice(st.selectbox, _("Model"), options, key="model")
        if chosen != answers.OWN:
            return answers.shipped(chosen)
        return _own(front)
    except CheckpointError as error:
        controls.error_box(str(error), remedy=_("Choose another model."))
        return None


def _own(front: str) -> Model | None:
    left, right = st.columns(2)
    with left:
        weights = st.file_uploader(
            _("Weights (.safetensors, up to {most} MiB)").format(most=number(MOST_MIB)),
            type="safetensors",
            key="signs:weights",
            max_upload_size=MOST_MIB,
        )
    with right:
        card = st.file_uploader(_("Its card (.json)"), type="json", key="signs:card", max_upload_size=8)
    if weights is None or card is None:
        controls.notice(
            "empty",
            _("A checkpoint is two files, the weights and the card that names their SHA-256, config, vocabulary and frame rate."),
        )
        return None
    with st.spinner(_("Checking and loading the checkpoint…"), show_time=True):
        model = answers.brought(card, weights)
    if model.recogniser.front != front:
        controls.error_box(
            _("This checkpoint reads {own}, and the chosen clip is of {clip}.").format(
                own=_fronts()[model.recogniser.front], clip=_fronts()[front]
            ),
            remedy=_("Choose another kind of clip."),
        )
        return None
    return model


def _fronts() -> dict[str, str]:
    return {"frames": _("pictures"), "tracks": _("tracked positions")}
