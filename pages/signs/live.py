"""Digits and four signs read from the camera as they are made."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core import checkpoints
from core.signs import samples
from core.signs.live_reading import MIN_PROBABILITY
from core.signs.recogniser import HANDS
from core.signs.vocabulary import in_order
from pages.shared import controls, url_state
from pages.shared.language import _, percent, prose
from pages.signs import cached_results, clip_source, film_player, live_camera, sign_strip

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
    if live_camera.missing():
        return
    recogniser = cached_results.shipped(HANDS)
    signs = in_order(recogniser.vocabulary.glosses)
    st.caption(_("All {count} signs that it knows, as in a mirror").format(count=len(signs)))
    sign_strip.show(signs)
    left, right = st.columns([3, 2], gap="large")
    with left:
        modes = {"read": _("Read my signs"), "ask": _("Show me a …"), "ten": _("Ten in a row")}
        mode = url_state.choice(st.segmented_control, _("What the camera does"), modes, key="mode", required=True)
        game = None if mode == "read" else {"signs": signs, "of": 10 if mode == "ten" else 0, "round": mode}
        live_camera.show(key="live_signs", game=game)
    with right:
        st.header(_("A film that was read"), anchor=False)
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
        st.markdown(" · ".join(f"`{gloss}`" for gloss in signs))
        least = max(MIN_PROBABILITY, recogniser.least_probability)
        st.markdown(prose("live_signs_details").format(least=percent(least, 0)))


page()
controls.link_to_view()
