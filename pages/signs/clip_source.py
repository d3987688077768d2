"""Picks the clip to recognise: a bundled one, a film, pictures, or a tracked sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast

import streamlit as st

from core.messages import translate
from core.signs import samples, video
from core.signs.own_clips import STORE
from core.signs.recogniser import Recogniser
from core.signs.samples import ClipSample
from core.signs.tracks import FPS, TrackSentence
from core.signs.video import Fit, Footage, VideoError
from core.vision.pictures import SUFFIXES as PICTURES
from core.vision.pictures import PictureError, decode
from pages.shared import controls, url_state
from pages.shared.language import _, duration, number
from pages.signs.cached_results import Clip

MAX_FILE_MB: Final = 200
MAX_PICTURES: Final = 128
STOPPED: Final = "signs:stopped"
READ: Final = "signs:read"
"""Session key of the films already decoded: (file, settings) -> footage."""
FILE: Final = "file"
"""URL parameter that names the visitor's own clip in the store."""


def pick_source() -> str:
    """The selector of clip sources; returns the chosen code."""
    sources = {
        "digits": _("Bundled clip"),
        "video": _("Video file"),
        "pictures": _("Pictures"),
        "tracks": _("Tracked ASL sentence"),
    }
    return url_state.choice(st.segmented_control, _("Clip from"), sources, key="input", required=True, on_change=_forget_clip)


def front_of(source: str) -> str:
    """Kind of inputs that a model must read to take clips of this source: "frames" or "tracks"."""
    return "tracks" if source == "tracks" else "frames"


def pick(source: str, recogniser: Recogniser) -> Clip | None:
    """The clip, as this model takes it; None where there is none or it cannot be read, after showing a notice or an error.

    The clip of a link stands in only where nothing was chosen: under the error of a file that failed, no earlier answer stays.
    """
    if source in ("tracks", "digits"):
        return bundled(front_of(source), recogniser)
    chosen, clip = {"video": _film, "pictures": _pictures}[source](recogniser)
    if not chosen:
        return _linked(recogniser)
    if clip is None:
        _forget_clip()
    return clip


def _forget_clip() -> None:
    """Take the visitor's clip out of the URL, when its file is replaced or removed, or does not decode."""
    url_state.remember(FILE, None)


# -- bundled -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _sentences() -> tuple[TrackSentence, ...]:
    return tuple(samples.track_samples())


def bundled(front: str, recogniser: Recogniser, **arguments: Any) -> Clip | None:
    """One of the bundled clips, of tracks or of frames; `arguments` are for the picker."""
    return _sentence(**arguments) if front == "tracks" else _bundled(recogniser, **arguments)


def _sentence(**arguments: Any) -> Clip:
    options = {str(one.video): f"{one.video} · {' '.join(one.glosses)}" for one in _sentences()}
    code = url_state.choice(st.selectbox, _("Test sentence of RWTH-BOSTON-104"), options, key="sentence", **arguments)
    one = next(one for one in _sentences() if str(one.video) == code)
    return Clip(
        key=f"boston104:{code}",
        title=_("sentence {number}").format(number=code),
        kind="tracks",
        data=one.tracks,
        seconds=[at / FPS for at in range(len(one.tracks))],
        fps=FPS,
        glosses=one.glosses,
        speaker=one.speaker,
        note=_("Real ASL, signed by {speaker}: positions of hands and nose that were tracked in the film.").format(
            speaker=one.speaker
        ),
    )


def _bundled(recogniser: Recogniser, **arguments: Any) -> Clip | None:
    clips = samples.clip_samples()
    options = {
        one.name: _("{glosses} · signer {signer}").format(glosses=" ".join(one.glosses), signer=one.signer) for one in clips
    }
    name = url_state.choice(st.selectbox, _("Bundled clip"), options, key="sample", **arguments)
    return sample(recogniser, next(one for one in clips if one.name == name))


def sample(recogniser: Recogniser, one: ClipSample) -> Clip | None:
    """A bundled clip of frames, as this model takes it."""
    footage = _sampled(one.name, one.path.read_bytes(), recogniser, start=0.0, fit="crop", show=False)
    if footage is None:
        return None
    note = _("A synthetic sentence of real photos, of a signer the model did not learn from. Photos: {licence}.")
    return replace(_clip(one.name, footage), glosses=one.glosses, note=note.format(licence=one.licence))


# -- files -------------------------------------------------------------------------------------------------------------------


def _film(recogniser: Recogniser) -> tuple[bool, Clip | None]:
    """Tells whether a film was chosen, and its clip; likewise `_pictures`."""
    file = st.file_uploader(
        _("Video: mp4, mov, webm, mkv, avi or gif, of any size, rate and rotation"),
        type=list(video.SUFFIXES),
        key="signs:film",
        max_upload_size=MAX_FILE_MB,
        help=_("It stays in this app's memory while the page is open and goes nowhere else."),
        on_change=_forget_clip,
    )
    start, fit = _film_settings()
    if file is None:
        return False, None
    footage = _sampled(file.name, file, recogniser, start=start, fit=fit, show=True, identity=file.file_id)
    return True, _kept(file.name, footage) if footage else None


def _film_settings() -> tuple[float, Fit]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        start = url_state.number_input(_("Start at (seconds)"), 0.0, 86_400.0, key="start", default=0.0, step=1.0, width=200)
        fit = _fit()
    return start, fit


def _fit() -> Fit:
    fits = {"crop": _("The middle square"), "pad": _("All of it, with black borders")}
    return cast(Fit, url_state.choice(st.segmented_control, _("Of the picture"), fits, key="fit", required=True))


def _pictures(recogniser: Recogniser) -> tuple[bool, Clip | None]:
    files = st.file_uploader(
        _("Pictures in the order of their names, one or more of each sign"),
        type=list(PICTURES),
        accept_multiple_files=True,
        key="signs:pictures",
        max_upload_size=50,
        on_change=_forget_clip,
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        hold = url_state.slider(
            _("Frames that each picture is held"), 1, 16, key="hold", default=4, width=320,
            help=_("The model saw signs held for several frames. Use 1 for the frames of a film."),
        )  # fmt: skip
        fit = _fit()
    if not files:
        return False, None
    ordered = sorted(files, key=lambda file: str(file.name))[:MAX_PICTURES]
    if len(files) > MAX_PICTURES:
        controls.notice("stale", _("The first {count} pictures are read.").format(count=number(MAX_PICTURES)))
    return True, _of_stills([(file.name, file) for file in ordered], recogniser, hold, fit)


def _of_stills(files: Sequence[tuple[str, Any]], recogniser: Recogniser, hold: int, fit: Fit) -> Clip | None:
    pictures, unread = [], []
    for name, file in controls.counted(files, _("Decoding…")):
        try:
            pictures.append(decode(file.getvalue(), name=name).rgb)
        except PictureError as error:
            unread.append(_("{file}: {why}.").format(file=name, why=translate(str(error))))
    for sentence in unread:
        controls.error_box(sentence, remedy=_("The others are read.") if pictures else "")
    if not pictures:
        return None
    try:
        footage = video.of_pictures(pictures, size=recogniser.image_size, fps=recogniser.fps, hold=hold, fit=fit)
    except VideoError as error:
        controls.error_box(str(error))
        return None
    title = files[0][0] if len(files) == 1 else _("{count} pictures").format(count=number(len(pictures)))
    return _kept(title, footage)


# -- reading -------------------------------------------------------------------------------------------------------------------


def _sampled(
    name: str, file: Any, recogniser: Recogniser, *, start: float, fit: Fit, show: bool, identity: str = ""
) -> Footage | None:
    """A film's frames, decoded once per setting; None where that failed or was stopped, after saying so."""
    state = st.session_state
    key = (identity or name, recogniser.image_size, recogniser.fps, start, fit)
    decoded: dict[Any, Footage] = state.setdefault(READ, {})
    if key not in decoded:
        if state.get(STOPPED) == key:
            controls.notice("empty", _("Reading was stopped."))
            st.button(_("Read it again"), icon=":material/replay:", key="signs:again", on_click=lambda: state.pop(STOPPED, None))
            return None
        place = st.empty()
        with place.container(horizontal=True, vertical_alignment="center"):
            bar = st.progress(0.0, text=_("Reading {name}…").format(name=name))
            st.button(_("Stop"), icon=":material/stop:", key="signs:stop", on_click=lambda: state.update({STOPPED: key}))

        def show_progress(frames: int) -> None:
            if show:
                bar.progress(min(1.0, frames / video.MAX_FRAMES), text=_("Reading {name}…").format(name=name))

        size, fps = recogniser.image_size, recogniser.fps
        try:
            data = file if isinstance(file, bytes) else file.getvalue()
            decoded[key] = video.read_video(data, size=size, fps=fps, start=start, fit=fit, on_frame=show_progress)
        except VideoError as error:
            place.empty()
            controls.error_box(str(error))
            return None
        place.empty()
        while len(decoded) > 3:
            decoded.pop(next(iter(decoded)))
    if show:
        _describe(decoded[key])
    return decoded[key]


def _describe(footage: Footage) -> None:
    """Says what was decoded of a film, and why the rest was not."""
    rate = _("{fps} frames a second").format(fps=number(footage.source_fps, 1)) if footage.source_fps else _("no frame rate")
    words = _("{width} x {height}, {rate}, {codec}{turned}; {count} frames from {first} to {last} s were read.").format(
        width=footage.width,
        height=footage.height,
        rate=rate,
        codec=footage.codec,
        turned="".join(f", {translate(clause)}" for clause in footage.done.values()),
        count=number(len(footage.frames)),
        first=number(float(footage.seconds[0]), 1),
        last=number(float(footage.seconds[-1]), 1),
    )
    st.caption(words)
    whole = duration(footage.duration) if footage.duration else _("unknown length")
    reasons = {
        "most": _("The video is longer ({length}): {most} frames are read at once. Choose another start to read on."),
        "time": _("Reading took too long and stopped there ({length} in all). A smaller video reads faster."),
        "damaged": _("The file is damaged or cut off there (it says {length}): this is what could be decoded."),
    }
    if footage.damaged:
        places = ", ".join(number(at, 1) for at in footage.damaged[:3])
        words = _("The file is damaged at {places} s: pictures there are missing or garbled. The rest was read.")
        controls.notice("stale", words.format(places=places))
    if footage.ended:
        controls.notice("stale", reasons[footage.ended].format(length=whole, most=number(video.MAX_FRAMES)))


def _clip(name: str, footage: Footage, key: str = "") -> Clip:
    return Clip(
        key=key or f"file:{name}:{footage.frames.shape}",
        title=name,
        kind="frames",
        data=footage.frames,
        seconds=footage.seconds,
        fps=footage.fps,
    )


def _kept(name: str, footage: Footage) -> Clip:
    """The clip, kept in the store for its link."""
    key = STORE.keep((name, footage))
    url_state.remember(FILE, key)
    return _clip(name, footage, key)


def _linked(recogniser: Recogniser) -> Clip | None:
    """The clip that the URL names, while the store keeps it."""
    key = st.query_params.get(FILE)
    if not key:
        controls.notice("empty", _("There is nothing to read yet: choose a file or open a bundled clip."))
        return None
    clip = STORE.find(key)
    if clip is None or clip[1].frames.shape[1] != recogniser.image_size:
        controls.notice("stale", _("This link's clip is gone from memory, or was cut for another model: choose the file again."))
        return None
    return _clip(clip[0], clip[1], key)
