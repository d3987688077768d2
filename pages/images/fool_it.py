"""A game: rub out patches until the answer changes, with as few as possible; beside it what random and two maps need."""

import hashlib
from typing import Final

import streamlit as st

from core.vision.analysis import PictureAnalysis
from pages.images import cached_results, ranking_panel
from pages.shared import erased, url_state
from pages.shared.erased import ErasedAnswer
from pages.shared.language import _

HIDE: Final = "hide"
"""The hidden patches' numbers, in the session and in the URL."""
INSIDE: Final = "inside"
"""Parameter of the page that names its view below the stage."""
HEIGHT: Final = 400


def is_open() -> bool:
    """Tells whether the game is the view below the stage."""
    return url_state.upcoming(INSIDE) == "hide"


def hidden_now(analysis: PictureAnalysis) -> list[int]:
    """Numbers from 1 of the patches that are rubbed out; none where another view is, or of another picture."""
    picture = f"{analysis.classifier.fingerprint} {hashlib.sha256(analysis.image.tobytes()).hexdigest()}"
    patches = erased.rubbed_out(HIDE, analysis.grid**2 + 1, of=picture)
    return [patch for patch in patches if patch] if is_open() else []


def rub_out(patches: list[int]) -> None:
    """Hide patches, by their tokens on the stage (the class token is 0), and open the view that counts them."""
    erased.keeper(HIDE)(patches)
    st.session_state[INSIDE] = "hide"


def change(analysis: PictureAnalysis, rest: PictureAnalysis, numbers: list[int]) -> ErasedAnswer:
    """The answer without the patches of these numbers, from 1, beside that on the whole."""
    classifier, label = analysis.classifier, analysis.likeliest
    colour = classifier.manner == "photograph"
    return ErasedAnswer(
        key=HIDE,
        hidden=numbers,
        count=analysis.grid**2,
        before=_(classifier.class_names[label]),
        after=_(classifier.class_names[rest.likeliest]),
        shares=(float(analysis.shares[label]), float(rest.shares[label])),
        instead=_("In place of what is rubbed out the model reads the picture's mean colour.")
        if colour
        else _("In place of what is rubbed out the model reads empty background."),
        orders={"occlusion": _("By occlusion"), "attention": _("By attention")},
        first=1,
    )


def draw_fooling(analysis: PictureAnalysis, rest: PictureAnalysis, numbers: list[int]) -> None:
    """The view, with the patches of these numbers, from 1, rubbed out."""
    if not numbers:
        st.markdown(_("Rub out patches on the stage until it says something else: the fewer, the better."))
    change(analysis, rest, numbers).draw(lambda report: cached_results.needed(analysis, report=report))
    ranking_panel.plot_ranking(analysis, rest, key="fool_ranking", height=HEIGHT)
    st.caption(
        _("No picture in training had holes, which may change an answer by themselves: rubbing out at random shows how much.")
    )
