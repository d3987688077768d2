"""Files that the visitor brought, decoded for them in their turn; a click anywhere on the page, or a closed tab, ends that."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from core.service import decoding
from core.signs.video import Footage
from core.vision.pictures import STORE, Picture
from core.workers import Report
from pages.shared import permissions
from pages.shared.language import _, number


def picture(data: bytes, name: str) -> Picture:
    """A file's picture.

    Raises:
        PictureError: where it cannot be read.
    """
    with _turn() as say_place:
        return decoding.picture(permissions.visitor(), data, name=name, report=say_place)


def kept_picture(data: bytes, name: str) -> str:
    """The id of a file's picture, which is kept for its link.

    Raises:
        PictureError: as `picture`.
    """
    return STORE.keep(picture(data, name), permissions.visitor().holder)


def film(data: bytes, *, on_frame: Callable[[int], None], **options: Any) -> Footage:
    """A film's frames; see `core.signs.video.read_video`.

    Raises:
        VideoError: where it cannot be read.
    """
    with _turn() as say_place:
        return decoding.film(permissions.visitor(), data, report=say_place, on_frame=on_frame, **options)


@contextmanager
def _turn() -> Iterator[Report]:
    """Says the file's place while others' go first."""
    place = st.empty()

    def say_place(before: int) -> None:
        if before:
            place.caption(_("Other visitors come first: yours is number {place}.").format(place=number(before)))
        else:
            place.empty()

    yield say_place
    place.empty()
