"""The bundled pictures as a model reads them, with the class of each: test images of Fashion-MNIST, or photographs."""

from __future__ import annotations

import numpy as np

from core.models.vit import CLASSES
from core.vision.classifier import Classifier
from core.vision.gallery import gallery, photograph_gallery
from core.vision.idx import Images, Labels
from core.vision.pictures import decode
from core.vision.preprocessing import Recipe
from core.vision.uprightness import prepare_upright


def bundled_images(classifier: Classifier) -> tuple[Images, Labels]:
    """Images of the model's size and their classes: those that it answers by, hence photographs for the ten kinds (D30)."""
    if classifier.class_names == CLASSES:
        images, labels, _indices = gallery()
        return classifier.enlarged(images), labels
    known = [one for one in photograph_gallery() if one.name in classifier.class_names]
    recipe = Recipe(manner=classifier.manner)
    images = np.stack([prepare_upright(classifier, decode(one.data, name=one.file), recipe).image for one in known])
    return images, np.array([classifier.class_names.index(str(one.name)) for one in known])
