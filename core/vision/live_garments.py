"""Reading of a camera, frame by frame: a garment, with a map of its patches three times a second, or own classes."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Answers, Classifier
from core.vision.own_classes import OwnClasses, as_read, read_own_classes
from core.vision.pictures import Bytes, from_pixels

EVERY_S: Final = 0.33
"""Seconds between two maps, as each takes longer than an answer."""
KEPT: Final = 0.6
"""Share of the answer before that stays in a new one, so that it does not flicker; a third of a second at ten frames a second."""


@dataclass(frozen=True, kw_only=True)
class LiveAnswer:
    """A frame's answer.

    Attributes:
        probabilities: (classes,), averaged over the last frames. familiar: False where it is like nothing that was learnt.
        relevance: (grid, grid) of the newest map, 0 to 1, over the frame padded to a square; None of own classes.
        took_s: seconds.
    """

    probabilities: NDArray[np.float64]
    familiar: bool
    relevance: NDArray[np.float64] | None
    took_s: float


class LiveGarments:
    """Answers the frames of one camera in order.

    Attributes:
        head: own classes to answer in; the model's while None.
    """

    def __init__(self, classifier: Classifier, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.classifier, self._clock = classifier, clock
        self.head: OwnClasses | None = None
        self._last: NDArray[np.float64] | None = None
        self._relevance: NDArray[np.float64] | None = None
        self._due = -np.inf

    def take_head(self, file: object) -> None:
        """Answer in own classes from now on, by the base64 of their file; in the model's own for None.

        Raises:
            OwnClassesError: for anything else.
        """
        if file is None:
            self.head = None
            return
        try:
            data = base64.b64decode(file if isinstance(file, str) else "", validate=True)
        except binascii.Error:
            data = b""
        self.head = read_own_classes(data)

    def step(self, rgb: Bytes) -> LiveAnswer:
        """The answer to a frame (height, width, 3), which is read whole and as it is held.

        Raises:
            OwnClassesError: for own classes of another model.
        """
        began = time.perf_counter()
        image = as_read(self.classifier, from_pixels(rgb, name=""))
        if self.head is not None:
            probabilities, familiar = self.head.answer(self.classifier, image)
        else:
            answers = self.classifier.answers(image[None])
            probabilities, familiar = answers.probabilities[0], bool(answers.strangeness[0] <= self.classifier.threshold)
        if self._last is not None and len(self._last) == len(probabilities):
            probabilities = KEPT * self._last + (1 - KEPT) * probabilities
        self._last = probabilities
        if self.head is not None:
            self._relevance = None
        elif (now := self._clock()) >= self._due:
            self._due = now + EVERY_S
            self._relevance = self._map(image, answers)
        return LiveAnswer(
            probabilities=probabilities, familiar=familiar, relevance=self._relevance, took_s=time.perf_counter() - began
        )

    def _map(self, image: Bytes, answers: Answers) -> NDArray[np.float64]:
        """(grid, grid) relevance to the likeliest class, the largest 1."""
        probabilities, strangeness = answers.probabilities[0], float(answers.strangeness[0])
        seen = PictureAnalysis(
            classifier=self.classifier, image=image, probabilities=probabilities, strangeness=strangeness, maps={}
        )
        relevance = seen.relevance(seen.likeliest).patches.clip(min=0)
        return np.asarray(relevance / max(float(relevance.max()), 1e-12))
