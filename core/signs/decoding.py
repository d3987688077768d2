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
    step = None if bigram is None else weight * bigram.log_probabilities + bonus
    tree = _PrefixTree()
    nodes = [0]  # the kept prefixes; below, what is known of each: sums over paths, last label, and the bigram's share
    blank, label, ends, prior = np.zeros(1), np.full(1, -np.inf), np.full(1, BLANK), np.zeros(1)
    frames = np.asarray(log_probabilities, dtype=np.float64)
    for frame, likely in zip(frames, _largest(frames, labels_a_frame + 1), strict=True):
        likely = likely[likely != BLANK]
        total = np.logaddexp(blank, label)
        stay_blank, stay_label = total + frame[BLANK], label + frame[ends]
        # the same label again starts a new gloss only after a blank
        longer = np.where(ends[:, None] == likely, blank[:, None], total[:, None]) + frame[likely]  # (prefixes, labels)
        shorter, longest, last = tree.extensions(nodes, likely.tolist())
        stay_label[longest] = np.logaddexp(stay_label[longest], longer[shorter, last])  # a kept prefix that extends another
        longer[shorter, last] = -np.inf
        shares = prior[:, None] + (np.zeros_like(longer) if step is None else step[ends][:, likely])
        ranks = np.concatenate([np.logaddexp(stay_blank, stay_label) + prior, (longer + shares).ravel()])
        order = _largest(ranks, width)
        order = order[ranks[order] > -np.inf] if ranks.max() > -np.inf else np.arange(min(width, len(nodes)))
        extended = order >= len(nodes)
        source, column = np.where(extended, (order - len(nodes)) // max(len(likely), 1), order), np.zeros_like(order)
        column[extended] = (order[extended] - len(nodes)) % len(likely)
        added = likely[column].tolist() if len(likely) else []
        kept = [nodes[i] for i in source.tolist()]
        nodes = [tree.child(kept[i], added[i]) if new else kept[i] for i, new in enumerate(extended.tolist())]
        blank, label = np.where(extended, -np.inf, stay_blank[source]), stay_label[source]
        prior, ends = prior[source], ends[source]
        rows, columns = source[extended], column[extended]
        label[extended], prior[extended], ends[extended] = longer[rows, columns], shares[rows, columns], likely[columns]
    found = []
    for node, log_probability, share in zip(nodes, np.logaddexp(blank, label).tolist(), prior.tolist(), strict=True):
        prefix = tree.labels(node)
        end = 0.0 if bigram is None else weight * bigram.end(prefix)
        found.append(Hypothesis(labels=prefix, log_probability=log_probability, score=log_probability + share + end))
    return sorted(found, key=lambda one: -one.score)


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Places of the `count` largest along the last axis (all where there are fewer), in no order."""
    if count >= values.shape[-1]:
        return np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    return np.argpartition(-values, count, axis=-1)[..., :count]


class _PrefixTree:
    """The prefixes of a search by number: each is a shorter one (`parents`) and a last label (`ends`); 0 is the empty one."""

    def __init__(self) -> None:
        self.parents, self.ends = [-1], [BLANK]
        self._children: dict[tuple[int, int], int] = {}

    def child(self, node: int, label: int) -> int:
        """The prefix with one label more."""
        found = self._children.setdefault((node, label), len(self.ends))
        if found == len(self.ends):
            self.parents.append(node)
            self.ends.append(label)
        return found

    def extensions(self, nodes: Sequence[int], labels: Sequence[int]) -> NDArray[np.int64]:
        """(3, k): where one of the nodes extends another by one of the labels: places of the shorter, the longer, the label."""
        places, columns = {node: i for i, node in enumerate(nodes)}, {label: k for k, label in enumerate(labels)}
        found = [
            (places[self.parents[node]], i, columns[self.ends[node]])
            for i, node in enumerate(nodes)
            if self.parents[node] in places and self.ends[node] in columns
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 3).T

    def labels(self, node: int) -> Prefix:
        """All labels of a prefix."""
        found: list[int] = []
        while node:
            found.append(self.ends[node])
            node = self.parents[node]
        return tuple(reversed(found))
