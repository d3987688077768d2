"""Readings of the network that sees anything, kept for everyone who looks at the same photograph."""

from typing import Final

import streamlit as st

from attention_light import AttentionScene
from core.vision.pictures import Picture
from core.vision.sight import SeenPicture, sight_reader
from pages.shared.kept_results import Hashes, kept
from pages.shared.language import _

FIRST_SIDE: Final = 336
"""Pixels along a side with which a photograph is looked at first: 24 patches."""
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
