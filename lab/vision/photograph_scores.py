"""Scores of a model on photographs of garments, in ten kinds (D30)."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.scores import CALIBRATION_BINS, reliability
from core.vision.classifier import Classifier
from core.vision.photographs import KINDS, Photograph, PhotographsError
from core.vision.pictures import Picture, PictureError, decode
from core.vision.preprocessing import Recipe
from core.vision.uprightness import prepare_upright


def evaluate_photographs(
    reader: Callable[[Picture], Classifier], rows: Iterable[Photograph], *, progress: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Scores on photographs, each prepared and answered as the classify page answers an upload (D30).

    Args:
        reader: the model that answers a picture. progress: called after each photograph.

    Returns:
        `samples`: photographs of the ten kinds, and over these `accuracy` of the likeliest class, flagged or not, `flagged` (the
        share said not to look like a garment, or to show nothing) and `ece` (of the probability that is shown, D37);
        `left_out`: photographs of other kinds; `by_kind`: samples, accuracy and flagged of each kind, and how often each class
        was `called`.

    Raises:
        PhotographsError: for a photograph that cannot be decoded, or where none is of the ten kinds.
    """
    answers: list[PhotographAnswer] = []
    left_out = 0
    for row in rows:
        if row.name is None:
            left_out += 1
        else:
            answers.append(answered(reader, row))
        progress()
    if not answers:
        raise PhotographsError("none of the photographs is of one of the ten kinds: {kinds}", kinds=", ".join(KINDS))

    def of_kind(kind: str) -> dict[str, Any]:
        of_it = [one for one in answers if one.row.kind == kind]
        return {
            "samples": len(of_it),
            "accuracy": _share(one.right for one in of_it),
            "flagged": _share(one.flagged for one in of_it),
            "called": dict(Counter(one.name for one in of_it).most_common()),
        }

    confidence, right = np.array([one.confidence for one in answers]), np.array([one.right for one in answers])
    return {
        "samples": len(answers),
        "accuracy": _share(right),
        "flagged": _share(one.flagged for one in answers),
        "ece": float(f"{float(reliability(confidence, right, CALIBRATION_BINS)['gap'][0]):.4g}"),
        "left_out": left_out,
        "by_kind": {kind: of_kind(kind) for kind in KINDS if any(one.row.kind == kind for one in answers)},
    }


@dataclass(frozen=True, kw_only=True)
class PhotographAnswer:
    """Answer on a photograph: the likeliest class with its probability, "none of these" taken out, and whether it is in doubt."""

    row: Photograph
    name: str
    confidence: float
    flagged: bool

    @property
    def right(self) -> bool:
        """Tells whether the class is that of its kind."""
        return self.name == self.row.name


def answered(reader: Callable[[Picture], Classifier], row: Photograph) -> PhotographAnswer:
    """A photograph's answer, by the model that `reader` gives for it.

    Raises:
        PhotographsError: where it cannot be decoded.
    """
    try:
        picture = decode(row.data, name=row.file)
    except PictureError as error:
        raise PhotographsError("{file}: {reason}", file=row.file, reason=error) from error
    classifier = reader(picture)
    prepared = prepare_upright(classifier, picture, Recipe(manner=classifier.manner))
    answer = classifier.answer(prepared.image, prepared.unturned)
    label = int(answer.probabilities[0].argmax())
    return PhotographAnswer(
        row=row,
        name=classifier.class_names[label],
        confidence=float(classifier.shares(answer)[0, label]),
        flagged=prepared.empty or bool(answer.strangeness[0] > classifier.threshold),
    )


def _share(values: Iterable[bool]) -> float:
    counted = list(values)
    return float(f"{sum(counted) / len(counted):.6g}")
