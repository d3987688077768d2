"""Classify a garment: the model's answer on any picture with its reasons, and each step of the picture's preparation."""

from __future__ import annotations

import streamlit as st

from pages.images import batch_table, picture_source, preparation, ranking_panel
from pages.images.model_choice import pick_classifier, show_if_possible
from pages.shared import controls
from pages.shared.language import _, prose

controls.page_header(_("Classify a garment"), prose("classify_lead"))


def body() -> None:
    """The page where there is a model."""
    chosen = picture_source.pick()
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a test image."))
        picture_source.link_to_view()
        return
    result = st.container()
    classifier = pick_classifier(chosen.picture)  # below the answer, which the usual choice has already given
    shown = preparation.show(chosen.picture, classifier)
    if shown is not None:
        recipe, prepared = shown
        with result:
            if len(chosen.all) > 1:
                batch_table.show(chosen, recipe)
            analysis = ranking_panel.show(classifier, chosen, prepared)
        if not prepared.empty:
            ranking_panel.attention(analysis)
    picture_source.link_to_view()


show_if_possible(body)
with st.expander(_("How a picture is prepared, and why"), icon=":material/menu_book:"):
    st.markdown(prose("classify_reading"))
