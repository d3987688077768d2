"""The answer: the class and how sure, all ten ranked, and which patches it came from by five measures."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.figures import pictures as figures
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier
from core.vision.preprocessing import PreparedPicture
from pages.images import cached_results, patch_evidence
from pages.images.class_names import garment
from pages.images.picture_source import ChosenPicture
from pages.shared import controls
from pages.shared.language import _, number, percent, prose
from pages.shared.live_plot import live_plot


def show(classifier: Classifier, chosen: ChosenPicture, prepared: PreparedPicture) -> None:
    """The whole answer on one picture."""
    question = cached_results.ask(classifier, prepared.image)
    reading = cached_results.read(question)
    names = [garment(name) for name in classifier.class_names]
    headline(reading, chosen, prepared)
    left, right = st.columns([2, 3])
    with left:
        live_plot(
            figures.overlay_figure(prepared.image, None, patch=classifier.config.patch, height=330),
            key="classify_patches",
            height=330,
            filename="patches",
            alt=_("What the model reads, 28 x 28 grey levels, cut into its patches."),
        )
    with right:
        live_plot(
            figures.ranking_figure(names, reading.probabilities, write=percent),
            key="classify_ranking",
            height=330,
            filename="ranking",
            alt=_("All ten classes by their probability, the most probable first."),
        )
    st.subheader(_("What it attends to"), anchor=False)
    shown = patch_evidence.show(question, reading)
    st.markdown(prose("classify_weights"))
    with st.container(horizontal=True, vertical_alignment="center"):
        # A link, which the browser follows by itself, with the picture and every choice that both pages know.
        st.page_link(
            "pages/images/attention.py",
            label=_("Look inside"),
            icon=":material/frame_inspect:",
            help=_("All attention maps of this picture, and what happens where patches are hidden."),
            query_params=st.query_params.to_dict(),
        )
        controls.download_table(
            _("Ranking"), lambda: _ranking(reading), key="classify_ranked", filename="ranking", formats=("csv",)
        )
        patch_evidence.download_patches(shown)


def headline(reading: PictureAnalysis, chosen: ChosenPicture, prepared: PreparedPicture) -> None:
    """The class, how sure, whether that is right where it is known; and what makes the answer doubtful."""
    names = [garment(name) for name in reading.classifier.class_names]
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


def _ranking(reading: PictureAnalysis) -> pd.DataFrame:
    names = reading.classifier.class_names
    return pd.DataFrame(
        {"class": [names[i] for i in reading.ranking], "probability": [reading.probabilities[i] for i in reading.ranking]}
    )
