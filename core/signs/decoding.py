"""Decodes the probabilities of each frame to a sentence: best path, and prefix beam search.

Sources: Graves et al. 2006, section 3.2; Hannun et al. 2014 for the prefix search. All sums in log space.

Beam search ranks sentences by the sum over their alignments. A label that each of n frames gives a small probability p has n
places to stand, and so about n p / P(blank) of the weight of the sentence without it: over 40 frames of an empty wall, 3 % for
one digit outweigh the empty sentence. The best path has no such sum. `sharpened` frames bring the two together.
"""

from __future__ import annotations

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
    likely = BLANK + 1 + _largest(frames[:, BLANK + 1 :], labels_a_frame)  # (T, labels): what may extend a prefix
    likely_scores, labels = np.take_along_axis(frames, likely, axis=1), likely.shape[1]
    sources, columns = np.divmod(np.arange(width * labels), max(labels, 1))  # of the candidates, flat
    column_of = np.empty(frames.shape[1], dtype=np.int64)  # of each label among the likely, -1 where it is not
    tree = _PrefixTree(frames.shape[1], most=1 + steps * width)
    # of each kept prefix: its number, the shorter one's, its last label; sums by last: blank, label, either
    nodes, parents, ends = np.zeros(1, dtype=np.int64), np.full(1, -1), np.full(1, BLANK)
    blank, label, total = np.zeros(1), np.full(1, -np.inf), np.zeros(1)
    for frame, silent, added, added_scores in zip(frames, frames[:, BLANK].tolist(), likely, likely_scores, strict=True):
        stay_blank, stay_label = total + silent, label + frame[ends]
        longer = total[:, None] + added_scores  # (prefixes, labels)
        column_of[:] = -1
        column_of[added] = columns[:labels]
        column_of_end = column_of[ends]
        again = (column_of_end >= 0).nonzero()[0]  # the same label again starts a new gloss only after a blank
        longer[again, column_of_end[again]] = blank[again] + added_scores[column_of_end[again]]
        shorter, longest = (nodes[:, None] == parents).nonzero()
        if len(shorter):  # a kept prefix that extends another
            _absorb(longer, stay_label, shorter, longest, column_of_end[longest])
        ranks = np.concatenate([np.logaddexp(stay_blank, stay_label), longer.ravel()])
        order = _best(ranks, width, len(nodes))
        split = order.searchsorted(len(nodes))
        old, new = order[:split], order[split:] - len(nodes)
        new_parents, new_ends, total = nodes[sources[new]], added[columns[new]], ranks[order]
        nodes = np.concatenate([nodes[old], tree.extended(new_parents, new_ends)])
        parents, ends = np.concatenate([parents[old], new_parents]), np.concatenate([ends[old], new_ends])
        blank, label = np.full(len(order), -np.inf), total.copy()
        blank[:split], label[:split] = stay_blank[old], stay_label[old]
    kept = [
        Hypothesis(labels=tree.labels(node), log_probability=sums)
        for node, sums in zip(nodes.tolist(), total.tolist(), strict=True)
    ]
    return sorted(kept, key=lambda one: -one.log_probability)


def _absorb(
    longer: NDArray[np.float64],
    stay_label: NDArray[np.float64],
    shorter: NDArray[np.int64],
    longest: NDArray[np.int64],
    column: NDArray[np.int64],
) -> None:
    """Add to each kept prefix the paths by which another one, a label shorter, becomes it; in place."""
    shorter, longest, column = shorter[column >= 0], longest[column >= 0], column[column >= 0]
    stay_label[longest] = np.logaddexp(stay_label[longest], longer[shorter, column])
    longer[shorter, column] = -np.inf


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Places of the `count` largest along the last axis (all where there are fewer), in no order."""
    size = values.shape[-1]
    if count >= size:
        return np.broadcast_to(np.arange(size), values.shape)
    return values.argpartition(size - count, axis=-1)[..., size - count :]


def _best(ranks: NDArray[np.float64], width: int, kept: int) -> NDArray[np.int64]:
    """Places of the `width` largest, rising, none of which is impossible; the first of the `kept` where all are."""
    least = -np.inf
    if len(ranks) > width:
        parted = ranks.copy()
        parted.partition(-width)  # a third of what argpartition takes
        least = parted[-width]
    if least == -np.inf:
        possible = (ranks > least).nonzero()[0]
        return possible if len(possible) else np.arange(min(width, kept))
    order = (ranks >= least).nonzero()[0]
    return order if len(order) == width else np.sort(np.argsort(-ranks, kind="stable")[:width])  # several are just as good


class _PrefixTree:
    """The prefixes of a search by number: each is a shorter one and a last label; 0 is the empty one.

    Args:
        labels: V. most: prefixes that may be made.
    """

    def __init__(self, labels: int, most: int) -> None:
        self._labels, self._next = labels, 1
        self._made = np.zeros(most, dtype=np.int64)  # of each number: that of the shorter, times V, and the last label
        self._numbers: dict[int, int] = {}

    def extended(self, nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """(k,) the numbers of these prefixes with one label more each: those they had where they were made before."""
        first, self._next = self._next, self._next + len(nodes)
        made = self._made[first : self._next] = nodes * self._labels + labels
        return np.array([*map(self._numbers.setdefault, made.tolist(), range(first, self._next))], dtype=np.int64)

    def labels(self, node: int) -> Prefix:
        """All labels of a prefix."""
        reversed_labels: list[int] = []
        while node:
            node, label = divmod(int(self._made[node]), self._labels)
            reversed_labels.append(label)
        return tuple(reversed(reversed_labels))
