"""Reading of a camera, frame by frame: a garment, with a map of its patches three times a second."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Answers, Classifier
from core.vision.garments import Edges
from core.vision.pictures import Bytes, from_pixels
from core.vision.preprocessing import Recipe, prepare
from core.vision.uprightness import WHOLE, of_box, small_garment

EVERY_S: Final = 0.33
"""Seconds between two maps, as each takes longer than an answer."""
KEPT: Final = 0.6
"""Share of the answer before that stays in a new one, so that it does not flicker; a third of a second at ten frames a second."""
FINE: Final = 32
"""Cells along a side of a map over a frame of which a part is read."""


@dataclass(frozen=True, kw_only=True)
class LiveAnswer:
    """A frame's answer.

    Attributes:
        probabilities: (classes,), "none of these" taken out, averaged over the last frames.
        familiar: False where it is like nothing that was learnt.
        relevance: (n, n) of the newest map, 0 to 1, over the frame padded to a square: a number a patch of the model, or `FINE`
            along a side where a part of the frame is read.
        took_s: seconds.
    """

    probabilities: NDArray[np.float64]
    familiar: bool
    relevance: NDArray[np.float64]
    took_s: float


class LiveGarments:
    """Answers the frames of one camera in order."""

    def __init__(self, classifier: Classifier, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.classifier, self._clock = classifier, clock
        self._last: NDArray[np.float64] | None = None
        self._relevance = np.zeros((1, 1))
        self._due = -np.inf

    def step(self, rgb: Bytes) -> LiveAnswer:
        """The answer to a frame (height, width, 3), read as it is held: a small garment in it by itself."""
        began = time.perf_counter()
        picture, recipe = from_pixels(rgb, name=""), Recipe(manner=self.classifier.manner, border="none", turn="none")
        given = prepare(picture, replace(recipe, crop="whole"), side=self.classifier.config.side)
        edges = small_garment(self.classifier, picture, given, recipe)
        image = given.image if edges == WHOLE else of_box(self.classifier, picture, recipe, edges).image
        answers = self.classifier.answers(image[None])
        probabilities = self.classifier.shares(answers)[0]
        if self._last is not None:
            probabilities = KEPT * self._last + (1 - KEPT) * probabilities
        self._last = probabilities
        if (now := self._clock()) >= self._due:
            self._due = now + EVERY_S
            relevance = self._map(image, answers)
            self._relevance = relevance if edges == WHOLE else over_frame(relevance, edges, rgb.shape[:2])
        return LiveAnswer(
            probabilities=probabilities,
            familiar=bool(answers.strangeness[0] <= self.classifier.threshold),
            relevance=self._relevance,
            took_s=time.perf_counter() - began,
        )

    def _map(self, image: Bytes, answers: Answers) -> NDArray[np.float64]:
        """(grid, grid) relevance to the likeliest class, the largest 1."""
        probabilities, strangeness = answers.probabilities[0], float(answers.strangeness[0])
        seen = PictureAnalysis(
            classifier=self.classifier, image=image, probabilities=probabilities, strangeness=strangeness, maps={}
        )
        relevance = seen.relevance(seen.likeliest)[1:].reshape(seen.grid, seen.grid).clip(min=0)
        return np.asarray(relevance / max(float(relevance.max()), 1e-12))


def over_frame(relevance: NDArray[np.float64], edges: Edges, shape: tuple[int, int]) -> NDArray[np.float64]:
    """(FINE, FINE): a map (grid, grid) over a part of a frame, padded to a square, as one over the frame, padded likewise.

    Args:
        edges: of the part, percent. shape: height and width of the frame.
    """
    cells = np.zeros((2, FINE), np.int64)
    inside = np.zeros((2, FINE), bool)
    spans = [(edges[1 - axis] * shape[axis] / 100, edges[3 - axis] * shape[axis] / 100) for axis in (0, 1)]
    square = max(end - begin for begin, end in spans)
    for axis, (begin, end) in enumerate(spans):
        centres = (np.arange(FINE) + 0.5) / FINE * max(shape) - (max(shape) - shape[axis]) / 2
        place = (centres - (begin + end - square) / 2) / square
        inside[axis] = (place >= 0) & (place < 1)
        cells[axis] = (place * len(relevance)).clip(0, len(relevance) - 1).astype(np.int64)
    return np.where(np.outer(inside[0], inside[1]), relevance[np.ix_(cells[0], cells[1])], 0.0)
