"""The choice of the garment model that answers."""

import streamlit as st

from core.vision.classifier import DEFAULT, PHOTOGRAPHS, Classifier
from core.vision.pictures import Picture
from core.vision.preprocessing import is_prepared, model_for
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent
from pages.shared.load_ahead import load_ahead

BY_PICTURE = "auto"


def model_name(name: str) -> str:
    """A checkpoint's name in words; those of a visitor's own keep theirs."""
    names = {
        "vit": _("the report's ViT, Fashion-MNIST, ten classes"),
        "cct": _("CCT, photographs, ten kinds"),
    }
    return names.get(name, name)


def pick_classifier(picture: Picture) -> Classifier:
    """The chosen model; by default the one for this kind of picture.

    Raises:
        CheckpointError: where it cannot be loaded.
    """
    names = cached_results.model_names()
    if len(names) > 1:
        options = {BY_PICTURE: _("The one for this kind of picture")} | {one: model_name(one) for one in names}
        url_state.choice(st.selectbox, _("Model"), options, key="vit", default=BY_PICTURE, width=320)
    chosen = st.session_state.get("vit", BY_PICTURE)
    classifier = cached_results.classifier_of(chosen if chosen in names else model_for(picture, names))
    load_ahead(cached_results.ready, names)
    if classifier.photographs is not None and classifier.benchmark is not None:
        real, count = percent(classifier.photographs["accuracy"]), number(classifier.photographs["samples"])
        sentence = _("It is right on {real} of {count} real photographs, and on {share} of the benchmark's images.")
        st.caption(sentence.format(real=real, count=count, share=percent(classifier.benchmark)))
    return classifier


def _ask() -> None:
    """Asks about a picture that may be one of the data set's, enlarged, or a photograph."""
    sentence = _("This looks like an image of Fashion-MNIST, so the report's ViT reads it. Is it a photograph?")
    controls.notice("stale", sentence)
    st.button(
        _("Yes, read it as a photograph"),
        key="vit_photograph",
        icon=":material/photo_camera:",
        on_click=lambda: st.session_state.update(vit=PHOTOGRAPHS),
    )


def model_line(classifier: Classifier, picture: Picture) -> None:
    """Says which model answered, and asks where the picture does not tell which one is right."""
    name = str(classifier.card["name"])
    st.caption(_("Answered by {model}.").format(model=f"{model_name(name)}, {controls.computed_on(classifier)}"))
    by_picture = st.session_state.get("vit", BY_PICTURE) == BY_PICTURE
    if by_picture and name == DEFAULT and PHOTOGRAPHS in cached_results.model_names() and not is_prepared(picture):
        _ask()
