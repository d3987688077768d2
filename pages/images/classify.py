"""Garments: a picture on the stage, lit by what its answer came from, with every layer and head of the model that read it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from attention_light import AttentionScene, LayerMaps, PictureStage
from core.checkpoints import CheckpointError
from core.explain import faithfulness
from core.explain.faithfulness import FindingError
from core.vision.analysis import CLASS_TOKEN, PictureAnalysis
from core.vision.evidence import image_without, over_tokens
from core.vision.preprocessing import PreparedPicture
from pages.images import cached_results, fool_it, picture_source, preparation, ranking_panel, tokens, training
from pages.images.model_choice import model_line, pick_classifier
from pages.images.picture_source import ChosenPicture
from pages.shared import controls
from pages.shared.attention_view import attention_view
from pages.shared.faithfulness_view import draw_faithfulness
from pages.shared.language import _, number, percent, prose

SEE = "pages/images/see.py"
MEASURES = ("relevance", "occlusion")
"""Measures of the answer that a picture is lit by: gradient relevance takes no time, occlusion a third of a second."""


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
    with controls.progress(_("Asking again without one part after another…")) as report:
        found["occlusion"] = over_tokens(cached_results.losses(analysis, label, report=report))
    first = best_measure(analysis.classifier.card)
    order = [first, *(name for name in MEASURES if name != first)]
    stage = PictureStage(
        pixels=prepared.square if analysis.classifier.manner == "photograph" else prepared.image,
        grid=(analysis.grid, analysis.grid),
        extra=[_("the class token")],
        patch=_("the patch in row {row}, column {column}"),
    )
    return AttentionScene(
        stage=stage,
        layers=[LayerMaps(name=name, weights=weights, formula="vit-attention") for name, weights in analysis.maps.items()],
        start=CLASS_TOKEN,
        measures={name: found[name] for name in order},
        titles=titles(analysis),
        answer=f"{_(analysis.classifier.class_names[label])} {percent(float(analysis.shares[label]))}",
    )


def below(
    chosen: ChosenPicture, analysis: PictureAnalysis, prepared: PreparedPicture, rest: PictureAnalysis, hidden: list[int]
) -> None:
    """Views of what lies behind the answer, one at a time; `rest` is what is left without the hidden patches."""
    model = analysis.classifier
    texts = prose("classify_weights", "garment_attention_reading", "classify_reading")
    views: controls.Views = {
        "ranking": (_("All ten kinds"), partial(ranking_panel.draw_ranking, analysis, chosen, prepared)),
        "hide": (_("Fool it"), partial(fool_it.draw_fooling, analysis, rest, hidden)),
        "tokens": (_("Patches to tokens"), partial(tokens.draw_steps, model, prepared.image)),
        "truth": (_("Is it telling the truth?"), partial(draw_faithfulness, "vit", card=model.card, unit=_("patches"))),
        "training": (_("Training run"), partial(training.draw_training, model)),
        "reading": (_("How to read this page"), partial(st.markdown, texts)),
    }
    controls.below(views, key=fool_it.INSIDE)
    controls.link_to_view(keeps=picture_source.SET)


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
        controls.link_to_view(keeps=picture_source.SET)
        return
    with models:
        classifier = pick_classifier(chosen.picture)
    recipe = preparation.linked(classifier.manner)
    prepared = cached_results.prepare(classifier, chosen.picture, recipe)
    analysis = cached_results.analyse(classifier, prepared.image, prepared.unturned)
    hidden = fool_it.hidden_now(analysis)
    rest = cached_results.analyse(classifier, image_without(analysis, hidden)) if hidden else analysis
    if not prepared.empty:
        with answer:
            ranking_panel.headline(rest, chosen)
        scene = replace(
            scene_of(rest, prepared), corner=fool_it.change(analysis, rest, hidden).corner(cached_results.needed.find(analysis))
        )
        photograph = classifier.manner == "photograph"
        attention_view(
            scene,
            key="light",
            erased=hidden,
            on_erase=fool_it.rub_out,
            arms=fool_it.is_open(),
            on_keep=preparation.press if photograph else None,
        )
        if photograph:
            preparation.point(classifier, prepared, recipe)
    ranking_panel.warnings(analysis, prepared)
    if not analysis.garment and (same := picture_source.in_address()):
        st.page_link(
            SEE, label=_("Any photograph: the network that sees anything"), icon=":material/visibility:", query_params=same
        )
    if not prepared.empty:
        model_line(classifier, chosen.picture)
    if chosen.truth is None:
        st.caption(picture_source.description(chosen.picture))
    preparation.line(prepared)
    if prepared.empty:
        controls.link_to_view(keeps=picture_source.SET)
    else:
        below(chosen, analysis, prepared, rest, hidden)


try:
    if cached_results.model_names():
        body()
    else:
        controls.notice("empty", _("There is no such model here: whoever runs this server may train one (see the README)."))
except CheckpointError as error:
    controls.no_checkpoint(error)
