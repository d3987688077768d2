"""Decodes the probabilities of each frame to a sentence, that of the best path (Graves et al. 2006, section 3.2)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from core.signs.vocabulary import BLANK


@dataclass(frozen=True, kw_only=True)
class GlossSpan:
    """One gloss of the best path: a run of frames with the same likeliest label.

    Attributes:
        label: index in the vocabulary. first, last: of the run's frames. peak: the frame that gives it the highest probability.
        probability: that probability.
    """

    label: int
    first: int
    last: int
    peak: int
    probability: float

    def counts(self, least: float, frames: int = 1) -> bool:
        """Tells whether it takes at least so many frames, and the surest gives it at least that probability."""
        return self.probability >= least and self.last - self.first + 1 >= frames


def collapse(path: Iterable[int]) -> list[int]:
    """CTC's map from a path to a sentence: repeats become one, then blanks go.

    >>> collapse([0, 7, 7, 0, 7, 2, 2, 0])
    [7, 7, 2]
    """
    return [int(label) for label, _repeats in groupby(path) if label != BLANK]


def greedy(log_probabilities: NDArray[np.floating]) -> list[int]:
    """The sentence of the most likely label in each frame, of (T, V)."""
    return collapse(log_probabilities.argmax(axis=1).tolist())


def gloss_spans(log_probabilities: NDArray[np.floating]) -> list[GlossSpan]:
    """The glosses of the best path of (T, V), in order, with the frames of each."""
    path = log_probabilities.argmax(axis=1)
    cuts = np.flatnonzero(np.diff(path)) + 1
    spans = []
    for run in np.split(np.arange(len(path)), cuts):
        label = int(path[run[0]])
        if label != BLANK:
            peak = int(run[log_probabilities[run, label].argmax()])
            probability = float(np.exp(log_probabilities[peak, label]))
            spans.append(GlossSpan(label=label, first=int(run[0]), last=int(run[-1]), peak=peak, probability=probability))
    return spans


def confident(log_probabilities: NDArray[np.floating], least: float, frames: int = 1) -> NDArray[np.floating]:
    """(T, V) with the frames of every gloss that does not count (`GlossSpan.counts`) given to the blank."""
    changed = log_probabilities.copy()
    for span in gloss_spans(log_probabilities):
        if not span.counts(least, frames):
            changed[span.first : span.last + 1] = -np.inf
            changed[span.first : span.last + 1, BLANK] = 0.0
    return changed
