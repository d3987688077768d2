"""The patches that the answer came from, drawn over the picture: by attention, rollout, relevance, gradients and occlusion.

The classify page and the attention page both show it; a link from one to the other keeps every choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd
import streamlit as st

from core.figures import pictures as figures
from core.vision.analysis import CLASS_TOKEN, PictureAnalysis, TokenShares
from core.vision.classifier import Classifier
from core.vision.evidence import shares_of
from pages.images import cached_results
from pages.shared import controls, url_state
from pages.shared.language import _, number, significant
from pages.shared.live_plot import Point, live_plot
from pages.shared.map_explorer import MEAN

CALLED = "called"
OF_A_CLASS: Final = ("relevance", "gradients", "occlusion")
"""Measures of one class; the other two are the same for every class, and are of one token."""
SIGNED: Final = ("gradients", "occlusion")
"""In units of probability: a patch may also have lowered it."""


@dataclass(frozen=True, kw_only=True)
class ShownPatches:
    """The drawn values: of which measure, and for which token or class."""

    look: str
    shares: TokenShares
    token: int
    label: int


def measures() -> dict[str, tuple[str, str]]:
    """Names of the measures and of their values, by the measure's code."""
    return {
        "attention": (_("Attention"), _("Weight")),
        "rollout": (_("Rollout"), _("Share")),
        "relevance": (_("Relevance"), _("Relevance")),
        "gradients": (_("Integrated gradients"), _("Attribution")),
        "occlusion": (_("Occlusion"), _("What it loses")),
    }


def show(analysis: PictureAnalysis) -> ShownPatches:
    """The measure's controls, the picture with its values, and its result as a sentence."""
    names = [_(name) for name in analysis.classifier.class_names]
    looks = {look: title for look, (title, _value) in measures().items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = url_state.choice(st.pills, _("Measure"), looks, key="look", required=True)
        layer, head = _pick_map(analysis) if look == "attention" else ("", None)
        label = pick_class(analysis) if look in OF_A_CLASS else analysis.likeliest
        token = CLASS_TOKEN if look in OF_A_CLASS else pick_token(analysis)
    left, right = st.columns([1, 1])
    shown = ShownPatches(look=look, shares=_shares(analysis, look, layer, head, token, label), token=token, label=label)
    with left:
        _picture(analysis, shown)
        st.caption(_sentence(analysis, shown, names[label]))
    with right:
        if look == "attention":
            _glance(analysis, layer, head, token)
        else:
            st.markdown(_explained(look))
    return shown


def _pick_map(analysis: PictureAnalysis) -> tuple[str, int | None]:
    layers = {str(i + 1): number(i + 1) for i in range(len(analysis.maps))}
    heads = {MEAN: _("Mean")} | {str(i + 1): number(i + 1) for i in range(analysis.heads)}
    layer = url_state.choice(st.selectbox, _("Layer"), layers, key="vlayer", default=str(len(layers)), width=110)
    head = url_state.choice(st.selectbox, _("Head"), heads, key="vhead", width=130)
    return list(analysis.maps)[int(layer) - 1], None if head == MEAN else int(head) - 1


def pick_class(analysis: PictureAnalysis) -> int:
    """The class to explain: the most probable, or any other."""
    names = [_(name) for name in analysis.classifier.class_names]
    options = {CALLED: _("The one called")} | {str(i): names[i] for i in analysis.ranking}
    label = url_state.choice(st.selectbox, _("Class"), options, key="garment", width=220)
    return analysis.likeliest if label == CALLED else int(label)


def token_name(token: int) -> str:
    """Name of the class token, or of a patch by its number."""
    return _("The class token") if token == CLASS_TOKEN else _("Patch {number}").format(number=number(token))


def pick_token(analysis: PictureAnalysis, label: str = "") -> int:
    """The token whose row is drawn: the class token, or a patch that was clicked."""
    tokens = {str(i): token_name(i) for i in range(analysis.grid**2 + 1)}
    words = label or _("Seen from (or click a patch)")
    return int(url_state.choice(st.selectbox, words, tokens, key="token", width=260))


def patch_clicked(point: Point, classifier: Classifier) -> int | None:
    """Number, from 1, of the patch that was clicked in a picture; None beside it."""
    if not (isinstance(point.x, float | int) and isinstance(point.y, float | int)):
        return None
    return 1 + figures.patch_at(point.x, point.y, patch=classifier.config.patch, grid=classifier.config.grid)


def take_token(point: Point, analysis: PictureAnalysis, token: int) -> None:
    """Choose the clicked patch as token; a second click on it chooses the class token again."""
    clicked = patch_clicked(point, analysis.classifier)
    if clicked is not None:
        st.session_state["token"] = str(CLASS_TOKEN if clicked == token else clicked)


def _shares(analysis: PictureAnalysis, look: str, layer: str, head: int | None, token: int, label: int) -> TokenShares:
    if look == "attention":
        return analysis.attention(layer, head, token)
    if look == "rollout":
        return analysis.rollout(token)
    if look == "relevance":
        return cached_results.relevance(analysis, label)
    if look == "occlusion":
        with controls.progress(_("Running the model once for each patch…")) as told:
            return shares_of(cached_results.losses(analysis, label, told=told))
    with controls.progress(_("Computing gradients between an empty picture and this one…")) as told:
        return shares_of(cached_results.evidence(analysis, label, told=told).importance[look])


def _picture(analysis: PictureAnalysis, shown: ShownPatches) -> None:
    look, token = shown.look, shown.token
    live_plot(
        figures.overlay_figure(
            analysis.image,
            shown.shares.patches,
            patch=analysis.classifier.config.patch,
            signed=look in SIGNED,
            outlined=token - 1 if token else None,
            value=measures()[look][1],
            height=420,
        ),
        key="classify_overlay",
        height=420,
        on_click=None if look in OF_A_CLASS else lambda point: take_token(point, analysis, token),
        filename=look,
        alt=_("The picture, each patch glowing by how much it counts."),
    )


def _glance(analysis: PictureAnalysis, layer: str, head: int | None, token: int) -> None:
    def clicked(point: Point) -> None:
        if ":" in point.trace:
            one, other = (int(part) + 1 for part in point.trace.split(":"))
            st.session_state["vlayer"], st.session_state["vhead"] = str(one), str(other)

    live_plot(
        figures.heads_figure(analysis.head_maps(token), chosen=(list(analysis.maps).index(layer), head)),
        key="classify_heads",
        height=420,
        on_click=clicked,
        filename="heads",
        alt=_("What every head of every layer looks at, in small; a click enlarges one."),
    )
    st.caption(_("Each from 0 to its own largest weight; a click takes that layer and head."))


def _sentence(analysis: PictureAnalysis, shown: ShownPatches, name: str) -> str:
    """The strongest patch as a sentence."""
    patches = shown.shares.patches
    place, worst = int(patches.argmax()) + 1, int(patches.argmin()) + 1
    value = significant(float(patches.max()))
    if shown.look == "relevance":
        return _("Patch {patch} speaks most for {name}: relevance {value}.").format(patch=place, name=name, value=value)
    if shown.look == "occlusion":
        return _occluded(name, place, float(patches.max()), worst, float(patches.min()))
    if shown.look == "gradients":
        return _(
            "Patch {patch} raised the probability of {name} most, by {value}; all patches together moved it by {sum} from what "
            "an empty picture has."
        ).format(patch=place, name=name, value=value, sum=significant(float(patches.sum())))
    even = significant(1 / (analysis.grid**2 + 1))
    words = (
        _("{who} looks most at patch {patch}, weight {value}; at all alike it would be {even}. It gives the class token {own}.")
        if shown.look == "attention"
        else _(
            "{who} has most from patch {patch}, share {value}; of all alike it would be {even}. Of the class token it has {own}."
        )
    )
    who, own = token_name(shown.token), significant(shown.shares.class_token)
    return words.format(who=who, patch=place, value=value, even=even, own=own)


def _occluded(name: str, place: int, most: float, worst: int, least: float) -> str:
    if most <= 0:
        return _("There is no patch without which {name} would be less probable.").format(name=name)
    words = _("Without patch {patch} the probability of {name} falls most, by {value}.").format(
        patch=place, name=name, value=significant(most)
    )
    if least < 0:
        words += " " + _("Without patch {patch} it rises most, by {value}.").format(patch=worst, value=significant(-least))
    return words


def _explained(look: str) -> str:
    if look == "rollout":
        return _(
            "The mean attention of each layer, half of it replaced by the residual connection, multiplied from the first layer "
            "to the last (Abnar and Zuidema 2020). It follows mixing alone: the same for every class, and blind to what value "
            "matrices and feed-forward networks do."
        )
    if look == "relevance":
        return _(
            "Each layer's weights times the gradients of the class's logit at them, what is negative left out, averaged over "
            "heads and added up through the layers (Chefer et al. 2021). It depends on the class: choose another and see what "
            "would speak for it."
        )
    if look == "gradients":
        return _(
            "The gradient of the class's probability at every pixel, integrated on the straight way from an empty picture to "
            "this one and summed over each patch (Sundararajan et al. 2017). Blue raised the probability, orange lowered it; all "
            "patches together make the whole difference. It uses no attention weight."
        )
    return _(
        "Each patch in turn is replaced by empty background and the model asked again: what the class's probability loses is the "
        "patch's value (Zeiler and Fergus 2014). Blue: the patch spoke for the class; orange: against it. It needs no gradient "
        "and no attention weight, but hides one patch at a time: where two patches say the same, neither seems to matter."
    )


def download_patches(shown: ShownPatches) -> None:
    """The values over the picture as a table."""

    def table() -> pd.DataFrame:
        patches = shown.shares.patches
        return pd.DataFrame(patches, columns=[f"column {i + 1}" for i in range(patches.shape[1])])

    controls.download_table(
        _("Values of the patches"), table, key="classify_map", filename=f"patches-{shown.look}", formats=("csv",)
    )
