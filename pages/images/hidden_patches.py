"""Patches to hide, and the ranking of the classes without them."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from core.explain import summaries
from core.figures import pictures as figures
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier
from core.vision.evidence import Probabilities, shares_of
from pages.images import cached_results, patch_evidence
from pages.images.class_names import garment
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.language import _, ngettext, number, percent
from pages.shared.live_plot import Point, live_plot

HIDE = "hide"
"""The hidden patches' numbers, in the session and in the URL."""
HEIGHT = 400


def show(analysis: PictureAnalysis) -> tuple[frozenset[int], int, Callable[[], None]]:
    """The view.

    Returns:
        The hidden patches' numbers from 1, the class that is explained, and a function that draws the view's downloads.
    """
    patches = analysis.grid**2
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = patch_evidence.pick_class(analysis)
        methods = faithfulness_view.method_names()
        method = url_state.choice(st.selectbox, _("Most important by"), methods, key="by", default="occlusion", width=230)
        count = url_state.slider(_("How many"), 1, patches - 1, key="many", default=8, width=190)
        st.button(
            _("Hide these"),
            icon=":material/visibility_off:",
            key="vit_hide_best",
            on_click=_hide_best,
            args=(analysis, label, method, count),
            help=_("Instead of those that are hidden now."),
        )
        st.button(
            _("Show all again"), icon=":material/visibility:", key="vit_show_all", on_click=st.session_state.update,
            kwargs={HIDE: []},
        )  # fmt: skip
    codes = {str(i): number(i) for i in range(1, patches + 1)}
    chosen = url_state.several(
        _("Hidden patches (or click them)"), codes, key=HIDE, placeholder=_("None: the whole picture is shown")
    )
    hidden = frozenset(int(code) for code in chosen)
    after = cached_results.hidden_answer(analysis, hidden)
    st.markdown(_change(analysis, hidden, after))
    left, middle, right = st.columns([3, 4, 3])

    def clicked(point: Point) -> None:
        patch = patch_evidence.patch_clicked(point, analysis)
        if patch is not None:
            st.session_state[HIDE] = [str(one) for one in hidden ^ {patch}]

    hatched = [one - 1 for one in hidden]
    patch_px = analysis.classifier.config.patch
    with left:
        st.markdown(_("**The picture**: click a patch"))
        live_plot(
            figures.overlay_figure(analysis.image, None, patch=patch_px, hidden=hatched, height=HEIGHT),
            key="vit_hide",
            height=HEIGHT,
            on_click=clicked,
            filename="hidden-patches",
            alt=_("The picture cut into its patches, the hidden ones hatched; a click hides a patch or shows it again."),
        )
    with middle:
        st.markdown(_("**The ranking**, before and after"))
        live_plot(
            figures.ranking_change_figure(
                [garment(name) for name in analysis.classifier.class_names], analysis.probabilities, after, write=percent,
                height=HEIGHT,
            ),
            key="vit_hide_ranking",
            height=HEIGHT,
            filename="ranking-hidden",
            alt=_("All ten classes by their probability, on the whole picture and with patches hidden."),
        )  # fmt: skip
    with right:
        st.markdown(_("**Occlusion**: each patch hidden alone"))
        with controls.progress(_("Running the model once for each patch…")) as told:
            importance = cached_results.losses(analysis, label, told=told)
        live_plot(
            figures.overlay_figure(
                analysis.image,
                shares_of(importance).patches,
                patch=patch_px,
                signed=True,
                height=HEIGHT,
            ),
            key="vit_hide_occlusion",
            height=HEIGHT,
            on_click=clicked,
            filename="occlusion",
            alt=_("The picture, each patch coloured by what the class's probability loses without it."),
        )
    st.caption(_instead(analysis.classifier))
    st.caption(
        _(
            "Such pictures were never seen in training, and hiding several patches is not the sum of hiding each: the map on the "
            "right hides one at a time, for the class chosen above."
        )
    )

    def downloads() -> None:
        controls.download_table(
            _("Ranking"),
            lambda: pd.DataFrame(
                {"class": analysis.classifier.class_names, "whole picture": analysis.probabilities, "patches hidden": after}
            ),
            key="vit_hide_table",
            filename="ranking-hidden",
            formats=("csv",),
        )

    return hidden, label, downloads


def _instead(classifier: Classifier) -> str:
    """Names the input that the model reads in place of a hidden patch, which is drawn hatched."""
    if classifier.manner == "photograph":
        return _("A hidden patch is drawn hatched; the model reads the picture's mean grey there, which shows nothing.")
    return _(
        "A hidden patch is drawn hatched; the model reads empty background there, grey level 0, as around every garment it knows."
    )


def _hide_best(analysis: PictureAnalysis, label: int, method: str, count: int) -> None:
    importance = cached_results.evidence(analysis, label).importance[method]
    st.session_state[HIDE] = [str(index + 1) for index, _value in summaries.strongest(importance, count)]


def _change(analysis: PictureAnalysis, hidden: frozenset[int], after: Probabilities) -> str:
    """The change of the answer as a sentence."""
    old, before = analysis.likeliest, analysis.probabilities
    new = int(after.argmax())
    names = [garment(name) for name in analysis.classifier.class_names]
    if not hidden:
        return _("Nothing is hidden: **{name}**, {share}. Click patches, or hide the most important ones.").format(
            name=names[old], share=percent(before[old])
        )
    if new == old:
        sentence = ngettext(
            "With {count} patch hidden it is still **{name}**: {before} before, {after} now.",
            "With {count} patches hidden it is still **{name}**: {before} before, {after} now.",
            len(hidden),
        )
        return sentence.format(count=number(len(hidden)), name=names[old], before=percent(before[old]), after=percent(after[old]))
    sentence = ngettext(
        "With {count} patch hidden the answer changes: **{old}** has {after} instead of {before}, **{new}** {high} instead of "
        "{low}.",
        "With {count} patches hidden the answer changes: **{old}** has {after} instead of {before}, **{new}** {high} instead of "
        "{low}.",
        len(hidden),
    )
    return sentence.format(
        count=number(len(hidden)), old=names[old], before=percent(before[old]), after=percent(after[old]),
        new=names[new], low=percent(before[new]), high=percent(after[new]),
    )  # fmt: skip
