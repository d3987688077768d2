"""Decodes the probabilities of each frame to a sentence: best path, and prefix beam search.

Sources: Graves et al. 2006, section 3.2; Hannun et al. 2014 for the prefix search. All sums in log space.

Beam search ranks sentences by the sum over their alignments. A label that each of n frames gives a small probability p has n
places to stand, and so about n p / P(blank) of the weight of the sentence without it: over 40 frames of an empty wall, 3 % for
one digit outweigh the empty sentence. The best path has no such sum. `sharpened` frames bring the two together.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from core.messages import BadValue
from core.signs.vocabulary import BLANK

Prefix = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A sentence and how likely the frames make it.

    Attributes:
        labels: indices without blanks.
        log_probability: log P(labels | frames), summed over the paths that the beam kept.
    """

    labels: Prefix
    log_probability: float


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


def confident(log_probabilities: NDArray[np.floating], least: float) -> NDArray[np.floating]:
    """(T, V) with the frames of every gloss whose peak is below the probability `least` given to the blank."""
    changed = log_probabilities.copy()
    for span in gloss_spans(log_probabilities):
        if span.probability < least:
            changed[span.first : span.last + 1] = -np.inf
            changed[span.first : span.last + 1, BLANK] = 0.0
    return changed


def sharpened(log_probabilities: NDArray[np.floating], power: float) -> NDArray[np.float64]:
    """(T, V): each frame's probabilities to the power `power`, brought back to a sum of 1.

    Raises:
        ValueError: for a power of 0 or less.
    """
    if not power > 0:
        raise BadValue("the power of the frames' probabilities must be above 0, not {power}", power=power)
    raised = np.asarray(log_probabilities, dtype=np.float64) * power
    return np.asarray(raised - np.logaddexp.reduce(raised, axis=1, keepdims=True))


def beam_search(
    log_probabilities: NDArray[np.floating],
    *,
    width: int = 16,
    labels_a_frame: int = 20,
) -> list[Hypothesis]:
    """The most likely sentences, best first, at most `width`.

    Each prefix keeps two sums over its paths: those that end in the blank and those that end in its last label.

    Args:
        log_probabilities: (T, V), log of the frame's softmax.
        width: prefixes kept after each frame.
        labels_a_frame: only so many of the likeliest labels extend a prefix in a frame.

    Raises:
        ValueError: for no frames, or a width below 1.
    """
    steps = len(log_probabilities)
    if steps == 0 or width < 1 or labels_a_frame < 1:
        raise ValueError(f"a beam search takes 1 or more frames, prefixes and labels, not {steps}, {width} and {labels_a_frame}")
    frames = np.asarray(log_probabilities, dtype=np.float64)
    likely = BLANK + 1 + (-frames[:, BLANK + 1 :]).argsort(axis=1, kind="stable")[:, :labels_a_frame]
    kept: dict[Prefix, tuple[float, float]] = {(): (0.0, -math.inf)}  # paths that end in the blank, and in the last label
    for frame, labels in zip(frames.tolist(), likely.tolist(), strict=True):
        blank: dict[Prefix, float] = {}
        label: dict[Prefix, float] = {}
        for prefix, (in_blank, in_label) in kept.items():
            either = _log_sum(in_blank, in_label)
            blank[prefix] = either + frame[BLANK]
            if prefix:  # the last label held on
                label[prefix] = _log_sum(label.get(prefix, -math.inf), in_label + frame[prefix[-1]])
            for one in labels:
                before = in_blank if prefix and prefix[-1] == one else either  # a gloss starts again only after a blank
                longer = (*prefix, one)
                label[longer] = _log_sum(label.get(longer, -math.inf), before + frame[one])
        found = {prefix: (blank.get(prefix, -math.inf), label.get(prefix, -math.inf)) for prefix in blank | label}
        sums = {prefix: _log_sum(*both) for prefix, both in found.items()}
        best = heapq.nlargest(width, sums, key=sums.__getitem__)
        kept = {prefix: found[prefix] for prefix in best if sums[prefix] > -math.inf} or {best[0]: found[best[0]]}
    return [Hypothesis(labels=prefix, log_probability=_log_sum(*both)) for prefix, both in kept.items()]


def _log_sum(one: float, other: float) -> float:
    """The logarithm of the sum of two numbers by their logarithms."""
    larger, smaller = (one, other) if one > other else (other, one)
    return larger if smaller == -math.inf else larger + math.log1p(math.exp(smaller - larger))
