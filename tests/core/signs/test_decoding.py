"""Decoders against brute force over all paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from core.signs import ctc
from core.signs.decoding import beam_search, confident, greedy, sharpened


def frames(random: np.random.Generator, steps: int, size: int) -> NDArray[np.float64]:
    logits = random.normal(0, 2, (steps, size))
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def by_brute_force(log_probabilities: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
    """Every sentence with its probability, the sum over every path that says it."""
    steps, size = log_probabilities.shape
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(size), repeat=steps):
        sentence = tuple(label for label, _ in itertools.groupby(path) if label != 0)
        found[sentence] = found.get(sentence, 0.0) + math.exp(sum(log_probabilities[t, label] for t, label in enumerate(path)))
    return found


def test_greedy_takes_repeats_before_blanks() -> None:
    def sentence(*path: int) -> list[int]:
        return greedy(np.log(np.eye(3)[list(path)] + 0.1))

    assert sentence(0, 1, 1, 0, 1, 2, 2, 1) == [1, 1, 2, 1]
    assert sentence(0) == sentence(0, 0) == []


@pytest.mark.parametrize("seed", range(20))
def test_greedy_says_what_the_most_likely_path_says(seed: int) -> None:
    log_probabilities = frames(np.random.default_rng(seed), 5, 3)
    best = max(itertools.product(range(3), repeat=5), key=lambda path: sum(log_probabilities[t, v] for t, v in enumerate(path)))
    assert greedy(log_probabilities) == [label for label, _ in itertools.groupby(best) if label != 0]


@pytest.mark.parametrize("seed", range(20))
def test_a_wide_beam_finds_every_sentence_with_its_probability(seed: int) -> None:
    random = np.random.default_rng(seed)
    log_probabilities = frames(random, int(random.integers(1, 6)), int(random.integers(2, 5)))
    expected = by_brute_force(log_probabilities)
    found = beam_search(log_probabilities, width=2000)
    assert {one.labels for one in found} == set(expected)
    for one in found:
        assert math.exp(one.log_probability) == pytest.approx(expected[one.labels], abs=1e-12)
    assert [one.log_probability for one in found] == sorted((one.log_probability for one in found), reverse=True)
    assert sum(math.exp(one.log_probability) for one in found) == pytest.approx(1)


def test_the_beam_sums_where_the_best_path_does_not() -> None:
    """Graves' example: blank is each frame's best, and yet the sentence 1 is likelier than none."""
    log_probabilities = np.log(np.array([[0.6, 0.4], [0.6, 0.4]]))
    assert greedy(log_probabilities) == []
    best = beam_search(log_probabilities)[0]
    assert best.labels == (1,)
    assert math.exp(best.log_probability) == pytest.approx(0.64)


def test_impossible_labels_stay_out() -> None:
    with np.errstate(divide="ignore"):
        log_probabilities = np.log(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]))
    found = beam_search(log_probabilities, width=100)
    assert all(2 not in one.labels for one in found)
    assert all(np.isfinite(one.log_probability) for one in found)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="1 or more frames"):
        beam_search(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="1 or more frames"):
        beam_search(np.zeros((2, 3)), width=0)


def empty_wall(steps: int = 40, *, label: float = 0.03, size: int = 11) -> NDArray[np.float64]:
    """Frames without a hand as the digits model reads them: nearly all blank, one label a little above the rest."""
    row = np.full(size, 1e-4)
    row[4] = label
    row[0] = 1 - row[1:].sum()
    return np.log(np.tile(row, (steps, 1)))


def test_a_small_probability_in_every_frame_outweighs_the_empty_sentence() -> None:
    wall = empty_wall()
    assert greedy(wall) == []
    exact = {sentence: ctc.lattice(wall, sentence).log_probability for sentence in ((), (4,), (1,))}
    assert exact[(4,)] > exact[()] > exact[(1,)]  # so the search does what it should, and the sum itself is at fault
    assert beam_search(wall)[0].labels == (4,)


def test_sharpened_frames_leave_an_empty_wall_empty() -> None:
    sharp = sharpened(empty_wall(), 3.0)
    assert beam_search(sharp)[0].labels == ()
    assert ctc.lattice(sharp, ()).log_probability > ctc.lattice(sharp, (4,)).log_probability


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_sharpening_is_the_power_of_each_frame(power: float) -> None:
    log_probabilities = frames(np.random.default_rng(1), 6, 5)
    raised = np.exp(log_probabilities) ** power
    np.testing.assert_allclose(np.exp(sharpened(log_probabilities, power)), raised / raised.sum(axis=1, keepdims=True))
    assert greedy(sharpened(log_probabilities, power)) == greedy(log_probabilities)
    with pytest.raises(ValueError, match="above 0, not 0"):
        sharpened(log_probabilities, 0)


def test_frames_of_a_doubtful_gloss_go_to_the_blank() -> None:
    rows = [[0.9, 0.1, 0.0], [0.3, 0.7, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.4, 0.0, 0.6], [0.4, 0.05, 0.55]]
    with np.errstate(divide="ignore"):
        log_probabilities = np.log(np.array(rows))
    kept = confident(log_probabilities, 0.8)
    assert greedy(kept) == [1]
    assert greedy(confident(log_probabilities, 0.5)) == greedy(log_probabilities) == [1, 2]
    assert greedy(confident(log_probabilities, 0.95)) == []
    np.testing.assert_array_equal(kept[:4], log_probabilities[:4])
    np.testing.assert_array_equal(np.exp(kept[4:]), [[1, 0, 0], [1, 0, 0]])
    assert beam_search(sharpened(kept, 3.0))[0].labels == (1,)


def test_only_so_many_labels_extend_a_prefix() -> None:
    """The blank is none of them, wherever it ranks."""
    log_probabilities = np.log(np.array([[0.2, 0.5, 0.3, 0.0001], [0.1, 0.3, 0.6, 0.0001]]))
    assert {one.labels for one in beam_search(log_probabilities, width=100, labels_a_frame=1)} == {(), (1,), (2,), (1, 2)}


def test_equally_likely_prefixes_fill_the_beam_and_no_more() -> None:
    even = np.full((3, 4), np.log(0.25))
    for width in (1, 2, 3, 5):
        found = beam_search(even, width=width)
        assert len(found) == width
        for one in found:  # paths that the beam kept are among all
            assert one.log_probability <= ctc.lattice(even, one.labels).log_probability + 1e-9


def test_a_prefix_that_comes_back_is_the_one_that_its_extensions_extend() -> None:
    """A prefix leaves the beam while a longer one stays, and is found again: nothing may be kept twice."""
    shares = [[1, 3, 996], [62, 170, 768], [13, 0.1, 987], [52, 170, 778], [35, 69, 896]]  # per thousand
    found = [one.labels for one in beam_search(np.log(np.array(shares) / 1e3), width=3)]
    assert len(set(found)) == 3
