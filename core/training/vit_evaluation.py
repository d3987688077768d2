"""Scores of a garment classifier: on Fashion-MNIST's images, and on photographs that people took of garments (D29)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.messages import compose
from core.scores import CALIBRATION_BINS, reliability
from core.vision.classifier import Classifier
from core.vision.idx import IdxPart, Labels
from core.vision.photographs import CLASSES_OF_KIND, Photograph, PhotographsError
from core.vision.pictures import PictureError, decode
from core.vision.preprocessing import PreparedPicture, prepare

Floats = NDArray[np.float64]


def evaluate(classifier: Classifier, part: IdxPart) -> dict[str, Any]:
    """What a card says of a part: samples, accuracy, calibration, confusion matrix (rows the truth), share that is flagged."""
    answers = classifier.answers(part.images)
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
    probabilities = classifier.probabilities(part.images)
    called, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = called != part.labels
    worst = np.argsort(np.where(wrong, confidence, -1.0))[::-1][: min(count, int(wrong.sum()))]
    return [
        {"index": int(i), "label": int(part.labels[i]), "called": int(called[i]), "confidence": round(float(confidence[i]), 4)}
        for i in worst
    ]


def evaluate_photographs(classifier: Classifier, rows: Iterable[Photograph]) -> dict[str, Any]:
    """Scores on photographs, each prepared as the classify page prepares an upload (D29).

    Returns:
        `samples`: photographs of the seven kinds that have a class, and over these `accuracy` of the likeliest class, flagged or
        not, `flagged` (the share said not to look like a garment, or to show nothing) and `ece`; `others`: photographs of the
        three kinds without a class, and `flagged_others`; `left_out`: photographs of kinds that D29 does not name; `kinds`:
        samples, accuracy (null without a class) and flagged of each. A share of nothing is null.

    Raises:
        PhotographsError: for a photograph that cannot be decoded, or where no kind has a class.
    """
    prepared: list[PreparedPicture] = []
    kinds: list[str] = []
    left_out = 0
    for row in rows:
        if row.right is None:
            left_out += 1
            continue
        try:
            prepared.append(prepare(decode(row.data, name=row.file)))
        except PictureError as error:
            raise PhotographsError(compose("{file}: {reason}", file=row.file, reason=error)) from error
        kinds.append(row.kind)
    known = np.array([bool(CLASSES_OF_KIND[kind]) for kind in kinds], dtype=bool)
    if not known.any():
        raise PhotographsError(
            compose(
                "none of the photographs is of a kind that has a class: {kinds}",
                kinds=", ".join(kind for kind, labels in CLASSES_OF_KIND.items() if labels),
            )
        )
    answers = classifier.answers(np.stack([one.image for one in prepared]))
    called, confidence = answers.probabilities.argmax(axis=1), answers.probabilities.max(axis=1)
    right = np.array([int(label) in CLASSES_OF_KIND[kind] for label, kind in zip(called, kinds, strict=True)])
    flagged = (answers.strangeness > classifier.threshold) | np.array([one.empty for one in prepared])

    def of_kind(kind: str) -> dict[str, Any]:
        rows = np.array([one == kind for one in kinds])
        return {
            "samples": int(rows.sum()),
            "accuracy": _share(right[rows]) if CLASSES_OF_KIND[kind] else None,
            "flagged": _share(flagged[rows]),
        }

    return {
        "samples": int(known.sum()),
        "accuracy": _share(right[known]),
        "flagged": _share(flagged[known]),
        "ece": float(f"{float(reliability(confidence[known], right[known], CALIBRATION_BINS)['gap'][0]):.4g}"),
        "others": int((~known).sum()),
        "flagged_others": _share(flagged[~known]),
        "left_out": left_out,
        "kinds": {kind: of_kind(kind) for kind in sorted(set(kinds))},
    }


def _share(values: NDArray[np.bool_]) -> float | None:
    """Share of true values; None of none."""
    return float(f"{values.mean():.4g}") if len(values) else None
