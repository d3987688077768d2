"""The photograph that Garments opens with: what takes seconds of it was computed beforehand, with the front page's answers.

`python -m scripts.front_page` writes it; of another checkpoint, another picture or another choice all is computed.
"""

from functools import cache

import numpy as np

from core import front
from core.explain.attribution import Report, unreported
from core.vision import preprocessing
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier
from core.vision.evidence import Probabilities, losses_without
from core.vision.gallery import photograph_gallery
from core.vision.pictures import Picture, decode
from core.vision.preprocessing import PreparedPicture, Recipe
from core.vision.uprightness import prepare_upright


@cache
def photograph() -> Picture:
    """The photograph of the front page."""
    one = photograph_gallery()[front.answers()["photograph"]["photo"]]
    return decode(one.data, name=one.kind)


def prepare(classifier: Classifier, picture: Picture, recipe: Recipe) -> PreparedPicture:
    """A picture prepared by the model's answers (`prepare_upright`), which leave the photograph as it was given.

    Raises:
        ValueError: as `prepare_upright`.
    """
    if _known(classifier) and picture.id == photograph().id and recipe == Recipe(manner=classifier.manner):
        return preprocessing.prepare(picture, recipe, side=classifier.config.side)
    return prepare_upright(classifier, picture, recipe)


def losses(analysis: PictureAnalysis, label: int, *, report: Report = unreported) -> Probabilities:
    """(patches,): what a class's probability loses without each patch alone (`losses_without`); of the photograph, as kept."""
    classifier = analysis.classifier
    if _known(classifier) and label == analysis.likeliest:
        opened = prepare(classifier, photograph(), Recipe(manner=classifier.manner))
        if np.array_equal(analysis.image, opened.image):
            return np.array(front.answers()["photograph"]["losses"])
    return losses_without(analysis, label, report=report)


def _known(classifier: Classifier) -> bool:
    return bool(front.answers()["photograph"]["made_by"] == classifier.fingerprint)
