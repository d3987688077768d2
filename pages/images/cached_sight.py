"""Readings of the network that sees anything, kept for everyone who looks at the same photograph; the front page's answer."""

from typing import Any, Final

import streamlit as st

from attention_light import AttentionScene
from core.vision.lit_answer import lit_answer, shown_pixels
from core.vision.pictures import STORE, Picture, from_pixels
from core.vision.preprocessing import Recipe
from core.vision.sight import SeenPicture, sight_reader
from core.vision.sight_files import SIGHT_FILES
from pages.images import cached_results
from pages.shared import brought, permissions
from pages.shared.kept_results import Hashes, kept
from pages.shared.language import _

FIRST_SIDE: Final = 336
"""Pixels along a side with which a photograph is looked at first: 24 patches."""
ANSWERED_SIDE: Final = 224
"""Pixels along a side of a picture as the front page looks at it."""
HASHES: Final[Hashes] = {Picture: lambda picture: picture.id}


@kept(8, HASHES)
def seen(picture: Picture, side: int, erased: tuple[int, ...]) -> SeenPicture:
    """The photograph as the network sees it, patches from 1 rubbed out."""
    return sight_reader().read(picture, side=side, erased=erased)


@kept(2, HASHES)
def scene(picture: Picture, side: int, erased: tuple[int, ...]) -> AttentionScene:
    """The same as a scene, whose layers take a second to pack."""
    return seen(picture, side, erased).scene()


def read(picture: Picture, side: int, erased: tuple[int, ...] = ()) -> SeenPicture:
    """As `seen`, with a sentence while it takes its time.

    Raises:
        MissingModels: where `make sight` has not been run.
    """
    with st.spinner(_("The network looks at the picture…")):
        return seen(picture, side, erased)


def answer_of(data: bytes) -> tuple[str, dict[str, Any] | None]:
    """The picture's id in the store, and its answer; None where the picture is of one colour.

    Raises:
        PictureError: where it cannot be read. CheckpointError: where the model is missing.
    """
    picture = brought.picture(data, _("Your picture"))
    key = STORE.keep(picture, permissions.visitor().holder)
    classifier = cached_results.photograph_classifier()
    prepared = cached_results.prepare(classifier, picture, Recipe(manner=classifier.manner))
    if prepared.empty:
        return key, None
    analysis = cached_results.analyse(classifier, prepared.image, prepared.unturned)
    pixels = shown_pixels(analysis, prepared, picture)
    looked = read(from_pixels(pixels, name=picture.name), ANSWERED_SIDE) if SIGHT_FILES.available() else None
    return key, lit_answer(analysis, prepared, pixels, looked)
