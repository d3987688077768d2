"""The answer: the class and how sure, all ten ranked, and which patches it came from by three measures."""

from __future__ import annotations

from typing import cast

import pandas as pd
import streamlit as st

from core.figures import pictures as figures
from core.vision.classifier import Classifier
from core.vision.preprocessing import Prepared
from core.vision.reading import CLASS_TOKEN, Look, Reading, Shares
from pages.images import answers
from pages.images.answers import Question
from pages.images.garment_words import garment
from pages.images.source import Chosen
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, prose, significant
from pages.shared.live_plot import Point, live_plot

MEAN = "mean"
CALLED = "called"


def show(classifier: Classifier, chosen: Chosen, prepared: Prepared) -> None:
    """The whole answer on one picture."""
    question = answers.ask(classifier, prepared.image)
    reading = answers.read(question)
    names = [garment(name) for name in classifier.class_names]
    _headline(reading, names, chosen, prepared)
    left, right = st.columns([2, 3])
    with left:
        live_plot(
            figures.overlay_figure(prepared.image, None, patch=classifier.config.patch, height=330, _=_),
            key="classify_patches",
            height=330,
            filename="patches",
            alt=_("What the model reads, 28 x 28 grey levels, cut into its patches."),
        )
    with right:
        live_plot(
            figures.ranking_figure(names, reading.probabilities, write=percent, _=_),
            key="classify_ranking",
            height=330,
            filename="ranking",
            alt=_("All ten classes by their probability, the most probable first."),
        )
    look, shares = _attends(question, reading, names)
    st.markdown(prose("classify_weights"))
    with st.container(horizontal=True):
        controls.download_table(
            _("Ranking"), lambda: _ranking(reading), key="classify_ranked", filename="ranking", formats=("csv",)
        )
        controls.download_table(
            _("Values of the patches"), lambda: _patches(shares), key="classify_map", filename=f"patches-{look}", formats=("csv",)
        )


def _headline(reading: Reading, names: list[str], chosen: Chosen, prepared: Prepared) -> None:
    confidence = float(reading.probabilities[reading.called])
    name = names[reading.called]
    if prepared.blank:
        controls.notice("empty", _("Nothing stands out from the background, so there is no garment to crop to."))
    if not reading.garment:
        controls.notice(
            "stale",
            _(
                "This does not look like a garment to me: its strangeness is {value}, above the {limit} that 99 % of real "
                "garments stay under. The classes below are the nearest I know, no more."
            ).format(value=number(reading.strangeness, 2), limit=number(reading.classifier.threshold, 2)),
        )
    with st.container(key="classify_headline"):
        st.subheader(name if reading.garment else _("{name}, perhaps").format(name=name), anchor=False)
        words = _("Confidence {share}").format(share=percent(confidence))
        if chosen.truth is not None:
            right = chosen.truth == reading.called
            truth = names[chosen.truth]
            words += " · " + (_("as labelled") if right else _("wrong: it is labelled {truth}").format(truth=truth))
        st.progress(min(max(confidence, 0.0), 1.0), text=words)


def _attends(question: Question, reading: Reading, names: list[str]) -> tuple[Look, Shares]:
    """The maps; which measure is shown, and its values."""
    st.subheader(_("What it attends to"), anchor=False)
    looks = {
        "attention": _("Attention"),
        "rollout": _("Rollout"),
        "relevance": _("Relevance"),
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = cast(Look, url_state.choice(st.segmented_control, _("Measure"), looks, key="look", required=True))
        layer, head = _pick_map(reading) if look == "attention" else ("", None)
        label = _pick_class(reading, names) if look == "relevance" else reading.called
        token = _pick_token(reading) if look != "relevance" else CLASS_TOKEN
    left, right = st.columns([1, 1])
    shares = _shares(question, reading, look, layer, head, token, label)
    with left:
        _picture(reading, shares, look, token)
        st.caption(_sentence(reading, shares, look, token, names[label]))
    with right:
        if look == "attention":
            _glance(reading, layer, head, token)
        else:
            st.markdown(_explained(look))
    return look, shares


def _pick_map(reading: Reading) -> tuple[str, int | None]:
    layers = {str(i + 1): number(i + 1) for i in range(len(reading.maps))}
    heads = {MEAN: _("Mean")} | {str(i + 1): number(i + 1) for i in range(reading.heads)}
    layer = url_state.choice(st.selectbox, _("Layer"), layers, key="vlayer", default=str(len(layers)), width=110)
    head = url_state.choice(st.selectbox, _("Head"), heads, key="vhead", width=130)
    return list(reading.maps)[int(layer) - 1], None if head == MEAN else int(head) - 1


def _pick_class(reading: Reading, names: list[str]) -> int:
    options = {CALLED: _("The one called")} | {str(i): names[i] for i in reading.ranking}
    label = url_state.choice(st.selectbox, _("Class"), options, key="garment", width=220)
    return reading.called if label == CALLED else int(label)


def _pick_token(reading: Reading) -> int:
    """The token whose view is drawn: the class token, or a patch that was clicked."""
    tokens = {"0": _("The class token")} | {
        str(i): _("Patch {number}").format(number=number(i)) for i in range(1, reading.grid**2 + 1)
    }
    return int(url_state.choice(st.selectbox, _("Seen from (or click a patch)"), tokens, key="token", width=260))


def _shares(question: Question, reading: Reading, look: Look, layer: str, head: int | None, token: int, label: int) -> Shares:
    if look == "attention":
        return reading.attention(layer, head, token)
    return reading.rolled(token) if look == "rollout" else answers.relevance(question, label)


def _picture(reading: Reading, shares: Shares, look: Look, token: int) -> None:
    patch = reading.classifier.config.patch
    values = {"attention": _("Weight"), "rollout": _("Share"), "relevance": _("Relevance")}

    def clicked(point: Point) -> None:
        if isinstance(point.x, float | int) and isinstance(point.y, float | int):
            number = 1 + figures.patch_at(point.x, point.y, patch=patch, grid=reading.grid)
            st.session_state["token"] = "0" if number == token else str(number)

    live_plot(
        figures.overlay_figure(
            reading.image, shares.patches, patch=patch, outlined=token - 1 if token else None, value=values[look], height=420, _=_
        ),
        key="classify_overlay",
        height=420,
        on_click=clicked if look != "relevance" else None,
        filename=f"{look}",
        alt=_("The picture, each patch glowing by how much it counts."),
    )


def _glance(reading: Reading, layer: str, head: int | None, token: int) -> None:
    def clicked(point: Point) -> None:
        if ":" in point.trace:
            one, other = (int(part) + 1 for part in point.trace.split(":"))
            st.session_state["vlayer"], st.session_state["vhead"] = str(one), str(other)

    live_plot(
        figures.heads_figure(reading.glance(token), chosen=(list(reading.maps).index(layer), head), _=_),
        key="classify_heads",
        height=420,
        on_click=clicked,
        filename="heads",
        alt=_("What every head of every layer looks at, in small; a click enlarges one."),
    )
    st.caption(_("Each from 0 to its own largest weight; a click takes that layer and head."))


def _sentence(reading: Reading, shares: Shares, look: Look, token: int, name: str) -> str:
    """The strongest patch in words."""
    best = shares.patches.argmax()
    place = int(best) + 1
    value = significant(float(shares.patches.max()))
    even = significant(1 / (reading.grid**2 + 1))
    if look == "relevance":
        return _("Patch {patch} speaks most for {name}: relevance {value}.").format(patch=place, name=name, value=value)
    who = _("The class token") if token == CLASS_TOKEN else _("Patch {number}").format(number=token)
    words = (
        _("{who} looks most at patch {patch}, weight {value}; at all alike it would be {even}. It gives the class token {own}.")
        if look == "attention"
        else _(
            "{who} has most from patch {patch}, share {value}; of all alike it would be {even}. Of the class token it has {own}."
        )
    )
    return words.format(who=who, patch=place, value=value, even=even, own=significant(shares.class_token))


def _explained(look: Look) -> str:
    if look == "rollout":
        return _(
            "The mean attention of each layer, half of it replaced by the residual connection, multiplied from the first layer "
            "to the last (Abnar and Zuidema 2020). It follows mixing alone: the same for every class, and blind to what value "
            "matrices and feed-forward networks do."
        )
    return _(
        "Each layer's weights times the gradients of the class's logit at them, what is negative left out, averaged over heads "
        "and added up through the layers (Chefer et al. 2021). It depends on the class: choose another and see what would speak "
        "for it."
    )


def _ranking(reading: Reading) -> pd.DataFrame:
    names = reading.classifier.class_names
    return pd.DataFrame(
        {"class": [names[i] for i in reading.ranking], "probability": [reading.probabilities[i] for i in reading.ranking]}
    )


def _patches(shares: Shares) -> pd.DataFrame:
    return pd.DataFrame(shares.patches, columns=[f"column {i + 1}" for i in range(shares.patches.shape[1])])
