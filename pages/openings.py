"""Results that pages open with, computed before the first visitor comes, else from when a browser asks for a page's HTML.

Each function computes the results that the page's first run then finds kept, of the same arguments (a test compares).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core import front
from core.market.predictor import DEFAULT
from core.market.store.index import recordings
from core.signs.samples import clip_samples
from core.vision import seen_samples
from core.vision.preprocessing import Recipe
from pages.images import cached_results as garments
from pages.images import cached_sight
from pages.markets import attention_window
from pages.markets import cached_results as windows
from pages.shared.language import SOURCE, speaking
from pages.signs import cached_results as films
from pages.signs import clip_and_model, clip_source


def book() -> None:
    """The first window of the first recording, and what its answer of the shortest horizon came from."""
    recorded = attention_window.recorded(recordings()[0].name, windows.predictor_of(DEFAULT).window)
    window = recorded.window(recorded.first, predictor=DEFAULT)
    answered = windows.answer(window)
    head = answered.predictor.head("forward", min(horizon for kind, horizon in answered.predictor.heads if kind == "forward"))
    windows.attribute(window, head, answered.likeliest[head])


def garment() -> None:
    """The front page's photograph, read by the model of photographs."""
    classifier = garments.photograph_classifier()
    picture = garments.photograph_pictures()[front.answers()["photograph"]["photo"]]
    prepared = garments.prepare(classifier, picture, Recipe(manner=classifier.manner))
    analysis = garments.analyse(classifier, prepared.image, prepared.unturned)
    garments.relevance(analysis, analysis.likeliest)
    garments.losses(analysis, analysis.likeliest)


def photograph() -> None:
    """The first of the photographs of anything."""
    first = seen_samples.sample(next(iter(seen_samples.NAMES)))
    _parts = cached_sight.scene(first, cached_sight.FIRST_SIDE, ()).parts  # packed once, and kept with the scene


def film() -> None:
    """The first bundled clip, and the pictures of the buttons above it."""
    recogniser = films.shipped(films.model_names("frames")[0])
    with speaking(SOURCE):
        clip = clip_source.sample(recogniser, clip_samples()[0])
    films.read(recogniser, clip)
    films.counted(recogniser, clip)
    for source, _key, code in clip_and_model.SAMPLES:
        films.thumbnail(source, code)


OPENINGS: Final[dict[str, Callable[[], None]]] = {
    "attention": book,
    "classify": garment,
    "see": photograph,
    "recognise": film,
}
"""By the page's address."""
