"""Garments: a picture on the stage, lit by what its answer came from, with every layer and head of the model that read it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from core.explain import faithfulness
from core.explain.faithfulness import FindingError
from core.explain.scene import AttentionScene, LayerMaps, PictureStage
from core.figures.pictures import data_url, picture_png
from core.vision.analysis import CLASS_TOKEN, PictureAnalysis
from core.vision.evidence import mask_of, shares_of, to_npz
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe
from pages.images import cached_results, fool_it, picture_source, preparation, ranking_panel, tokens
from pages.images.model_choice import chosen_classifier, model_line, pick_classifier, show_if_possible
from pages.images.picture_source import ChosenPicture
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.attention_view import attention_view
from pages.shared.language import _, ngettext, number, percent, prose

MEASURES = ("relevance", "occlusion")
"""Measures of the answer that a picture is lit by: gradient relevance takes no time, occlusion a quarter of a second."""


def titles(analysis: PictureAnalysis) -> dict[str, str]:
    """Names of the layers and the measures for readers."""
    layers = {name: _("Layer {number}").format(number=number(i)) for i, name in enumerate(analysis.maps, 1)}
    return layers | {"relevance": _("Gradient relevance"), "occlusion": _("Occlusion")}


def best_measure(card: dict[str, Any]) -> str:
    """The one of `MEASURES` that reached furthest below chance in the deletion test of a model (D38)."""
    try:
        finding = faithfulness.read(str(card["name"]), folder=faithfulness.FOLDER)
    except FindingError:
        finding = None
    if finding is None:
        return MEASURES[0]
    return max(MEASURES, key=lambda name: finding.verdicts[name].gain)


def scene_of(analysis: PictureAnalysis, prepared: PreparedPicture) -> AttentionScene:
    """The picture as the model reads it, its maps, and what counted for the answer."""
    label = analysis.likeliest
    found = {"relevance": cached_results.relevance(analysis, label)}
    with controls.progress(_("Running the model once for each patch…")) as report:
        found["occlusion"] = shares_of(cached_results.losses(analysis, label, report=report))
    first = best_measure(analysis.classifier.card)
    order = [first, *(name for name in MEASURES if name != first)]
    stage = PictureStage(
        pixels=prepared.step("pad").image if analysis.classifier.manner == "photograph" else prepared.image,
        grid=(analysis.grid, analysis.grid),
        extra=[_("the class token")],
        patch=_("the patch in row {row}, column {column}"),
    )
    return AttentionScene(
        stage=stage,
        layers=[LayerMaps(name=name, weights=weights, formula="vit-attention") for name, weights in analysis.maps.items()],
        start=CLASS_TOKEN,
        measures={name: found[name].row for name in order},
        titles=titles(analysis),
        answer=f"{_(analysis.classifier.class_names[label])} {percent(float(analysis.shares[label]))}",
    )


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
        float(analysis.shares[first]),
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
                "confidence": None if prepared.empty else analysis.shares[analysis.likeliest],
                "looks_like_a_garment": analysis.garment and not prepared.empty,
                "strangeness": analysis.strangeness,
                **{name: analysis.shares[i] for i, name in enumerate(analysis.classifier.class_names)},
                "none": analysis.none,
            }
            for picture, prepared, analysis in rows
        ]
    )


def below(chosen: ChosenPicture, analysis: PictureAnalysis, prepared: PreparedPicture) -> None:
    """Views of what lies behind the answer, one at a time."""
    views = {
        "ranking": _("All ten kinds"),
        "hide": _("Fool it"),
        "tokens": _("Patches to tokens"),
        "truth": _("Is it telling the truth?"),
        "reading": _("How to read this page"),
    }
    view = url_state.choice(st.segmented_control, _("Below"), views, key=fool_it.INSIDE, required=True)
    hidden: frozenset[int] = frozenset()
    if view == "ranking":
        ranking_panel.draw_ranking(analysis, chosen, prepared)
    elif view == "hide":
        hidden, downloads = fool_it.draw_fooling(analysis, chosen.name)
        downloads()
    elif view == "tokens":
        tokens.draw_steps(analysis.classifier, prepared.image)
    elif view == "truth":
        faithfulness_view.draw_faithfulness(
            "vit",
            checkpoint=analysis.classifier.card,
            here=lambda report: cached_results.deletion_curves(analysis, analysis.likeliest, report=report),
            unit=_("patches"),
        )
    else:
        for text in ("classify_weights", "garment_attention_reading", "classify_reading"):
            st.markdown(prose(text))
    _take_away(analysis, hidden)


def _take_away(analysis: PictureAnalysis, hidden: frozenset[int]) -> None:
    """The picture and all arrays as a file, and a link to the view."""
    label = analysis.likeliest

    def arrays() -> bytes:
        importance = cached_results.evidence(analysis, label).importance
        if not hidden:
            return to_npz(analysis, importance, label)
        mask = mask_of(hidden, analysis.grid**2)
        return to_npz(analysis, importance, label, hidden=mask, answer=cached_results.hidden_answer(analysis, hidden))

    with st.container(horizontal=True, vertical_alignment="center"):
        controls.download_bytes(
            _("Picture and all arrays (.npz)"),
            arrays,
            key="vit_npz",
            filename="garment-attention.npz",
            mime="application/octet-stream",
        )
        picture_source.link_to_view()


def body() -> None:
    """The page where there is a model."""
    top = st.container(key="classify_top")
    heading, answer, samples, given = top.columns([1, 1.5, 2.6, 2.6], vertical_alignment="center")
    with heading:
        controls.page_header(_("Garments"))
    with given.container(key="classify_given", horizontal=True, vertical_alignment="center"):  # a phone's lower edge
        own = st.container(horizontal=True, width="content")
        popover = st.popover(_("Picture and model"), icon=":material/tune:", width="content")
    stage = st.container()
    with popover:
        paste, models = st.container(), st.container()
        chosen = picture_source.pick(own, paste, stage)
    picture_source.samples(samples.container(horizontal=True, key="classify_samples"))
    if chosen is None and st.session_state["from"] == "camera":
        return
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a photograph of the app's."))
        picture_source.link_to_view()
        return
    with models:
        classifier = pick_classifier(chosen.picture)
    recipe = preparation.linked(classifier.manner)
    prepared = cached_results.prepare(classifier, chosen.picture, recipe)
    analysis = cached_results.analyse(classifier, prepared.image, prepared.unturned)
    if not prepared.empty:
        with answer:
            ranking_panel.headline(analysis, chosen)
        hidden = sorted(fool_it.hidden_now(analysis))
        attention_view(scene_of(analysis, prepared), key="light", erased=hidden, on_erase=fool_it.rub_out)
    ranking_panel.warnings(analysis, prepared)
    model_line(classifier, chosen.picture)
    if chosen.truth is None:
        st.caption(picture_source.description(chosen.picture))
    preparation.line(prepared)
    if len(chosen.all) > 1:
        _table(chosen, recipe)
    if prepared.empty:
        picture_source.link_to_view()
    else:
        below(chosen, analysis, prepared)


show_if_possible(body)
