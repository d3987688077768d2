"""The choice of the garment model that answers, and the messages where none can be loaded."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.checkpoints import CheckpointError
from core.vision.classifier import Classifier
from core.vision.pictures import Picture
from core.vision.preprocessing import model_for
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent
from pages.shared.load_ahead import load_ahead

BY_PICTURE = "auto"


def model_name(name: str) -> str:
    """A checkpoint's name in words; those of a visitor's own keep theirs."""
    names = {
        "vit": _("the one of small grey images"),
        "cct": _("the one of photographs"),
    }
    return names.get(name, name)


def show_if_possible(body: Callable[[], None]) -> None:
    """Show a page's body; a message in its place where there is no garment model, or after it where one cannot be loaded."""
    try:
        body() if cached_results.model_names() else no_model()
    except CheckpointError as error:
        controls.no_checkpoint(error)


def no_model() -> None:
    """Says that there is none, and who may make one."""
    controls.notice("empty", _("There is no garment model here yet: whoever runs this server may train one (see the README)."))


def pick_classifier(picture: Picture) -> Classifier:
    """The chosen model; by default the one for this kind of picture.

    Raises:
        CheckpointError: where it cannot be loaded.
    """
    names = cached_results.model_names()
    name = model_for(picture, names)
    if len(names) > 1:
        url_state.choice(
            st.selectbox,
            _("Model"),
            {BY_PICTURE: _("By the picture: {name}").format(name=model_name(name))} | {one: model_name(one) for one in names},
            key="vit",
            default=BY_PICTURE,
            width=260,
            help=_(
                "Grey pictures of 28 x 28 pixels, and those on black that are no finer, are read by the documented ViT, trained "
                "on Fashion-MNIST; all others by the compact convolutional transformer, trained on photographs in colour."
            ),
        )
    classifier = chosen_classifier(picture)
    load_ahead(cached_results.ready, names)
    if classifier.photographs is not None and classifier.benchmark is not None:
        real, count = percent(classifier.photographs.accuracy), number(classifier.photographs.samples)
        sentence = _("It is right on {real} of {count} real photographs, and on {share} of the benchmark's images.")
        st.caption(sentence.format(real=real, count=count, share=percent(classifier.benchmark)))
    return classifier


def chosen_classifier(picture: Picture) -> Classifier:
    """The model that `pick_classifier` chose, for any picture.

    Raises:
        CheckpointError: where it cannot be loaded.
    """
    names = cached_results.model_names()
    chosen = st.session_state.get("vit", BY_PICTURE)
    return cached_results.classifier_of(chosen if chosen in names else model_for(picture, names))
