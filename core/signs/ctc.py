"""Connectionist temporal classification with its lattice, paths and gradient exposed (iiga-equations section 11).

Log space, float64, one sequence at a time, after Graves et al. 2006. Training uses `torch.nn.functional.ctc_loss`; a test
holds this equal to it. Indices: frame t of T, state s of S = 2U + 1, where the extended target has a blank around each label.

Section 11.7 differs from Graves in three places (D17). It leaves out the skip over a blank between two different labels,
which `skip=False` reproduces; it sums the last frame over all states, which `unfinished_log_probability` reproduces; and it
multiplies beta by the emission of the state that is left instead of the one that is entered, which would let alpha and beta
disagree about P(target); that is not reproduced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.messages import Refusal
from core.signs.vocabulary import BLANK

Array = NDArray[np.float64]


class CTCError(Refusal, ValueError):
    """A target without a valid path; the message says why and what would be right."""


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Result of the forward and backward recursions, in natural logarithms; -inf stands for impossible.

    Attributes:
        log_probabilities: (T, V) of the frames. target: U labels. states: (S,) the extended target.
        skip: whether a blank between two different labels may be left out.
        alpha: (T, S) log P(frames up to t end in state s), the emission at t included.
        beta: (T, S) log P(the frames after t finish the target | state s at t), the emission at t not included.
        log_probability: log P(target | frames).
    """

    log_probabilities: Array
    target: tuple[int, ...]
    states: NDArray[np.int64]
    skip: bool
    alpha: Array
    beta: Array
    log_probability: float

    @property
    def loss(self) -> float:
        """-log P(target | frames), nats (section 11.6); inf where every path has a frame that rules it out."""
        return 0.0 - self.log_probability

    @property
    def posteriors(self) -> Array:
        """gamma, (T, S): P(state s at t | target). Rows sum to 1; all 0 where the target is impossible."""
        if self.log_probability == -np.inf:
            return np.zeros_like(self.alpha)
        return np.exp(self.alpha + self.beta - self.log_probability)

    @property
    def label_posteriors(self) -> Array:
        """(T, V): gamma summed over the states of each label."""
        summed, gamma = np.zeros_like(self.log_probabilities), self.posteriors
        for state, label in enumerate(self.states):
            summed[:, label] += gamma[:, state]
        return summed

    @property
    def gradient(self) -> Array:
        """dLoss / dLogits, (T, V): probabilities less label posteriors (section 11.8). Rows sum to 0.

        NaN where the target is impossible: its loss is infinite.
        """
        if self.log_probability == -np.inf:
            return np.full_like(self.log_probabilities, np.nan)
        return np.exp(self.log_probabilities) - self.label_posteriors

    @property
    def unfinished_log_probability(self) -> float:
        """log of section 11.7's sum of alpha over all states of the last frame: paths that stop anywhere count too (D17)."""
        return float(np.logaddexp.reduce(self.alpha[-1]))


@dataclass(frozen=True, kw_only=True)
class Path:
    """One alignment. Attributes: states: (T,) indices into the extended target. labels: (T,). log_probability: section 11.4."""

    states: tuple[int, ...]
    labels: tuple[int, ...]
    log_probability: float


def log_softmax(logits: NDArray[np.floating]) -> Array:
    """Logits (T, V) -> log probabilities, the largest taken out first (section 16.1)."""
    shifted = np.asarray(logits, dtype=np.float64)
    shifted = shifted - shifted.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def extended(target: Sequence[int]) -> NDArray[np.int64]:
    """y' of section 11.7: a blank before, between and after the labels.

    >>> extended([7, 7, 2]).tolist()
    [0, 7, 0, 7, 0, 2, 0]
    """
    states = np.full(2 * len(target) + 1, BLANK, dtype=np.int64)
    states[1::2] = target
    return states


def repeats(target: Sequence[int]) -> int:
    """r: how many labels equal the one before."""
    return sum(before == after for before, after in pairwise(target))


def frames_needed(target: Sequence[int], *, skip: bool = True) -> int:
    """The shortest T for which a path exists: U + r (D19), or 2U - 1 where no blank may be skipped; 1 for an empty target."""
    labels = len(target)
    return max(1, labels + repeats(target) if skip else 2 * labels - 1)


def lattice(log_probabilities: NDArray[np.floating], target: Sequence[int], *, skip: bool = True) -> Lattice:
    """Forward and backward.

    Args:
        log_probabilities: (T, V), each row the log of a distribution.
        target: labels without blanks; may be empty.
        skip: False gives section 11.7's recursion, which visits every blank.

    Raises:
        CTCError: for a target longer than T allows (D19), labels outside the vocabulary, or no frames.
    """
    frames = np.asarray(log_probabilities, dtype=np.float64)
    _check(frames, target, skip)
    states = extended(target)
    emitted = frames[:, states]  # (T, S)
    skips = np.array([skip and len(sources_of(states, s)) == 3 for s in range(len(states))])  # entered from s - 2
    alpha = np.full(emitted.shape, -np.inf)
    alpha[0, :2] = emitted[0, :2]
    for t in range(1, len(frames)):
        alpha[t] = _arriving(alpha[t - 1], skips) + emitted[t]
    beta = np.full(emitted.shape, -np.inf)
    beta[-1, -2:] = 0.0
    for t in range(len(frames) - 2, -1, -1):
        # the same recursion, on the lattice turned round: a skip into state s is a skip out of s - 2
        beta[t] = _arriving((beta[t + 1] + emitted[t + 1])[::-1], np.r_[skips[2:], False, False][::-1])[::-1]
    return Lattice(
        log_probabilities=frames,
        target=tuple(int(label) for label in target),
        states=states,
        skip=skip,
        alpha=alpha,
        beta=beta,
        log_probability=float(np.logaddexp.reduce(alpha[-1, -2:])),
    )


def best_path(lattice: Lattice) -> Path:
    """The likeliest single alignment to the target (Viterbi): the same recursion with max for sum."""
    emitted = lattice.log_probabilities[:, lattice.states]
    sources = [sources_of(lattice.states, s, skip=lattice.skip) for s in range(len(lattice.states))]
    score = np.full(emitted.shape, -np.inf)
    score[0, :2] = emitted[0, :2]
    for t in range(1, len(score)):
        score[t] = emitted[t] + [score[t - 1, some].max() for some in sources]
    path = [max(range(len(sources))[-2:], key=lambda s: (score[-1, s], s))]
    for before in score[-2::-1]:
        path.append(max(sources[path[-1]], key=before.__getitem__))
    return _path(lattice, tuple(reversed(path)))


def sources_of(states: NDArray[np.int64], s: int, *, skip: bool = True) -> list[int]:
    """The states from which one step leads to s: itself, the one before, and over a blank between different labels."""
    sources = [s]
    if s >= 1:
        sources.append(s - 1)
    if skip and s >= 2 and states[s] != BLANK and states[s] != states[s - 2]:
        sources.append(s - 2)
    return sources


def count_paths(target: Sequence[int], frames: int, *, skip: bool = True) -> int:
    """Number of alignments of a target over `frames` frames, exact."""
    states = extended(target)
    counts = [1 if s < 2 else 0 for s in range(len(states))]
    for _ in range(frames - 1):
        counts = [sum(counts[source] for source in sources_of(states, s, skip=skip)) for s in range(len(states))]
    return sum(counts[-2:])


def valid_paths(lattice: Lattice, *, most: int = 2000) -> list[Path]:
    """All alignments of a target, the likeliest first (section 11.3).

    Raises:
        CTCError: where there are more than `most`.
    """
    steps = len(lattice.log_probabilities)
    count = count_paths(lattice.target, steps, skip=lattice.skip)
    if count > most:
        raise CTCError(
            "the target has {count} paths over {steps} frames: at most {most} are listed", count=count, steps=steps, most=most
        )
    paths = [_path(lattice, states) for states in _beginnings(lattice, steps - 1, None)]
    return sorted(paths, key=lambda path: (-path.log_probability, path.states))


def _beginnings(lattice: Lattice, t: int, into: int | None) -> Iterator[tuple[int, ...]]:
    """All beginnings of a path up to frame t that lead to state `into` at t + 1, or end the path where None."""
    last = len(lattice.states) - 1
    ends = range(max(0, last - 1), last + 1) if into is None else sources_of(lattice.states, into, skip=lattice.skip)
    for state in ends:
        if t == 0:
            if state < 2:
                yield (state,)
        elif state <= 1 + 2 * t:  # a step climbs two states at the most
            for before in _beginnings(lattice, t - 1, state):
                yield (*before, state)


def _path(lattice: Lattice, states: tuple[int, ...]) -> Path:
    labels = lattice.states[list(states)]
    chosen = lattice.log_probabilities[np.arange(len(labels)), labels]
    return Path(states=states, labels=tuple(labels.tolist()), log_probability=float(chosen.sum()))


def _arriving(before: Array, skips: NDArray[np.bool_]) -> Array:
    """log of the sum that reaches each state from itself, the state before and, where allowed, the one before that."""
    total = before.copy()
    total[1:] = np.logaddexp(total[1:], before[:-1])
    total[2:] = np.logaddexp(total[2:], np.where(skips[2:], before[:-2], -np.inf))
    return total


def _check(frames: Array, target: Sequence[int], skip: bool) -> None:
    if frames.ndim != 2 or not frames.size:
        raise CTCError("CTC takes log probabilities of (T, V) with one frame or more, not {shape}", shape=frames.shape)
    outside = [label for label in target if not 0 < label < frames.shape[1]]
    if outside:
        raise CTCError(
            "labels run from 1 to {last}, 0 being the blank: the target has {label}", last=frames.shape[1] - 1, label=outside[0]
        )
    needed = frames_needed(target, skip=skip)
    if len(frames) < needed:
        counts = {"labels": len(target), "needed": needed, "frames": len(frames)}
        if skip:
            raise CTCError(
                "no path exists: {labels} labels and {repeats} repeats next to each other need {needed} frames, "
                "and there are {frames}",
                repeats=repeats(target),
                **counts,
            )
        raise CTCError(
            "no path exists: {labels} labels and every blank between them need {needed} frames, and there are {frames}", **counts
        )
