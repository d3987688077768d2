"""The answer on one picture: its class and ranking beside it, garment by garment; then the patches that it came from."""

import streamlit as st

from core.figures import pictures as figures
from core.vision.analysis import PictureAnalysis
from core.vision.lit_answer import percent_edges
from core.vision.preprocessing import SIDE, PreparedPicture
from pages.images import preparation
from pages.images.named_garments import garment_words
from pages.images.picture_source import ChosenPicture
from pages.shared import controls
from pages.shared.language import _, number, percent
from pages.shared.live_plot import live_plot

HEIGHT, WIDTH = 270, 420
"""Room for the picture, pixels."""
SAID = 0.1
"""Probability of "none of these" from which on it stands beside the answer's."""


def draw_ranking(analysis: PictureAnalysis, chosen: ChosenPicture, prepared: PreparedPicture) -> None:
    """The picture with the box that is read, and all ten kinds by their probability."""
    picture, answer = st.columns([2, 3], gap="medium")
    with picture:
        _picture(chosen, analysis, prepared)
    with answer:
        plot_ranking(analysis, key="classify_ranking", height=HEIGHT)


def plot_ranking(analysis: PictureAnalysis, rest: PictureAnalysis | None = None, *, key: str, height: int) -> None:
    """All ten kinds and none of them by their probability; beside it that on the `rest` of the picture."""
    names = [*(_(name) for name in analysis.classifier.class_names), _("None of these")]
    after = None if rest is None else [*rest.shares, rest.none]
    figure = figures.ranking_figure(names, [*analysis.shares, analysis.none], after=after, write=percent, height=height)
    filename, alt = "ranking" if rest is None else "ranking-hidden", _("All ten classes and none of them by their probability.")
    live_plot(figure, key=key, height=height, filename=filename, alt=alt)


def _picture(chosen: ChosenPicture, analysis: PictureAnalysis, prepared: PreparedPicture) -> None:
    """The picture with the box that is read, and a way from one of its garments to another."""
    upright = prepared.upright
    height, width = upright.shape[:2]
    side = round(max(height, width) * min(HEIGHT / height, WIDTH / width))
    if max(height, width) <= SIDE:
        st.image(figures.fitted_png(upright, side=side), alt=_("The picture as it was given, without its border."))
        return
    box = [round(edge) for edge in percent_edges(prepared.box, (width, height))]
    names = [_(name) for name in analysis.classifier.class_names]
    others = {
        f"{place} {names[one.label]}": one.edges
        for place, one in enumerate(prepared.garments, 1)
        if any(abs(mine - its) > 1 for mine, its in zip(box, one.edges, strict=True))
    }
    shown = figures.framed_png(upright, [box, *others.values()], side=side)
    st.image(shown, alt=_("{picture}, with the box that is read.").format(picture=chosen.name))
    caption = []
    if others:
        count = number(len(prepared.garments))
        caption.append(_("{count} garments, the largest first: press another.").format(count=count))
    if analysis.classifier.manner == "photograph":
        caption.append(_("It learnt from garments that lie or hang; how often it is right on worn ones is not measured."))
    st.caption(" ".join(caption))
    with st.container(horizontal=True):
        for label, edges in others.items():
            st.button(label, key=f"classify_garment_{label[0]}", on_click=preparation.choose_box, args=edges)
        if st.query_params.get("crop") == "box":
            st.button(
                _("Without a box"),
                key="classify_no_box",
                icon=":material/crop_free:",
                on_click=preparation.choose,
                kwargs=preparation.NO_BOX,
            )


def warnings(analysis: PictureAnalysis, prepared: PreparedPicture) -> None:
    """Warns of doubts: nothing in the picture, no background to crop from, or an image unlike any garment."""
    if prepared.empty:
        controls.notice(
            "empty",
            _("There is nothing to see in this picture: it has one shade throughout, or is transparent. Give another one."),
        )
        return
    if prepared.blank:
        controls.notice("empty", _("Nothing stands out from the background, so there is no garment to crop to."))
    if prepared.quarters:
        sentence = _("This picture seems to be turned by {degrees}°, so I set it upright first.")
        controls.notice("stale", sentence.format(degrees=number(90 * min(prepared.quarters, 4 - prepared.quarters))))
        label = _("Read it as it was given")
        st.button(label, key="picture_as_given", icon=":material/undo:", on_click=preparation.choose, kwargs={"turn": "none"})
    if analysis.garment:
        return
    controls.notice("stale", _("I am unsure: this may be none of the ten garments I know."))
    with st.expander(_("Details"), icon=":material/info:"):
        st.caption(doubt(analysis))


def doubt(analysis: PictureAnalysis) -> str:
    """Numbers by which the picture is not taken for one of the ten garments, and how often that is said of garments too."""
    classifier = analysis.classifier
    if classifier.model.rejection is not None:
        sentence = _("It gives {value} to “none of these”, more than to all ten together.").format(value=percent(analysis.none))
    else:
        sentence = _(
            "Its strangeness is {value}; {share} of the data set's own validation images stay under the limit of {limit}."
        ).format(
            value=number(analysis.strangeness, 2),
            limit=number(classifier.threshold, 2),
            share=percent(classifier.known_share, 0),
        )
    if classifier.photographs is not None:
        sentence += " " + _("Of {count} photographs that people took of garments, {share} are over it too.").format(
            count=number(classifier.photographs["samples"]), share=percent(classifier.photographs["flagged"], 0)
        )
    return sentence


def headline(analysis: PictureAnalysis, chosen: ChosenPicture) -> None:
    """The class with its probability (D37), or two; how likely none is, and whether it is right where that is known."""
    named = [(analysis.classifier.class_names[one], float(analysis.shares[one])) for one in analysis.named]
    words = garment_words(named)
    if not analysis.garment:
        name = _("{name}, perhaps").format(name=_(named[0][0]))
        words = f"{name} {percent(named[0][1])}"
    notes = [chosen.name]
    if analysis.none >= SAID:
        notes.append(_("none of these {share}").format(share=percent(analysis.none)))
    if chosen.truth in (names := analysis.classifier.class_names):
        right = names[analysis.likeliest] == chosen.truth
        notes.append(_("as labelled") if right else _("wrong: it is labelled {truth}").format(truth=_(chosen.truth)))
    with st.container(key="classify_headline"):
        st.header(words, anchor=False)
        st.caption(" · ".join(notes))
