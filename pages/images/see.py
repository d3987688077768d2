"""Any photograph: lit by what a network says stands out in it, with its 72 heads, what is like a patch, and the parts of it."""

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from attention_light import AttentionScene, PictureStage
from core.messages import translate
from core.vision import seen_samples
from core.vision.pictures import Picture
from core.vision.sight import MEASURE, SeenPicture, pair_scene
from core.vision.sight_files import SIGHT_CARD, SIGHT_FILES
from pages.images import cached_sight, given_photograph
from pages.images.given_photograph import PHOTO, SET
from pages.shared import controls, erased, url_state
from pages.shared.attention_view import attention_view, stage_place
from pages.shared.faithfulness_view import draw_faithfulness
from pages.shared.language import _, ngettext, number, percent, prose

SIDES: Final = (224, 336, 448)
"""Pixels along a side to choose from: 16, 24 and 32 patches."""
RUBBED_OUT: Final = "hide_seen"
OTHER: Final = "beside"
"""Parameter that names the photograph beside the first."""


def in_language(scene: AttentionScene, answer: str = "") -> AttentionScene:
    """The scene with an answer, and names of layers, tokens and the measure for readers."""
    assert isinstance(scene.stage, PictureStage)
    layers = {one.name: _("Layer {number}").format(number=one.name.split()[-1]) for one in scene.layers}
    names = [_("the class token") for _name in scene.stage.extra]
    stage = replace(scene.stage, extra=names, patch=_("the patch in row {row}, column {column}"))
    return scene.worded(stage=stage, titles=layers | {MEASURE: _("What stands out")}, answer=answer)


def sentence(seen: SeenPicture) -> str:
    """Sentence on what stands out."""
    return _("{share} of the picture stands out").format(share=percent(seen.standing_out, 0))


def without(seen: SeenPicture, whole: SeenPicture, hidden: list[int]) -> None:
    """Share that stands out of the rest, beside that of the whole."""
    line = ngettext(
        "Without {count} patch **{share}** of the picture stands out, of the whole {before}.",
        "Without {count} patches **{share}** of the picture stands out, of the whole {before}.",
        len(hidden),
    ).format(count=number(len(hidden)), share=percent(seen.standing_out), before=percent(whole.standing_out))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(line)
        erased.bring_back(RUBBED_OUT)


def beside(first: Picture) -> None:
    """A second photograph beside the first: what is like the patch that is pressed, in both."""
    names = {name: _(title) for name, title in seen_samples.NAMES.items()}
    chosen = url_state.choice(st.segmented_control, _("The photograph beside it"), names, key=OTHER)
    seen = [cached_sight.read(one, SIDES[0]) for one in (first, seen_samples.sample(chosen))]
    attention_view(in_language(pair_scene(*seen)), key="pair")


def body() -> None:
    """The page where the network is set up."""
    picture = given_photograph.pick()
    if picture is None:
        return
    patches = {str(side): _("{count} x {count} patches").format(count=number(side // 14)) for side in SIDES}
    hidden = [one for one in erased.rubbed_out(RUBBED_OUT, (SIDES[-1] // 14) ** 2 + 1, of=picture.id) if one]
    room = stage_place()
    first = str(cached_sight.FIRST_SIDE)
    side = int(url_state.choice(st.segmented_control, _("Patches"), patches, key="side", default=first))
    whole = cached_sight.read(picture, side)
    hidden = [one for one in hidden if one < len(whole.tokens)]
    seen = cached_sight.read(picture, side, tuple(hidden)) if hidden else whole
    with room:
        scene = in_language(cached_sight.scene(picture, side, tuple(hidden)), sentence(seen))
        attention_view(scene, key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT))
        if hidden:
            without(seen, whole, hidden)
    views: controls.Views = {
        "none": (_("Nothing more"), lambda: None),
        "pair": (_("Two photographs"), partial(beside, picture)),
        "truth": (_("Is it telling the truth?"), partial(draw_faithfulness, "sight", card=SIGHT_CARD, unit=_("patches"))),
        "reading": (_("How to read this page"), partial(st.markdown, prose("see_reading"))),
    }
    controls.below(views, key="seen_below")
    if same := {name: st.query_params[name] for name in (SET, PHOTO) if name in st.query_params}:
        query = {"from": "upload", **same} if SET in same else same
        st.page_link("pages/images/classify.py", label=_("Is it a garment?"), icon=":material/checkroom:", query_params=query)
    controls.link_to_view()


if SIGHT_FILES.available():
    body()
else:
    controls.page_header(_("Any photograph"))
    controls.notice("empty", controls.as_sentence(translate(SIGHT_FILES.missing)))
