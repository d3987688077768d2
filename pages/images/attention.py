"""What the ViT looks at: measures over the picture, all maps, patches to hide, and whether the measures tell the truth."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.checkpoints import CheckpointError
from core.vision.analysis import PictureAnalysis
from core.vision.arrays_file import to_npz
from core.vision.classifier import Classifier
from pages.images import (
    attention_maps,
    cached_results,
    hidden_patches,
    patch_evidence,
    picture_source,
    preparation,
    ranking_panel,
)
from pages.images.cached_results import Question
from pages.images.model_choice import pick_classifier
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.language import _, prose

controls.page_header(_("What the ViT looks at"), prose("garment_attention_lead"))


def body(classifier: Classifier) -> None:
    """The page, once there is a model."""
    chosen = picture_source.pick_folded()
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a test image."))
        return
    prepared = cached_results.prepared(chosen.picture, preparation.linked())
    question = cached_results.ask(classifier, prepared.image)
    reading = cached_results.read(question)
    st.caption(chosen.name)
    ranking_panel.headline(reading, chosen, prepared)
    views(question, reading)


@st.fragment
def views(question: Question, reading: PictureAnalysis) -> None:
    """What depends on the view's own choices, which run this alone: the picture is read once."""
    options = {
        "picture": _("Over the picture"),
        "maps": _("All maps"),
        "hide": _("Hide patches"),
        "truth": _("Is it telling the truth?"),
    }
    view = url_state.choice(st.segmented_control, _("View"), options, key="inside", required=True)
    hidden: frozenset[int] = frozenset()
    label, downloads = reading.called, _nothing
    if view == "picture":
        shown = patch_evidence.show(question, reading)
        label, downloads = shown.label, lambda: patch_evidence.download_patches(shown)
    elif view == "maps":
        downloads = attention_maps.show(question, reading)
    elif view == "hide":
        hidden, label, downloads = hidden_patches.show(question, reading)
    else:
        card = reading.classifier.card
        faithfulness_view.show(
            "vit", checkpoint=card, here=lambda: cached_results.curves(question, reading.called), unit=_("patches")
        )
    _take_away(question, reading, label=label, hidden=hidden, downloads=downloads)


def _nothing() -> None:
    """A view without downloads of its own."""


def _take_away(
    question: Question, reading: PictureAnalysis, *, label: int, hidden: frozenset[int], downloads: Callable[[], None]
) -> None:
    def arrays() -> bytes:
        importance = cached_results.evidence(question, label).importance
        if not hidden:
            return to_npz(reading, importance, label)
        mask = cached_results.hidden_mask(question, hidden)
        return to_npz(reading, importance, label, hidden=mask, answer=cached_results.hidden_answer(question, hidden))

    with st.container(horizontal=True, vertical_alignment="center"):
        controls.download_bytes(
            _("Picture and all arrays (.npz)"),
            arrays,
            key="vit_npz",
            filename="garment-attention.npz",
            mime="application/octet-stream",
        )
        downloads()
        st.page_link(
            "pages/images/classify.py",
            label=_("How this picture was prepared"),
            icon=":material/checkroom:",
            query_params=st.query_params.to_dict(),
        )
        picture_source.link_to_view()


classifier = pick_classifier()
if classifier is not None:
    try:
        body(classifier)
    except CheckpointError as error:
        controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
st.markdown(prose("classify_weights"))
with st.expander(_("How to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("garment_attention_reading"))
