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
    answer = controls.reserved("classify_answer")  # what is asked first stands first; what it is asked about is chosen below
    chosen = picture_source.pick()
    if chosen is None:
        with answer:
            controls.notice("empty", _("No picture is chosen yet: give one below, or take a photograph of the app's."))
        picture_source.link_to_view()
        return
    table, patches = st.container(), st.container()
    classifier = pick_classifier(chosen.picture)
    shown = preparation.show(chosen.picture, classifier)
    if shown is not None:
        recipe, prepared = shown
        with answer:
            analysis = ranking_panel.show(classifier, chosen, prepared)
        if len(chosen.all) > 1:
            with table:
                batch_table.show(chosen, recipe)
        if not prepared.empty:
            with patches:
                ranking_panel.attention(analysis, prepared)
    picture_source.link_to_view()


show_if_possible(body)
with st.expander(_("How a picture is prepared, and why"), icon=":material/menu_book:"):
    st.markdown(prose("classify_reading"))
