"""Scores of a ViT on photographs of garments (D29)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.messages import compose
from core.scores import CALIBRATION_BINS, reliability
from core.vision.classifier import Classifier
from core.vision.photographs import CLASSES_OF_KIND, Photograph, PhotographsError
from core.vision.pictures import Picture, PictureError, decode
from core.vision.preprocessing import Recipe
from core.vision.uprightness import prepare_upright


def evaluate_photographs(
    reader: Callable[[Picture], Classifier], rows: Iterable[Photograph], *, progress: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Scores on photographs, each prepared and answered as the classify page answers an upload (D29).

    Args:
        reader: the model that answers a picture. progress: called after each photograph.

    Returns:
        `samples`: photographs of the seven kinds that have a class, and over these `accuracy` of the likeliest class, flagged or
        not, `flagged` (the share said not to look like a garment, or to show nothing) and `ece`; `others`: photographs of the
        three kinds without a class, and `flagged_others`; `left_out`: photographs of kinds that D29 does not name; `kinds`:
        samples, accuracy (null without a class) and flagged of each, and how often each class was `called`: of shoes, any
        of Sandal, Sneaker and Ankle boot counts as right, as the data do not say which it is. A share of nothing is null.

    Raises:
        PhotographsError: for a photograph that cannot be decoded, or where no kind has a class.
    """
    answers: list[PhotographAnswer] = []
    left_out = 0
    for row in rows:
        if row.right is None:
            left_out += 1
        else:
            answers.append(answered(reader, row))
        progress()
    known = [one for one in answers if one.row.right]
    if not known:
        raise PhotographsError(
            compose(
                "none of the photographs is of a kind that has a class: {kinds}",
                kinds=", ".join(kind for kind, labels in CLASSES_OF_KIND.items() if labels),
            )
        )
    others = [one for one in answers if not one.row.right]

    def of_kind(kind: str) -> dict[str, Any]:
        of_it = [one for one in answers if one.row.kind == kind]
        return {
            "samples": len(of_it),
            "accuracy": _share(one.right for one in of_it) if CLASSES_OF_KIND[kind] else None,
            "flagged": _share(one.flagged for one in of_it),
            "called": dict(Counter(one.name for one in of_it).most_common()),
        }

    confidence, right = np.array([one.confidence for one in known]), np.array([one.right for one in known])
    return {
        "samples": len(known),
        "accuracy": _share(right),
        "flagged": _share(one.flagged for one in known),
        "ece": float(f"{float(reliability(confidence, right, CALIBRATION_BINS)['gap'][0]):.4g}"),
        "others": len(others),
        "flagged_others": _share(one.flagged for one in others),
        "left_out": left_out,
        "kinds": {kind: of_kind(kind) for kind in sorted({one.row.kind for one in answers})},
    }


@dataclass(frozen=True, kw_only=True)
class PhotographAnswer:
    """What is answered on a photograph: the likeliest class with its probability, and whether it is in doubt."""

    row: Photograph
    label: int
    name: str
    confidence: float
    flagged: bool

    @property
    def right(self) -> bool:
        """Whether the class is one of its kind's (D29); for a kind without a class, whether it is flagged."""
        return self.label in self.row.right if self.row.right else self.flagged


def answered(reader: Callable[[Picture], Classifier], row: Photograph) -> PhotographAnswer:
    """A photograph's answer, by the model that `reader` gives for it.

    Raises:
        PhotographsError: where it cannot be decoded.
    """
    picture = decoded(row)
    classifier = reader(picture)
    prepared = prepare_upright(classifier, picture, Recipe(manner=classifier.manner))
    answer = classifier.answer(prepared.image, prepared.unturned)
    label = int(answer.probabilities[0].argmax())
    return PhotographAnswer(
        row=row,
        label=label,
        name=classifier.class_names[label],
        confidence=float(answer.probabilities[0, label]),
        flagged=prepared.empty or bool(answer.strangeness[0] > classifier.threshold),
    )


def decoded(row: Photograph) -> Picture:
    """A photograph's picture.

    Raises:
        PhotographsError: where it cannot be decoded.
    """
    try:
        return decode(row.data, name=row.file)
    except PictureError as error:
        raise PhotographsError(compose("{file}: {reason}", file=row.file, reason=error)) from error


def _share(values: Iterable[bool]) -> float | None:
    """Share of true values; None of none."""
    counted = list(values)
    return float(f"{sum(counted) / len(counted):.4g}") if counted else None
