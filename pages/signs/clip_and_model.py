"""The line above the stage: samples to press, an upload, the camera, and in a popover every other choice of clip and model."""

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.signs.recogniser import ASL, DIGITS, HANDS, Recogniser
from core.signs.recognition import Recognition
from pages.shared import camera_switch, controls, url_state
from pages.shared.language import _, number
from pages.shared.load_ahead import load_ahead
from pages.signs import cached_results, clip_source
from pages.signs.cached_results import Clip

CAMERA: Final = "camera"
STARTED: Final = "signs:started"
"""Session key: the camera was just asked for."""
SOURCE: Final = "input"
MODEL: Final = "model"
BY_CLIP: Final = "auto"
"""Code of the model that reads this source best, which follows the source."""
SAMPLES: Final = (("digits", "sample", "digits_2026"), ("digits", "sample", "digits_314"), ("tracks", "sentence", "7"))
"""Source, parameter and code of the clips to press."""


@dataclass(frozen=True, kw_only=True)
class ClipRequest:
    """Choice of the reader: a source, its model (none for the camera), and the visitor's file."""

    source: str
    recogniser: Recogniser | None = None
    clip: Clip | None = None
    file: Any = None


def model_title(name: str) -> str:
    """A shipped model by what it reads."""
    return {DIGITS: _("IIGA on pictures"), HANDS: _("IIGA on points of the hand"), ASL: _("IIGA on tracked positions")}.get(
        name, name
    )


def ask() -> ClipRequest:
    """Draw the line; what it asks for.

    Raises:
        CheckpointError: where the model cannot be loaded.
    """
    title, line = st.columns([1, 2.6], vertical_alignment="center")
    with title:
        controls.page_header(_("Recognise signs"))
    with line.container(horizontal=True, vertical_alignment="center", key="signs_sources"):
        samples = st.container(horizontal=True, width="content", key="signs_samples")
        with st.container(horizontal=True, width="content", key="signs_own"):
            film = clip_source.upload_film(on_change=lambda: st.session_state.update({SOURCE: "video"}))
            camera = st.container(width="content")
            with st.popover(_("Clip and model"), icon=":material/tune:"):
                request = _choices(film)
    with samples:
        _samples(request)
    with camera:
        camera_switch.button(request.source == CAMERA, _use, CAMERA, key="signs_camera")
    return request


def _use(source: str, key: str = "", code: str = "") -> None:
    clip_source.forget_clip()
    st.session_state[SOURCE] = source
    st.session_state[STARTED] = source == CAMERA
    if key:
        st.session_state[key] = code


def _samples(request: ClipRequest) -> None:
    for place, (source, key, code) in enumerate(SAMPLES):
        now = request.source == source and st.session_state.get(key) == code
        st.button(
            f"![]({cached_results.thumbnail(source, code)}) {clip_source.glosses_of(source, code)}",
            key=f"signs_sample_{place}",
            type="primary" if now else "secondary",
            on_click=_use,
            args=(source, key, code),
        )


def _choices(film: Any) -> ClipRequest:
    sources = {
        "digits": _("Bundled clip"),
        "video": _("Your film or picture"),
        "tracks": _("Tracked ASL sentence"),
        CAMERA: _("Camera"),
    }
    source = url_state.choice(st.segmented_control, _("Clip from"), sources, key=SOURCE, on_change=clip_source.forget_clip)
    if source == CAMERA:
        return ClipRequest(source=source)
    recogniser = _pick_model("tracks" if source == "tracks" else "frames", own_film=source == "video")
    if recogniser is None:
        return ClipRequest(source=source)
    if source in ("digits", "tracks"):
        clip = clip_source.bundled("tracks" if source == "tracks" else "frames", recogniser)
        return ClipRequest(source=source, recogniser=recogniser, clip=clip)
    clip_source.settings()
    return ClipRequest(source=source, recogniser=recogniser, file=film)


def _pick_model(front: str, *, own_film: bool) -> Recogniser | None:
    """A checkpoint; None where there is none."""
    names = cached_results.model_names(front, own_film=own_film)
    if not names:
        return None
    options = {BY_CLIP: _("By the clip: {name}").format(name=model_title(names[0]))}
    options |= {name: model_title(name) for name in names}
    chosen = url_state.choice(st.selectbox, _("Model"), options, key=MODEL)
    recogniser = cached_results.shipped(names[0] if chosen == BY_CLIP else chosen)
    load_ahead(cached_results.shipped, names)
    return recogniser


def read(recogniser: Recogniser, clip: Clip) -> Recognition | None:
    """The model's reading of a clip; None, after an error box, where it cannot read it."""
    try:
        if recogniser.reads_hands:
            _find_hands(recogniser, clip)
        with st.spinner(_("Reading the clip…"), show_time=True):
            return cached_results.read(recogniser, clip)
    except ValueError as error:
        controls.error_box(error, remedy=_("Choose another source or another model."))
        return None


def _find_hands(recogniser: Recogniser, clip: Clip) -> None:
    """Looks for the hands in a film, with its progress; a film looked at before is done at once."""
    place = st.empty()

    def tell(done: int) -> None:
        if done % 5 == 0:
            text = _("Looking for hands: frame {done} of {total}").format(done=number(done), total=number(len(clip.data)))
            place.progress(done / len(clip.data), text=text)

    recogniser.hands(clip.data, on_frame=tell)
    place.empty()
