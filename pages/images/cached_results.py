"""What the classifier says of an image, computed once however many people look at it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from core import checkpoints
from core.device import serve_small_inputs
from core.explain.faithfulness import Curves, Evidence, deletion_curves
from core.explain.rollout import rollout
from core.models.vit import CLASSES
from core.vision import analysis as readings
from core.vision import classifier as classifiers
from core.vision import evidence as evidences
from core.vision import walkthrough
from core.vision.analysis import PictureAnalysis, Shares
from core.vision.classifier import Classifier
from core.vision.evidence import Hidden, Probabilities
from core.vision.gallery import gallery
from core.vision.pictures import Bytes, Picture, from_grey
from core.vision.preprocessing import PreparedPicture, Recipe, prepare
from core.vision.walkthrough import ViTWalkthrough

ROLLOUT: Final = "rollout"


def model_names() -> list[str]:
    """The ViT checkpoints there are."""
    return checkpoints.names("vit", folder=checkpoints.FOLDER)


def classifier_of(name: str) -> Classifier:
    """A checkpoint by name, read again where its card has changed.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    folder = checkpoints.FOLDER
    return _loaded(name, folder, checkpoints.read_card(name, folder=folder)["weights_sha256"])


@lru_cache(maxsize=4)
def _loaded(name: str, folder: Path, _digest: str) -> Classifier:
    serve_small_inputs()
    return classifiers.load_classifier(name, folder=folder)


@dataclass(frozen=True)
class Question:
    """An image (by value) and who is asked, so that answers can be remembered by it."""

    classifier: Classifier
    pixels: bytes
    side: int

    def image(self) -> Bytes:
        """uint8 (side, side)."""
        return readings.image_of(self.pixels, self.side)


def ask(classifier: Classifier, image: Bytes) -> Question:
    """The question about an image, uint8 (side, side)."""
    return Question(classifier, image.tobytes(), len(image))


@lru_cache(maxsize=256)
def read(question: Question) -> PictureAnalysis:
    """Probabilities, doubt and all maps."""
    serve_small_inputs()
    return readings.read(question.classifier, question.image())


@lru_cache(maxsize=128)
def relevance(question: Question, label: int) -> Shares:
    """Gradient relevance to one class."""
    serve_small_inputs()
    return read(question).relevance(label)


@lru_cache(maxsize=64)
def maps(question: Question) -> dict[str, Any]:
    """Weights (heads, n, n) by the layer's number from 1; after the layers the "rollout", (1, n, n)."""
    layers = list(read(question).maps.values())
    return {str(i + 1): weights for i, weights in enumerate(layers)} | {ROLLOUT: rollout(layers)[None]}


@lru_cache(maxsize=128)
def evidence(question: Question, label: int) -> Evidence:
    """What each method calls important for one class."""
    serve_small_inputs()
    return evidences.evidence(read(question), label)


@lru_cache(maxsize=128)
def curves(question: Question, label: int) -> Curves:
    """What is left of one class's probability while patches are deleted in each method's order."""
    serve_small_inputs()
    return deletion_curves(evidence(question, label))


@lru_cache(maxsize=512)
def hidden_answer(question: Question, hidden: frozenset[int]) -> Probabilities:
    """(classes,) probabilities with some patches hidden, by their numbers from 1."""
    serve_small_inputs()
    return evidences.hidden_answer(read(question), hidden_mask(question, hidden))


def hidden_mask(question: Question, hidden: Iterable[int]) -> Hidden:
    """(patches,): which patches are hidden."""
    return evidences.mask_of(hidden, question.classifier.config.patches)


@lru_cache(maxsize=32)
def walk(question: Question) -> ViTWalkthrough:
    """Every step of the forward pass."""
    serve_small_inputs()
    one = question.classifier
    return walkthrough.walk(one.model, one.normalise(question.image()[None]), temperature=one.temperature)


@lru_cache(maxsize=256)
def prepared(picture: Picture, recipe: Recipe) -> PreparedPicture:
    """All preprocessing steps of a picture."""
    return prepare(picture, recipe)


@lru_cache(maxsize=64)
def gallery_picture(item: int) -> Picture:
    """One of the bundled test images."""
    images, labels, rows = gallery()
    return from_grey(images[item], name=f"{CLASSES[labels[item]]} {rows[item]}")


def gallery_labels() -> list[int]:
    """The true classes of the bundled test images."""
    return [int(label) for label in gallery()[1]]


def gallery_rows() -> list[int]:
    """Their rows in the official test file."""
    return [int(row) for row in gallery()[2]]
