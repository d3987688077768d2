"""Classify a garment: any picture in, what the ViT makes of it and why; and how the picture became what the model reads."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from core.checkpoints import CheckpointError
from core.vision.classifier import Classifier
from pages.images import answer, many, source, steps
from pages.images.model import pick_classifier
from pages.shared import controls
from pages.shared.language import _, prose

controls.page_header(_("Classify a garment"), prose("classify_lead"))


def body(classifier: Classifier) -> None:
    """The page, once there is a model."""
    chosen = source.pick()
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a test image."))
        return
    result = st.container()
    shown = steps.show(chosen.picture)
    if shown is None:
        return
    recipe, prepared = shown
    with result:
        if len(chosen.all) > 1:
            many.show(classifier, chosen, recipe)
        answer.show(classifier, chosen, prepared)
    with st.popover(_("Link to this view"), icon=":material/link:"):
        st.code(f"{st.context.url or ''}?{urlencode(st.query_params.to_dict())}", language=None, wrap_lines=True)
        if source.SET in st.query_params:
            st.caption(_("A picture of your own lasts as long as the app runs, the newest few of them."))


classifier = pick_classifier()
if classifier is not None:
    try:
        body(classifier)
    except CheckpointError as error:
        controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
with st.expander(_("How a picture is prepared, and why so"), icon=":material/menu_book:"):
    st.markdown(prose("classify_reading"))
