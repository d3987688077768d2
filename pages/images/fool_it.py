"""A game: rub out patches until the answer changes, with as few as possible; beside it what random and two maps need."""

from __future__ import annotations

import hashlib
from typing import Final

import streamlit as st

from core.explain.erasing import Needed
from core.figures import pictures as figures
from core.vision.analysis import PictureAnalysis, with_none
from core.vision.classifier import Classifier
from core.vision.evidence import Probabilities
from pages.images import cached_results
from pages.shared import controls, erased, url_state
from pages.shared.language import _, ngettext, number, percent
from pages.shared.live_plot import live_plot

HIDE: Final = "hide"
"""The hidden patches' numbers, in the session and in the URL."""
INSIDE: Final = "inside"
"""Parameter of the page that names its view below the stage."""
HEIGHT: Final = 400


def hidden_now(analysis: PictureAnalysis) -> list[int]:
    """Numbers from 1 of the patches that are rubbed out; none where another view is, or of another picture."""
    picture = f"{analysis.classifier.fingerprint} {hashlib.sha256(analysis.image.tobytes()).hexdigest()}"
    patches = erased.rubbed_out(HIDE, analysis.grid**2 + 1, of=picture)
    return [patch for patch in patches if patch] if url_state.upcoming(INSIDE) == "hide" else []


def rub_out(patches: list[int]) -> None:
    """Hide patches, by their tokens on the stage (the class token is 0), and open the view that counts them."""
    erased.keeper(HIDE)(patches)
    st.session_state[INSIDE] = "hide"


def draw_fooling(analysis: PictureAnalysis, numbers: list[int]) -> None:
    """The view, with the patches of these numbers, from 1, rubbed out."""
    said = st.container()
    middle, right = st.columns([3, 2], gap="medium")
    score = right.container()
    hidden = frozenset(numbers)
    after = cached_results.hidden_answer(analysis, hidden) if hidden else analysis.shares
    said.markdown(_change(analysis, hidden, after))
    with middle:
        names = [*(_(name) for name in analysis.classifier.class_names), _("None of these")]
        before, left_over = with_none(analysis.shares), with_none(after)
        live_plot(
            figures.ranking_figure(names, before, after=left_over, write=percent, height=HEIGHT),
            key="fool_ranking",
            height=HEIGHT,
            filename="ranking-hidden",
            alt=_("All ten classes and none of them by their probability, on the whole picture and with patches hidden."),
        )
    with right:
        erased.bring_back(HIDE)
        with controls.progress(_("Asking what random, attention and occlusion need…")) as report:
            needed = cached_results.needed(analysis, report=report)
        with score:
            _score(analysis, hidden, after, needed)
        st.caption(_instead(analysis.classifier))
    st.caption(
        _(
            "This is the deletion curve as a game: a map that is right about what matters needs few patches. Such pictures were "
            "never seen in training, so the holes themselves may change an answer too: rubbing out at random shows how much."
        )
    )


def _score(analysis: PictureAnalysis, hidden: frozenset[int], after: Probabilities, needed: Needed) -> None:
    """Patches that the reader took, and that the other ways take."""
    fooled = int(after.argmax()) != analysis.likeliest
    title = _("**Patches until the answer changes**, of {count}").format(count=number(analysis.grid**2))
    names = {"occlusion": _("By occlusion"), "attention": _("By attention")}
    erased.needed_table(title, needed, names, count=len(hidden), changed=fooled, key=HIDE, first=1)


def _instead(classifier: Classifier) -> str:
    """Names the input that the model reads in place of a hidden patch."""
    if classifier.manner == "photograph":
        return _("In place of a patch that is rubbed out the model reads the picture's mean colour, which shows nothing.")
    return _("In place of a patch that is rubbed out the model reads empty background, as around every garment it knows.")


def _change(analysis: PictureAnalysis, hidden: frozenset[int], after: Probabilities) -> str:
    """The change of the answer as a sentence."""
    old, before = analysis.likeliest, analysis.shares
    new = int(after.argmax())
    names = [_(name) for name in analysis.classifier.class_names]
    if not hidden:
        return _("It says **{name}**, {share}. Rub out patches until it says something else: the fewer, the better.").format(
            name=names[old], share=percent(before[old])
        )
    if new == old:
        sentence = ngettext(
            "With {count} patch rubbed out it is still **{name}**: {before} before, {after} now.",
            "With {count} patches rubbed out it is still **{name}**: {before} before, {after} now.",
            len(hidden),
        )
        return sentence.format(count=number(len(hidden)), name=names[old], before=percent(before[old]), after=percent(after[old]))
    sentence = ngettext(
        "**Fooled with {count} patch**: **{old}** has {after} instead of {before}, **{new}** {high} instead of {low}.",
        "**Fooled with {count} patches**: **{old}** has {after} instead of {before}, **{new}** {high} instead of {low}.",
        len(hidden),
    )
    return sentence.format(
        count=number(len(hidden)),
        old=names[old],
        before=percent(before[old]),
        after=percent(after[old]),
        new=names[new],
        low=percent(before[new]),
        high=percent(after[new]),
    )
