"""Decodes the probabilities of each frame to a sentence: best path, and prefix beam search with or without a bigram of glosses.

Sources: Graves et al. 2006, section 3.2; Hannun et al. 2014 for the prefix search. All sums in log space.

Beam search ranks sentences by the sum over their alignments. A label that each of n frames gives a small probability p has n
places to stand, and so about n p / P(blank) of the weight of the sentence without it: over 40 frames of an empty wall, 3 % for
one digit outweigh the empty sentence. The best path has no such sum. `sharpened` frames bring the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.messages import compose
from core.signs.vocabulary import BLANK

Prefix = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A sentence and how likely the frames make it.

    Attributes:
        labels: indices without blanks.
        log_probability: log P(labels | frames), summed over the paths that the beam kept.
        score: what the search ranked by: the former, and the bigram's share where there is one.
    """

    labels: Prefix
    log_probability: float
    score: float


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


@dataclass(frozen=True)
class Bigram:
    """log P(next gloss | gloss before), with start and end; index 0 stands for both ends of a sentence.

    Attributes:
        log_probabilities: (V, V), row the gloss before, column the next; rows sum to 1.
    """

    log_probabilities: NDArray[np.float64]

    def step(self, prefix: Prefix, label: int) -> float:
        """log P(label | last of the prefix)."""
        return float(self.log_probabilities[prefix[-1] if prefix else 0, label])

    def end(self, prefix: Prefix) -> float:
        """log P(the sentence ends here)."""
        return self.step(prefix, 0)


def fit_bigram(sentences: Iterable[Sequence[int]], size: int, *, smoothing: float = 0.1) -> Bigram:
    """Count pairs of neighbours; each pair is seen `smoothing` times more often than it was.

    Args:
        size: V, the blank included.
    """
    counts = np.full((size, size), smoothing)
    for sentence in sentences:
        for before, after in pairwise((0, *sentence, 0)):
            counts[before, after] += 1
    return Bigram(np.log(counts / counts.sum(axis=1, keepdims=True)))


def collapse(path: Iterable[int]) -> list[int]:
    """CTC's map from a path to a sentence: repeats become one, then blanks go.

    >>> collapse([0, 7, 7, 0, 7, 2, 2, 0])
    [7, 7, 2]
    """
    found: list[int] = []
    before = BLANK
    for label in path:
        if label not in (BLANK, before):
            found.append(int(label))
        before = label
    return found


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
        raise ValueError(compose("the power of the frames' probabilities must be above 0, not {power}", power=power))
    raised = np.asarray(log_probabilities, dtype=np.float64) * power
    return np.asarray(raised - np.logaddexp.reduce(raised, axis=1, keepdims=True))


def beam_search(
    log_probabilities: NDArray[np.floating],
    *,
    width: int = 16,
    bigram: Bigram | None = None,
    weight: float = 0.5,
    bonus: float = 0.0,
    labels_a_frame: int = 20,
) -> list[Hypothesis]:
    """The most likely sentences, best first.

    Each prefix keeps two sums over its paths: those that end in the blank and those that end in its last label.

    Args:
        log_probabilities: (T, V), log of the frame's softmax.
        width: prefixes kept after each frame.
        bigram: adds `weight` * log P(gloss | gloss before) for each gloss and the end, and `bonus` for each gloss.
        labels_a_frame: only so many of the likeliest labels extend a prefix in a frame.

    Returns:
        At most `width` hypotheses.

    Raises:
        ValueError: for no frames, or a width below 1.
    """
    steps = len(log_probabilities)
    if steps == 0 or width < 1 or labels_a_frame < 1:
        raise ValueError(f"a beam search takes 1 or more frames, prefixes and labels, not {steps}, {width} and {labels_a_frame}")
    prior: dict[Prefix, float] = {(): 0.0}  # the bigram's share of each prefix
    beams: dict[Prefix, tuple[float, float]] = {(): (0.0, -np.inf)}
    for frame in np.asarray(log_probabilities, dtype=np.float64):
        likely = np.argsort(-frame, kind="stable")[: labels_a_frame + 1].tolist()
        following: dict[Prefix, tuple[float, float]] = {}
        for prefix, (blank, label) in beams.items():
            total = float(np.logaddexp(blank, label))
            _add(following, prefix, blank=total + frame[BLANK])
            if prefix:
                _add(following, prefix, label=label + frame[prefix[-1]])
            for extension in likely:
                if extension == BLANK:
                    continue
                longer = (*prefix, extension)
                # the same label again starts a new gloss only after a blank
                start = blank if prefix and prefix[-1] == extension else total
                if start == -np.inf or frame[extension] == -np.inf:
                    continue
                _add(following, longer, label=start + frame[extension])
                if longer not in prior:
                    prior[longer] = prior[prefix] + (0.0 if bigram is None else weight * bigram.step(prefix, extension) + bonus)
        ranked = sorted(following.items(), key=lambda item: -(float(np.logaddexp(*item[1])) + prior[item[0]]))
        beams = dict(ranked[:width])
    found = []
    for prefix, sums in beams.items():
        log_probability = float(np.logaddexp(*sums))
        end = 0.0 if bigram is None else weight * bigram.end(prefix)
        found.append(Hypothesis(labels=prefix, log_probability=log_probability, score=log_probability + prior[prefix] + end))
    return sorted(found, key=lambda one: -one.score)


def _add(sums: dict[Prefix, tuple[float, float]], prefix: Prefix, *, blank: float = -np.inf, label: float = -np.inf) -> None:
    before = sums.get(prefix, (-np.inf, -np.inf))
    sums[prefix] = (float(np.logaddexp(before[0], blank)), float(np.logaddexp(before[1], label)))
