"""Scores of a garment classifier on Fashion-MNIST's images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.messages import compose
from core.models.vit import CLASSES
from core.scores import CALIBRATION_BINS, reliability
from core.vision.classifier import Classifier
from core.vision.idx import IdxPart, Labels

Floats = NDArray[np.float64]


def evaluate(classifier: Classifier, part: IdxPart) -> dict[str, Any]:
    """Scores of a part for a card: samples, accuracy, calibration, confusion matrix (rows the truth), share that is flagged.

    Raises:
        ValueError: for a model whose classes are not the data set's.
    """
    if classifier.class_names != CLASSES:
        raise ValueError(
            compose("{name} answers in kinds of photographs: give a folder of photographs", name=classifier.card["name"])
        )
    answers = classifier.answers(classifier.enlarged(part.images))
    return {
        "samples": len(part),
        **scores(answers.probabilities, part.labels),
        "strange": float(f"{(answers.strangeness > classifier.threshold).mean():.4g}"),
    }


def scores(probabilities: Floats, labels: Labels) -> dict[str, Any]:
    """Accuracy, negative log-likelihood (nats), expected calibration error with its bins, and the confusion matrix.

    Args:
        probabilities: (n, classes). labels: (n,).
    """
    called = probabilities.argmax(axis=1)
    bins = reliability(probabilities.max(axis=1), called == labels, CALIBRATION_BINS)
    classes = probabilities.shape[1]
    confusion = np.bincount(classes * labels + called, minlength=classes**2).reshape(classes, classes)
    return {
        "accuracy": float(f"{(called == labels).mean():.6g}"),
        "negative_log_likelihood": float(f"{-np.log(probabilities[np.arange(len(labels)), labels]).mean():.5g}"),
        "calibration_error": float(f"{float(bins['gap'][0]):.4g}"),
        "reliability": {
            "confidence": [None if np.isnan(one) else round(float(one), 4) for one in bins["confidence"]],
            "accuracy": [None if np.isnan(one) else round(float(one), 4) for one in bins["accuracy"]],
            "count": [int(one) for one in bins["count"]],
        },
        "confusion": confusion.tolist(),
    }


def worst_mistakes(classifier: Classifier, part: IdxPart, count: int = 24) -> list[dict[str, Any]]:
    """The wrong answers given with the most confidence, worst first: row of the part, truth, answer, confidence."""
    probabilities = classifier.probabilities(classifier.enlarged(part.images))
    called, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = called != part.labels
    worst = np.argsort(np.where(wrong, confidence, -1.0))[::-1][: min(count, int(wrong.sum()))]
    return [
        {"index": int(i), "label": int(part.labels[i]), "called": int(called[i]), "confidence": round(float(confidence[i]), 4)}
        for i in worst
    ]
