"""Bundled pictures to press, each a small picture with its name. Nothing here loads torch, which the front page does without."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import streamlit as st

from core.figures import pictures as figures
from core.vision.gallery import gallery, photograph_gallery
from core.vision.pictures import decode
from pages.shared.language import _


def buttons(
    samples: Sequence[tuple[str, int]],
    *,
    key: str,
    chosen: tuple[str, int] | None,
    on_press: Callable[[str, int], None],
    named: bool = True,
) -> None:
    """A button for each sample, a kind ("photos" or "gallery") and the picture's place there.

    Args:
        named: whether the name stands beside the picture.
    """
    for place, (kind, item) in enumerate(samples):
        name, address = _sample(kind, item)
        st.button(
            f"![]({address}) {_(name)}" if named else f"![{_(name)}]({address})",
            key=f"{key}_{place}",
            type="primary" if (kind, item) == chosen else "secondary",
            on_click=on_press,
            args=(kind, item),
        )


@lru_cache(maxsize=128)
def _sample(kind: str, item: int) -> tuple[str, str]:
    """English name and a small picture's address of a bundled picture."""
    if kind == "gallery":
        from core.models.vit import CLASSES  # torch

        images, labels, _rows = gallery()
        return CLASSES[labels[item]], figures.thumbnail(images[item])
    one = photograph_gallery()[item]
    return one.name or one.kind, figures.thumbnail(decode(one.data, name=one.kind).rgb)
