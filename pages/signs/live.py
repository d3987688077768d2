"""Digits and four signs read from the camera as they are made."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core import checkpoints
from core.signs import samples
from core.signs.hands import model_files
from core.signs.live_reading import MIN_PROBABILITY
from core.signs.recogniser import HANDS
from pages.shared import controls
from pages.shared.browser_component import browser_component, style
from pages.shared.language import _, current, percent, prose, regional
from pages.signs import cached_results, clip_source, film_player, live_route

SHOWN: Final = 5
"""The bundled clip that plays beside the camera: the digits from 1 to 8."""


def page() -> None:
    """The whole page."""
    controls.page_header(_("Sign to the camera"), prose("live_signs_lead"))
    if HANDS not in checkpoints.names("iiga", folder=checkpoints.FOLDER):
        controls.notice(
            "empty",
            _("The model that reads hands is not there: whoever runs this server may train it (see the README)."),
        )
        return
    if not model_files.available():
        controls.notice(
            "empty",
            _(
                "The two models that find hands are not set up here: whoever runs this server may fetch them (see the README). "
                "Everything else works without them."
            ),
        )
        return
    recogniser = cached_results.shipped(HANDS)
    left, right = st.columns([3, 2], gap="large")
    with left:
        browser_component("live_signs", style("live_signs.css"))(
            key="live_signs", data={"address": f"{live_route.PATH}?lang={current()}", "language": regional(), "words": _words()}
        )
    with right:
        st.header(_("Signs to copy"), anchor=False)
        clip = clip_source.sample(recogniser, samples.clip_samples()[SHOWN])
        if clip is not None:
            film_player.show(clip, cached_results.read(recogniser, clip), playing=True)
    st.caption(
        _(
            "Where it is computed: your browser sends small pictures to this app, a few a second, and the app finds the hands in "
            "them. No picture is stored or sent any further, and each is forgotten once it is read."
        )
    )
    with st.expander(_("Details"), icon=":material/info:"):
        st.markdown(" · ".join(f"`{gloss}`" for gloss in recogniser.vocabulary.glosses))
        least = max(MIN_PROBABILITY, recogniser.least_probability)
        st.markdown(prose("live_signs_details").format(least=percent(least, 0)))


def _words() -> dict[str, str]:
    return {
        "start": _("Start the camera"),
        "stop": _("Stop"),
        "turn": _("Other camera"),
        "idle": _("The camera is off."),
        "connecting": _("Connecting…"),
        "lost": _("The connection to the app was lost: start again."),
        "denied": _("The browser may not use the camera: allow it in the address bar and start again."),
        "noCamera": _("No camera was found that can be used: connect one, or close what else uses it, and start again."),
        "insecure": _("The browser gives the camera only to pages opened by https or on this computer (localhost)."),
        "answer": _("I read: {glosses}"),
        "nothing": _("Nothing read yet: hold a sign for about half a second."),
        "noHand": _("No hand is seen, so nothing is read."),
        "now": _("Now: {gloss} ({share} %)"),
        "between": _("A hand is seen, and no sign that I know."),
        "pace": _("{rate} pictures a second, {ms} ms each"),
        "attention": _("What the newest picture attends to: the last seconds, the newest at the right."),
    }


page()
controls.link_to_view()
