"""A tracked sentence, drawn and played: both hands and the nose as they move."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.figures import signs as figures
from pages.shared import controls, url_state
from pages.shared.language import _, number
from pages.shared.live_plot import live_plot
from pages.signs.cached_results import Clip

PLAYING: Final = "signs:playing"
PLACE: Final = "moment"
TICK_S: Final = 0.25
STEP: Final = 4
"""Frames a tick: half the speed of the film."""


def show(clip: Clip) -> None:
    """The part of the page; it runs by itself while it plays."""
    st.header(_("The hands"), anchor=False)
    every = TICK_S if st.session_state.get(PLAYING) else None
    st.fragment(_moving, run_every=every)(clip)


def _play(wanted: bool) -> None:
    st.session_state[PLAYING] = wanted


def _moving(clip: Clip) -> None:
    state, last = st.session_state, len(clip.data)
    playing = bool(state.get(PLAYING))
    if playing:
        there = int(state.get(PLACE, 1)) + STEP
        state[PLACE] = there if there <= last else 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.play_button(playing, _play, key="signs", help=_("Half as fast as it was signed."))
        at = url_state.slider(_("Frame of the film"), 1, last, key=PLACE, default=1, linked=not playing) - 1
    left, right = st.columns([2, 3])
    with left:
        live_plot(
            figures.tracks_figure(clip.data, at, keep=clip.key),
            key="signs_tracks",
            height=380,
            filename="tracks",
            alt=_("Both hands and the nose in the picture at the chosen frame, with their recent path."),
        )
    with right:
        live_plot(
            figures.paths_figure(clip.data, clip.fps, at=at, keep=clip.key),
            key="signs_paths",
            height=380,
            filename="tracks-over-time",
            alt=_("The same positions over time: heights above, sideways positions below."),
        )
    st.caption(
        _("Frame {frame} of {count}, {second} s. The model sees velocities and positions relative to the nose.").format(
            frame=number(at + 1), count=number(last), second=number(at / clip.fps, 2)
        )
    )
