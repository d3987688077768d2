"""Scores of a ViT on photographs of garments (D29)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.messages import compose
from core.scores import CALIBRATION_BINS, reliability
from core.vision.classifier import Classifier
from core.vision.photographs import CLASSES_OF_KIND, Photograph, PhotographsError
from core.vision.pictures import Picture, PictureError, decode
from core.vision.preprocessing import Recipe, like_the_data_set
from core.vision.uprightness import prepare_upright


def evaluate_photographs(
    classifier: Classifier, rows: Iterable[Photograph], *, cleared: Classifier | None = None
) -> dict[str, Any]:
    """Scores on photographs, each prepared as the classify page prepares an upload (D29).

    Args:
        cleared: answers pictures that are made as the data set's are, as on the page; `classifier` does where left out.

    Returns:
        `samples`: photographs of the seven kinds that have a class, and over these `accuracy` of the likeliest class, flagged or
        not, `flagged` (the share said not to look like a garment, or to show nothing) and `ece`; `others`: photographs of the
        three kinds without a class, and `flagged_others`; `left_out`: photographs of kinds that D29 does not name; `kinds`:
        samples, accuracy (null without a class) and flagged of each. A share of nothing is null.

    Raises:
        PhotographsError: for a photograph that cannot be decoded, or where no kind has a class.
    """
    images: list[NDArray[np.uint8]] = []
    doubted: list[bool] = []
    by_other: list[bool] = []
    kinds: list[str] = []
    left_out = 0
    for row in rows:
        if row.right is None:
            left_out += 1
            continue
        picture = decoded(row)
        by_other.append(cleared is not None and like_the_data_set(picture))
        reader = cleared if cleared is not None and by_other[-1] else classifier
        prepared = prepare_upright(reader, picture, Recipe(manner=reader.manner))
        images.append(prepared.image)
        strange = prepared.unturned is not None and not reader.looks_like_a_garment(prepared.unturned[None])[0]
        doubted.append(prepared.empty or bool(strange))
        kinds.append(row.kind)
    known = np.array([bool(CLASSES_OF_KIND[kind]) for kind in kinds], dtype=bool)
    if not known.any():
        raise PhotographsError(
            compose(
                "none of the photographs is of a kind that has a class: {kinds}",
                kinds=", ".join(kind for kind, labels in CLASSES_OF_KIND.items() if labels),
            )
        )
    called, confidence, flagged = np.zeros(len(kinds), np.int64), np.zeros(len(kinds)), np.array(doubted)
    for one, chosen in ((classifier, ~np.array(by_other)), (cleared, np.array(by_other))):
        if one is not None and chosen.any():
            answers = one.answers(np.stack([images[row] for row in np.flatnonzero(chosen)]))
            called[chosen], confidence[chosen] = answers.probabilities.argmax(axis=1), answers.probabilities.max(axis=1)
            flagged[chosen] |= answers.strangeness > one.threshold
    right = np.array([int(label) in CLASSES_OF_KIND[kind] for label, kind in zip(called, kinds, strict=True)])

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


def right_answers(classifier: Classifier, rows: Sequence[Photograph]) -> list[bool]:
    """Whether the likeliest class is right for each photograph's kind (D29); for a kind without a class, whether it is flagged.

    Raises:
        PhotographsError: for a photograph that cannot be decoded.
    """
    prepared = [prepare_upright(classifier, decoded(row), Recipe(manner=classifier.manner)) for row in rows]
    answers = classifier.answers(np.stack([one.image for one in prepared]))
    called, flagged = answers.probabilities.argmax(axis=1), answers.strangeness > classifier.threshold
    flagged |= [one.unturned is not None and not classifier.looks_like_a_garment(one.unturned[None])[0] for one in prepared]
    return [
        bool(int(label) in row.right if row.right else doubt) for label, doubt, row in zip(called, flagged, rows, strict=True)
    ]


def decoded(row: Photograph) -> Picture:
    """A photograph's picture.

    Raises:
        PhotographsError: where it cannot be decoded.
    """
    try:
        return decode(row.data, name=row.file)
    except PictureError as error:
        raise PhotographsError(compose("{file}: {reason}", file=row.file, reason=error)) from error


def _share(values: NDArray[np.bool_]) -> float | None:
    """Share of true values; None of none."""
    return float(f"{values.mean():.4g}") if len(values) else None
