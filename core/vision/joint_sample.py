"""Queries and keys of a garments' model over its bundled images."""

from __future__ import annotations

from functools import partial

import numpy as np
from torch import Tensor

from core.explain.queries_keys import JointSample, collect, queries_and_keys
from core.models.vit import ViT
from core.nn import AttentionMaps
from core.vision.bundled_images import bundled_images
from core.vision.classifier import Classifier

BATCH = 20


def joint_sample(classifier: Classifier) -> JointSample:
    """The vectors of every layer; a picture's class is the true one."""
    images, labels = bundled_images(classifier)
    parts = []
    for start in range(0, len(images), BATCH):
        x = classifier.normalise(images[start : start + BATCH])
        model = classifier.model  # its layers alone: what it answers may come of several passes
        vectors = queries_and_keys(model, partial(_maps, model, x))
        parts.append((vectors, np.asarray(labels[start : start + BATCH])))
    return collect(parts, classifier.class_names)


def _maps(model: ViT, x: Tensor) -> AttentionMaps:
    return model.encode(model.tokens(x), return_attention=True)[1]
