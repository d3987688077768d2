"""Decodes what visitors send (D42): pictures and frames of cameras two at a time, films one at a time, each within its budget."""

from collections.abc import Callable
from typing import Any, Final

from core import camera
from core.messages import BadValue, compose
from core.picture_headers import is_webp
from core.service.access import Action, Visitor
from core.signs import video
from core.signs.video import Footage, VideoError
from core.vision import pictures
from core.vision.pictures import Picture, PictureError
from core.workers import Budget, Pool, Report, Stopped, unreported

PICTURE: Final = Budget(seconds=3)
WEBP: Final = Budget(seconds=3, mib=600)
"""Its decoder holds four copies of a picture: 384 MB at the 24 million pixels that are read of any format."""
FRAME: Final = Budget(seconds=0.5)
FILM: Final = Budget(seconds=30)
_quick: Final = Pool(2, "core.vision.pictures", "core.camera")
_films: Final = Pool(1, "core.signs.video", nice=5)


def picture(by: Visitor, data: bytes, *, name: str = "", report: Report = unreported) -> Picture:
    """As `pictures.decode`.

    Args:
        report: called with the place in the queue every quarter of a second, 0 while it is decoded; what it raises ends that.

    Raises:
        PictureError: also where a bound is reached, or too many wait.
    """
    by.require(Action.BRING)
    budget = WEBP if is_webp(data) else PICTURE
    try:
        return Picture(**_quick.run(pictures.decode, data, {"name": name}, budget, by=by.limited_by, report=report))
    except Stopped as stopped:
        raise PictureError(_sentence(stopped, budget)) from stopped


def frame(by: Visitor, data: bytes) -> camera.Picture:
    """As `camera.decoded`.

    Raises:
        BadValue: also where a bound is reached, or too many wait.
    """
    by.require(Action.BRING)
    try:
        result: camera.Picture = _quick.run(camera.decoded, data, {}, FRAME, by=by.limited_by)
        return result
    except Stopped as stopped:
        raise BadValue(_sentence(stopped, FRAME)) from stopped


def film(
    by: Visitor, data: bytes, *, report: Report = unreported, on_frame: Callable[[int], None] = unreported, **options: Any
) -> Footage:
    """As `video.read_video`, whose other options these are.

    Args:
        report: as of `picture`.

    Raises:
        VideoError: also where a bound is reached, or too many wait.
    """
    by.require(Action.BRING)
    progress = ("on_frame", on_frame)
    try:
        return Footage(**_films.run(video.read_video, data, options, FILM, by=by.limited_by, report=report, progress=progress))
    except Stopped as stopped:
        raise VideoError(_sentence(stopped, FILM)) from stopped


def _sentence(stopped: Stopped, budget: Budget) -> str:
    """Reason that there is no answer, as a clause for a person."""
    if stopped.reason == "refused":
        return str(stopped)
    if stopped.reason == "time":
        return compose("reading it takes more than {seconds:g} s of the processor", seconds=budget.seconds)
    if stopped.reason == "busy":
        return compose("too many files wait here already: try again later")
    return compose("reading it takes more than {most} MiB of memory, or it is damaged", most=budget.mib)
