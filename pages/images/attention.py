"""What the ViT looks at: measures over the picture, all maps, patches to hide, and whether the measures tell the truth."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.checkpoints import CheckpointError
from core.vision.arrays_file import to_npz
from core.vision.classifier import Classifier
from core.vision.reading import Reading
from pages.images import answer, answers, attends, attention_hide, attention_maps, source, steps
from pages.images.answers import Question
from pages.images.model import pick_classifier
from pages.shared import controls, truth, url_state
from pages.shared.language import _, prose

controls.page_header(_("What the ViT looks at"), prose("garment_attention_lead"))


def body(classifier: Classifier) -> None:
    """The page, once there is a model."""
    chosen = source.pick_folded()
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a test image."))
        return
    prepared = answers.prepared(chosen.picture, steps.linked())
    question = answers.ask(classifier, prepared.image)
    reading = answers.read(question)
    st.caption(chosen.name)
    answer.headline(reading, chosen, prepared)
    views(question, reading)


@st.fragment
def views(question: Question, reading: Reading) -> None:
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
        shown = attends.show(question, reading)
        label, downloads = shown.label, lambda: attends.download_patches(shown)
    elif view == "maps":
        downloads = attention_maps.show(question, reading)
    elif view == "hide":
        hidden, label, downloads = attention_hide.show(question, reading)
    else:
        card = reading.classifier.card
        truth.show("vit", checkpoint=card, here=lambda: answers.curves(question, reading.called), unit=_("patches"))
    _take_away(question, reading, label=label, hidden=hidden, downloads=downloads)


def _nothing() -> None:
    """A view without downloads of its own."""


def _take_away(
    question: Question, reading: Reading, *, label: int, hidden: frozenset[int], downloads: Callable[[], None]
) -> None:
    def arrays() -> bytes:
        importance = answers.evidence(question, label).importance
        if not hidden:
            return to_npz(reading, importance, label)
        mask = answers.hidden_mask(question, hidden)
        return to_npz(reading, importance, label, hidden=mask, answer=answers.hidden_answer(question, hidden))

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
        source.link_to_view()


classifier = pick_classifier()
if classifier is not None:
    try:
        body(classifier)
    except CheckpointError as error:
        controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
st.markdown(prose("classify_weights"))
with st.expander(_("How to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("garment_attention_reading"))
