"""The pickers of clip and model that two pages share, and the model's reading of the clip."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.checkpoints import CheckpointError
from core.signs.recogniser import ASL, DIGITS, HANDS, Recogniser
from core.signs.recognition import Recognition
from pages.shared import controls, url_state
from pages.shared.language import _, number
from pages.shared.load_ahead import load_ahead
from pages.signs import cached_results, clip_source
from pages.signs.cached_results import Clip

KEYS: Final = (
    "input", "model", "sample", "sentence", "file", "start", "fit", "hold", "slayer", "sscale", "shead", "frame", "lang",
)  # fmt: skip
"""URL parameters that name a clip, and the map and frame shown of it."""
BY_CLIP: Final = "auto"
"""Code of the model that reads this source best, which follows the source."""


Picked = tuple[Recogniser, Clip | None, Recognition | None]
"""The chosen model; its clip and the reading of it, where there is a clip that can be read."""


def pick() -> Picked | None:
    """The pickers. None where there is no model yet, after a notice or an error that says why."""
    with st.container(border=True):
        source = clip_source.pick_source()
        recogniser = _pick_model(clip_source.front_of(source), own_film=source not in ("digits", "tracks"))
        clip = clip_source.pick(source, recogniser) if recogniser else None
    if recogniser is None:
        return None
    if clip is None:
        return recogniser, None, None
    try:
        if recogniser.reads_hands:
            _find_hands(recogniser, clip)
        with st.spinner(_("Reading the clip…"), show_time=True):
            return recogniser, clip, cached_results.read(recogniser, clip)
    except ValueError as error:
        controls.error_box(str(error), remedy=_("Choose another clip or another model."))
        return recogniser, None, None


def _find_hands(recogniser: Recogniser, clip: Clip) -> None:
    """Looks for the hands in a film, with its progress; a film looked at before is done at once."""
    place = st.empty()

    def show(done: int) -> None:
        if done % 5 == 0:
            text = _("Looking for hands: frame {done} of {total}").format(done=number(done), total=number(len(clip.data)))
            place.progress(done / len(clip.data), text=text)

    recogniser.hands(clip.data, on_frame=show)
    place.empty()


def link() -> dict[str, str]:
    """The URL parameters with which the other page opens the same clip."""
    parameters = st.query_params.to_dict()
    return {key: parameters[key] for key in KEYS if key in parameters}


def link_to_view() -> None:
    """The page's address, with a note on how long a visitor's clip is kept where it holds one."""
    note = _("A clip of your own lasts as long as the app runs, the newest few of them.") if "file" in st.query_params else ""
    controls.link_to_view(note)


def _pick_model(front: str, *, own_film: bool) -> Recogniser | None:
    """A checkpoint; None where there is none, after saying so."""
    try:
        names = cached_results.model_names(front, own_film=own_film)
        words = {
            DIGITS: _("the one of pictures"),
            HANDS: _("the one of the hand's points"),
            ASL: _("the one of tracked positions"),
        }
        if not names:
            controls.notice("empty", _("No model of signs is there: whoever runs this server may train one (see the README)."))
            return None
        options = {BY_CLIP: _("By the clip: {name}").format(name=words.get(names[0], names[0]))}
        options |= {name: words.get(name, name) for name in names}
        chosen = url_state.choice(st.selectbox, _("Model"), options, key="model")
        recogniser = cached_results.shipped(names[0] if chosen == BY_CLIP else chosen)
        load_ahead(cached_results.shipped, names)
        return recogniser
    except CheckpointError as error:
        controls.error_box(str(error), remedy=_("Choose another model."))
        return None
