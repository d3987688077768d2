"""The answer on a visitor's picture for the front page, which imports this module with the first of them."""

from typing import Any, Final

from core.vision.lit_answer import lit_answer, shown_pixels
from core.vision.pictures import STORE, from_pixels
from core.vision.preprocessing import Recipe
from core.vision.sight_files import SIGHT_FILES
from pages.images import cached_results, cached_sight
from pages.shared import brought, permissions
from pages.shared.language import _

SIDE: Final = 224
"""Pixels along a side of a picture as it is looked at."""


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
    seen = cached_sight.read(from_pixels(pixels, name=picture.name), SIDE) if SIGHT_FILES.available() else None
    return key, lit_answer(analysis, prepared, pixels, seen)
