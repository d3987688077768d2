"""Results of a classifier for an image, kept for everyone who looks at the same image."""

from __future__ import annotations

from typing import Final

from core import checkpoints
from core.device import use_one_thread
from core.models.vit import CLASSES
from core.vision import analysis as analyses
from core.vision import classifier as classifiers
from core.vision import evidence, opening, walkthrough
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier
from core.vision.gallery import gallery, photograph_gallery
from core.vision.pictures import Bytes, Picture, decode, from_pixels
from core.vision.preprocessing import Recipe
from core.vision.walkthrough import ViTWalkthrough
from pages.shared.kept_results import Hashes, kept

HASHES: Final[Hashes] = {
    Classifier: lambda classifier: classifier.fingerprint,
    PictureAnalysis: lambda analysis: (analysis.classifier.fingerprint, analysis.image.tobytes()),
    Picture: lambda picture: picture.id,
    Recipe: repr,
}
"""Keys that tell two arguments apart: a classifier by its card, an image by its pixels, a picture by its file."""


def model_names() -> list[str]:
    """Names of the garment models' checkpoints."""
    return classifiers.classifier_names(checkpoints.FOLDER)


classifier_of = checkpoints.once_a_card(Classifier)
"""A checkpoint by name. CheckpointError: where it is missing or damaged."""


def photograph_classifier() -> Classifier:
    """The checkpoint that answers on photographs.

    Raises:
        CheckpointError: as `classifier_of`.
    """
    return classifier_of(classifiers.default_name(model_names(), photograph=True))


def ready(name: str) -> None:
    """Load a checkpoint and all that its first answer would wait for.

    Raises:
        CheckpointError: as `classifier_of`.
    """
    use_one_thread()
    classifier_of(name).warm_up()


analyse = kept(256, HASHES)(analyses.analyse)
relevance = kept(128, HASHES)(PictureAnalysis.relevance)
losses = kept(128, HASHES)(opening.losses)
"""A third of a second for a photograph, but for the one that the page opens with."""
needed = kept(64, HASHES)(evidence.patches_needed)
prepare = kept(256, HASHES)(opening.prepare)


@kept(32, HASHES)
def walk(classifier: Classifier, image: Bytes) -> ViTWalkthrough:
    """Every step of the forward pass for an image, uint8 (side, side)."""
    return walkthrough.walk(classifier.model, classifier.normalise(image[None]), temperature=classifier.temperature)


@kept(64)
def gallery_picture(item: int) -> Picture:
    """One of the bundled test images."""
    images, labels, rows = gallery()
    return from_pixels(images[item], name=f"{CLASSES[labels[item]]} {rows[item]}")


@kept(1)
def photograph_pictures() -> list[Picture]:
    """The bundled photographs."""
    return [decode(one.data, name=one.kind) for one in photograph_gallery()]
