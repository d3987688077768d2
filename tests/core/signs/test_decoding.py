"""Glosses of the best path, and those that are sure enough."""

import numpy as np

from core.signs.decoding import confident, gloss_spans, greedy


def test_greedy_takes_repeats_before_blanks() -> None:
    def sentence(*path: int) -> list[int]:
        return greedy(np.log(np.eye(3)[list(path)] + 0.1))

    assert sentence(0, 1, 1, 0, 1, 2, 2, 1) == [1, 1, 2, 1]
    assert sentence(0) == sentence(0, 0) == []


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


def test_a_gloss_of_one_frame_counts_only_where_one_is_enough() -> None:
    path = np.log(np.eye(3)[[1, 1, 2, 1, 1, 0, 2, 2]] + 0.1)
    assert greedy(path) == [1, 2, 1, 2]
    assert greedy(confident(path, 0.0)) == [1, 2, 1, 2]
    assert greedy(confident(path, 0.0, frames=2)) == [1, 1, 2]


def test_a_gloss_of_exactly_the_least_probability_stays() -> None:
    log_probabilities = np.log(np.array([[0.3, 0.7], [0.9, 0.1]]))
    (gloss,) = gloss_spans(log_probabilities)
    assert greedy(confident(log_probabilities, gloss.probability)) == [1]
    assert greedy(confident(log_probabilities, np.nextafter(gloss.probability, 1))) == []
