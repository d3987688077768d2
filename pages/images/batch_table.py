"""Several pictures at once: a table with thumbnails, to sort, to choose from and to take away."""

from __future__ import annotations

import base64

import pandas as pd
import streamlit as st

from core.figures.pictures import picture_png
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe
from pages.images import cached_results
from pages.images.class_names import garment
from pages.images.picture_source import ChosenPicture
from pages.shared import controls
from pages.shared.language import _, ngettext, number


def show(classifier: Classifier, chosen: ChosenPicture, recipe: Recipe) -> None:
    """The table, all prepared by one recipe; a row's choice opens that picture below."""
    bar = st.progress(0.0, text=_("Classifying…"))
    rows: list[tuple[Picture, PreparedPicture, PictureAnalysis]] = []
    for done, picture in enumerate(chosen.all):
        prepared = cached_results.prepared(picture, recipe)
        rows.append((picture, prepared, cached_results.read(cached_results.ask(classifier, prepared.image))))
        bar.progress((done + 1) / len(chosen.all), text=_("Classifying…"))
    bar.empty()
    strange = sum(not reading.garment for _picture, _prepared, reading in rows)
    st.subheader(ngettext("{count} picture", "{count} pictures", len(rows)).format(count=number(len(rows))), anchor=False)
    if strange:
        words = ngettext(
            "{count} of them does not look like a garment to the model.",
            "{count} of them do not look like garments to the model.",
            strange,
        )
        st.caption(words.format(count=number(strange)))
    names = [_("Picture"), _("As the model sees it"), _("File"), _("Class"), _("Confidence"), _("Runner-up"), _("A garment?")]
    table = pd.DataFrame([_row(classifier, *row) for row in rows], columns=names)

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
        _("All answers"), lambda: _for_file(classifier, rows), key="classify_answers", filename="garments", formats=("csv",)
    )


def _row(classifier: Classifier, picture: Picture, prepared: PreparedPicture, reading: PictureAnalysis) -> list[object]:
    first, second = reading.ranking[:2]
    names = classifier.class_names
    return [
        _url(picture_png(prepared.step("ground").image, side=96)),
        _url(picture_png(prepared.image, side=56)),
        picture.name,
        garment(names[first]),
        float(reading.probabilities[first]),
        garment(names[second]),
        _("Yes") if reading.garment else _("It does not look so"),
    ]


def _url(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _for_file(classifier: Classifier, rows: list[tuple[Picture, PreparedPicture, PictureAnalysis]]) -> pd.DataFrame:
    """One row a picture, with all probabilities, names as the data set has them."""
    return pd.DataFrame(
        [
            {
                "file": picture.name,
                "class": classifier.class_names[reading.called],
                "confidence": reading.probabilities[reading.called],
                "looks_like_a_garment": reading.garment,
                "strangeness": reading.strangeness,
                **{name: reading.probabilities[i] for i, name in enumerate(classifier.class_names)},
            }
            for picture, _prepared, reading in rows
        ]
    )
