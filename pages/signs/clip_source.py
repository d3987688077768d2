"""Clips to recognise: a bundled one, a film or picture of the visitor's, or a tracked sentence."""

from collections.abc import Callable
from typing import Any, Final, cast

import streamlit as st

from core.messages import Refusal, translate
from core.picture_headers import is_animated
from core.signs import samples, video
from core.signs.own_clips import STORE
from core.signs.recogniser import Recogniser
from core.signs.samples import ClipSample
from core.signs.tracks import FPS
from core.signs.video import Fit, Footage, VideoError
from core.vision.pictures import SUFFIXES as PICTURES
from pages.shared import brought, controls, permissions, upload_caps, url_state
from pages.shared.language import _, duration, number
from pages.signs import cached_results
from pages.signs.cached_results import Clip

MAX_FILE_MB: Final = 200
HELD: Final = 4
"""Frames that a single picture is held: the models saw signs held for several."""
STOPPED: Final = "signs:stopped"
READ: Final = "signs:read"
"""Session key of the films already decoded: (file, settings) -> footage."""
FILE: Final = "file"
"""URL parameter that names the visitor's own clip in the store."""
START: Final = "start"
FIT: Final = "fit"


def own(file: Any, recogniser: Recogniser) -> Clip | None:
    """The visitor's clip, as this model takes it; None where there is none or it cannot be read, after a notice or an error.

    The clip of a link stands in only where nothing was chosen: under the error of a file that failed, no earlier answer stays.
    """
    if file is None:
        return _linked(recogniser)
    a_picture = file.name.lower().endswith(tuple(set(PICTURES) - set(video.SUFFIXES)))
    still = a_picture and not is_animated(file.getvalue())
    try:
        footage = _picture(file, recogniser) if still else _sampled(file, recogniser)
    except Refusal as error:
        controls.error_box(f"{file.name}: {translate(str(error))}." if still else str(error))
        footage = None
    if footage is None:
        forget_clip()
        return None
    key = STORE.keep((file.name, footage), permissions.visitor().holder)
    url_state.remember(FILE, key)
    return _clip(file.name, footage, key)


def forget_clip() -> None:
    """Take the visitor's clip out of the URL, when its file is replaced or removed, or does not decode."""
    url_state.remember(FILE, None)


# -- bundled -----------------------------------------------------------------------------------------------------------------


def bundled(front: str, recogniser: Recogniser, **arguments: Any) -> Clip:
    """One of the bundled clips, of tracks or of frames; `arguments` are for the picker."""
    return _sentence(**arguments) if front == "tracks" else _bundled(recogniser, **arguments)


def _sentence(**arguments: Any) -> Clip:
    options = {str(one.video): f"{one.video} · {' '.join(one.glosses)}" for one in samples.track_samples()}
    code = url_state.choice(st.selectbox, _("Test sentences of RWTH-BOSTON-104"), options, key="sentence", **arguments)
    one = next(one for one in samples.track_samples() if str(one.video) == code)
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


def _bundled(recogniser: Recogniser, **arguments: Any) -> Clip:
    clips = samples.clip_samples()
    options = {
        one.name: _("{glosses} · signer {signer}").format(glosses=" ".join(one.glosses), signer=one.signer) for one in clips
    }
    name = url_state.choice(st.selectbox, _("Bundled clip"), options, key="sample", **arguments)
    return sample(recogniser, next(one for one in clips if one.name == name))


def glosses_of(source: str, code: str) -> str:
    """Glosses signed in a bundled clip."""
    if source == "tracks":
        return " ".join(next(one.glosses for one in samples.track_samples() if str(one.video) == code))
    return " ".join(next(one.glosses for one in samples.clip_samples() if one.name == code))


def sample(recogniser: Recogniser, one: ClipSample) -> Clip:
    """A bundled clip of frames, as this model takes it."""
    footage = cached_results.footage(one.name, recogniser.image_size, recogniser.fps)
    size = max(recogniser.image_size, footage.height)
    note = _("A synthetic sentence of real photos, of a signer the model did not learn from. Photos: {licence}.")
    return Clip(
        key=f"bundled:{one.name}:{recogniser.image_size}",
        title=one.name,
        kind="frames",
        data=footage.frames,
        seconds=footage.seconds,
        fps=footage.fps,
        glosses=one.glosses,
        note=note.format(licence=one.licence),
        film=cached_results.footage(one.name, size, recogniser.fps).frames,
    )


# -- files -------------------------------------------------------------------------------------------------------------------


def upload_film(*, on_change: Callable[[], None]) -> Any:
    """The button to choose a film or a picture; the file chosen last."""

    def changed() -> None:
        forget_clip()
        on_change()

    return upload_caps.upload_button(
        _("Film or picture: mp4, mov, webm, mkv, avi, gif, or a photograph"),
        type=sorted({*video.SUFFIXES, *PICTURES}),
        key="signs:film",
        max_upload_size=MAX_FILE_MB,
        on_change=changed,
    )


def settings() -> None:
    """Ask what is read of a visitor's file."""
    fits = {"crop": _("The middle square"), "pad": _("All of it, with black borders")}
    url_state.number_input(_("Start at (seconds)"), 0.0, 86_400.0, key=START, default=0.0, step=1.0)
    url_state.choice(st.segmented_control, _("Of the picture"), fits, key=FIT)
    st.caption(_("A file stays in this app's memory and goes nowhere else; its clip is opened by whoever has the link."))


# -- reading -------------------------------------------------------------------------------------------------------------------


def _picture(file: Any, recogniser: Recogniser) -> Footage:
    """A picture, held as a sign is.

    Raises:
        PictureError, VideoError: where it cannot be read.
    """
    picture = brought.picture(file.getvalue(), file.name).rgb
    fit = cast(Fit, st.session_state[FIT])
    return video.of_pictures([picture], size=recogniser.image_size, fps=recogniser.fps, hold=HELD, fit=fit)


def _sampled(file: Any, recogniser: Recogniser) -> Footage | None:
    """A film's frames, decoded once per setting; None where that was stopped, after saying so.

    Raises:
        VideoError: where it cannot be read.
    """
    state = st.session_state
    start, fit = float(state[START]), cast(Fit, state[FIT])
    key = (file.file_id, recogniser.image_size, recogniser.fps, start, fit)
    decoded: dict[Any, Footage] = state.setdefault(READ, {})
    if key in decoded:
        return decoded[key]
    if state.get(STOPPED) == key:
        controls.notice("empty", _("Reading was stopped."))
        st.button(_("Start again"), icon=":material/replay:", key="signs:again", on_click=lambda: state.pop(STOPPED, None))
        return None
    place = st.empty()
    text = _("Reading {name}…").format(name=file.name)
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text=text)
        st.button(_("Stop"), icon=":material/stop:", key="signs:stop", on_click=lambda: state.update({STOPPED: key}))

    def tell(frames: int) -> None:
        bar.progress(min(1.0, frames / video.MAX_FRAMES), text=text)

    try:
        size, fps = recogniser.image_size, recogniser.fps
        decoded[key] = brought.film(file.getvalue(), size=size, fps=fps, start=start, fit=fit, on_frame=tell)
    except VideoError:
        place.empty()
        raise
    place.empty()
    while len(decoded) > 3:
        decoded.pop(next(iter(decoded)))
    return decoded[key]


def _read_of(footage: Footage) -> str:
    """Says what was decoded of a film; empty for pictures."""
    if not footage.codec:
        return ""
    rate = _("{fps} frames a second").format(fps=number(footage.source_fps, 1)) if footage.source_fps else _("no frame rate")
    return _("{width} x {height}, {rate}, {codec}{turned}; {count} frames from {first} to {last} s were read.").format(
        width=footage.width,
        height=footage.height,
        rate=rate,
        codec=footage.codec,
        turned="".join(f", {translate(clause)}" for clause in footage.done.values()),
        count=number(len(footage.frames)),
        first=number(float(footage.seconds[0]), 1),
        last=number(float(footage.seconds[-1]), 1),
    )


def _unread_of(footage: Footage) -> tuple[str, ...]:
    """Says why the rest of a film was not."""
    whole = duration(footage.duration) if footage.duration else _("unknown length")
    reasons = {
        "most": _("The video is longer ({length}): {most} frames are read at once. Choose another start to read on."),
        "time": _("Reading took too long and stopped there ({length} in all). A smaller video reads faster."),
        "damaged": _("The file is damaged or cut off there (it says {length}): this is what could be decoded."),
    }
    warnings = []
    if footage.damaged:
        places = ", ".join(number(at, 1) for at in footage.damaged[:3])
        words = _("The file is damaged at {places} s: pictures there are missing or garbled. The rest was read.")
        warnings.append(words.format(places=places))
    if footage.ended:
        warnings.append(reasons[footage.ended].format(length=whole, most=number(video.MAX_FRAMES)))
    return tuple(warnings)


def _clip(name: str, footage: Footage, key: str) -> Clip:
    return Clip(
        key=key,
        title=name,
        kind="frames",
        data=footage.frames,
        seconds=footage.seconds,
        fps=footage.fps,
        note=_read_of(footage),
        warnings=_unread_of(footage),
    )


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
