"""The answer on one picture in short: the class with its probability, and the patch without which it loses most."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.vision.analysis import PictureAnalysis
from core.vision.evidence import hidden_answer, mask_of


@dataclass(frozen=True, kw_only=True)
class MarkedAnswer:
    """An answer with its most important patch.

    Attributes:
        picture: the picture as the model reads it, a JPEG in base64.
        answer: the likeliest class. probability: its probability, "none of these" among the answers (D37). none: that of none.
        garment: whether the picture is as like the training images as the card's threshold asks.
        grid: patches along a side. patch: the one that counts most, from 0, row by row.
        left: the probability without it.
    """

    picture: str
    answer: str
    probability: float
    none: float
    garment: bool
    grid: int
    patch: int
    left: float


def marked_answer(analysis: PictureAnalysis, losses: NDArray[np.float64]) -> MarkedAnswer:
    """The answer of an analysis and its losses without each patch, (patches,)."""
    patch = int(losses.argmax())
    without = hidden_answer(analysis, mask_of([patch + 1], analysis.grid**2))
    shown = BytesIO()
    Image.fromarray(analysis.image).save(shown, "JPEG", quality=90)
    return MarkedAnswer(
        picture=b64encode(shown.getvalue()).decode(),
        answer=analysis.classifier.class_names[analysis.likeliest],
        probability=round(float(analysis.shares[analysis.likeliest]), 4),
        none=round(analysis.none, 4),
        garment=analysis.garment,
        grid=analysis.grid,
        patch=patch,
        left=round(float(without[analysis.likeliest]), 4),
    )
