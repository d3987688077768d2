"""The answer on a visitor's picture for the front page, which imports this module with the first of them."""

from __future__ import annotations

from typing import Any

from core.vision.marked_answer import marked_answer
from core.vision.pictures import STORE
from core.vision.preprocessing import Recipe
from pages.images import cached_results, live_camera
from pages.shared import brought, controls, permissions
from pages.shared.language import _


def answer_of(data: bytes) -> tuple[str, dict[str, Any] | None]:
    """The picture's id in the store, and its answer; None where the picture is of one colour.

    Raises:
        PictureError: where it cannot be read. CheckpointError: where the model is missing.
    """
    picture = brought.picture(data, _("Your picture"))
    key = STORE.keep(picture, permissions.visitor().holder)
    classifier = cached_results.photograph_classifier()
    with controls.progress(_("Running the model once for each patch…")) as report:
        prepared = cached_results.prepare(classifier, picture, Recipe(manner=classifier.manner))
        if prepared.empty:
            return key, None
        analysis = cached_results.analyse(classifier, prepared.image, prepared.unturned)
        losses = cached_results.losses(analysis, analysis.likeliest, report=report)
    return key, marked_answer(analysis, losses, prepared)


def still(*, start: bool) -> bytes | None:
    """Shows the live camera; a picture just taken with it.

    Args:
        start: whether the camera starts by itself.
    """
    return live_camera.garment_camera(key="front_live", start=start)
