"""Classify a garment: the model's answer on any picture with its reasons, and how the picture was prepared."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.figures.pictures import data_url, picture_png
from core.vision.analysis import PictureAnalysis
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe
from pages.images import cached_results, picture_source, preparation, ranking_panel
from pages.images.model_choice import chosen_classifier, pick_classifier, show_if_possible
from pages.images.picture_source import ChosenPicture
from pages.shared import controls
from pages.shared.language import _, ngettext, number, prose

controls.page_header(_("Classify a garment"), prose("classify_lead"))


def _table(chosen: ChosenPicture, recipe: Recipe) -> None:
    """The table of all pictures, each by the model for it and prepared by one recipe; choosing a row opens its picture below."""
    rows: list[tuple[Picture, PreparedPicture, PictureAnalysis]] = []
    for picture in controls.counted(chosen.all, _("Classifying…")):
        classifier = chosen_classifier(picture)
        prepared = cached_results.prepare(classifier, picture, replace(recipe, manner=classifier.manner))
        rows.append((picture, prepared, cached_results.analyse(classifier, prepared.image, prepared.unturned)))
    strange = sum(not (analysis.garment or prepared.empty) for _picture, prepared, analysis in rows)
    st.header(ngettext("{count} picture", "{count} pictures", len(rows)).format(count=number(len(rows))), anchor=False)
    if strange:
        caption = ngettext(
            "{count} of them does not look like a garment to the model.",
            "{count} of them do not look like garments to the model.",
            strange,
        )
        st.caption(caption.format(count=number(strange)))
    names = [_("Picture"), _("As the model sees it"), _("File"), _("Class"), _("Confidence"), _("Runner-up"), _("A garment?")]
    table = pd.DataFrame([_row(*row) for row in rows], columns=names)

    def selected() -> None:
        picked = st.session_state["classify_table"]["selection"]["rows"]
        if picked:
            st.session_state["picture"] = rows[picked[0]][0].id

    st.dataframe(
        table,
        hide_index=True,
        row_height=64,
        height=min(38 + 64 * len(rows), 560),
        on_select=selected,
        selection_mode="single-row",
        key="classify_table",
        column_config={
            names[0]: st.column_config.ImageColumn(names[0], width=90),
            names[1]: st.column_config.ImageColumn(names[1], width=90),
            names[4]: st.column_config.ProgressColumn(names[4], min_value=0.0, max_value=1.0, format="percent"),
        },
    )
    controls.download_table(
        _("All answers"), lambda: _for_file(rows), key="classify_answers", filename="garments", formats=("csv",)
    )


def _row(picture: Picture, prepared: PreparedPicture, analysis: PictureAnalysis) -> list[object]:
    first, second = analysis.ranking[:2]
    names = analysis.classifier.class_names
    shown = [
        data_url(picture_png(prepared.step("ground").image, side=96)),
        data_url(picture_png(prepared.image, side=56)),
        picture.name,
    ]
    if prepared.empty:
        return [*shown, _("Nothing to see"), None, None, None]
    return [
        *shown,
        _(names[first]),
        float(analysis.probabilities[first]),
        _(names[second]),
        _("Yes") if analysis.garment else _("It does not look like one"),
    ]


def _for_file(rows: list[tuple[Picture, PreparedPicture, PictureAnalysis]]) -> pd.DataFrame:
    """One row per picture with all probabilities; classes by the data set's names, none for a picture that shows nothing."""
    return pd.DataFrame(
        [
            {
                "file": picture.name,
                "class": None if prepared.empty else analysis.classifier.class_names[analysis.likeliest],
                "confidence": None if prepared.empty else analysis.probabilities[analysis.likeliest],
                "looks_like_a_garment": analysis.garment and not prepared.empty,
                "strangeness": analysis.strangeness,
                **{name: analysis.probabilities[i] for i, name in enumerate(analysis.classifier.class_names)},
            }
            for picture, prepared, analysis in rows
        ]
    )


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
    recipe = preparation.linked(classifier.manner)
    prepared = cached_results.prepare(classifier, chosen.picture, recipe)
    preparation.line(prepared)
    with answer:
        analysis = ranking_panel.show(classifier, chosen, prepared)
    if len(chosen.all) > 1:
        with table:
            _table(chosen, recipe)
    if not prepared.empty:
        with patches:
            ranking_panel.attention(analysis)
    picture_source.link_to_view()


show_if_possible(body)
with st.expander(_("How a picture is prepared, and why"), icon=":material/menu_book:"):
    st.markdown(prose("classify_reading"))
