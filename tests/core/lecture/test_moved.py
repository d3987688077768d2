"""What moved between two states of a matrix: cells, rows, the largest change."""

import numpy as np
import pytest

from core.lecture.moved import compare, doublings, trend


def test_only_what_differs_moved() -> None:
    before = np.array([[0.31, 0.69], [0.5, 0.5], [0.2, 0.8]])
    after = np.array([[0.51, 0.49], [0.5, 0.5], [0.2, 0.8 + 1e-12]])
    found = compare(before, after)
    assert found.rows == (0,) and found.still == (1, 2) and found.most in ((0, 0), (0, 1))
    assert found.cells.tolist() == [[True, True], [False, False], [False, False]]


def test_a_masked_score_that_stays_masked_did_not_move_and_one_that_opens_moved_most() -> None:
    before = np.array([[-np.inf, 5.0], [-np.inf, 1.0]])
    after = np.array([[-np.inf, 9.0], [0.1, 1.0]])
    found = compare(before, after)
    assert found.cells.tolist() == [[False, True], [True, False]] and found.most == (1, 0)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="equal shapes"):
        compare(np.zeros((2, 2)), np.zeros((2, 3)))


def test_rounding_is_measured_by_the_largest_finite_entry_and_what_is_no_number_stays_so() -> None:
    before = np.array([[1e6, 1.0, np.nan, np.inf]])
    assert not compare(before, np.array([[1e6, 1.0005, np.nan, np.inf]])).cells.any()  # a billionth of a million
    assert compare(before, np.array([[1e6, 1.002, np.nan, np.inf]])).cells.tolist() == [[False, True, False, False]]
    assert compare(before, np.array([[1e6, 1.0, 2.0, np.inf]])).cells.tolist() == [[False, False, True, False]]
    assert compare(np.array([[1e6, 1.0]]), np.array([[-1e6, 3.0]])).most == (0, 0)  # the change, not the sum
    assert compare(np.array([[1e-6]]), np.array([[1.001e-6]])).cells.all()  # small matrices too
    nothing = np.full((1, 2), -np.inf)
    assert not compare(nothing, nothing).cells.any()


def test_a_trend_is_a_change_beyond_rounding() -> None:
    for before, after, direction in ((1, 2, 1), (2, 1, -1), (-2, -1, 1), (1, 1 + 1e-9, 0), (0, 0, 0)):
        assert trend(before, after) == direction


def test_sizes_are_told_apart_by_doublings_and_a_row_leads_alone() -> None:
    wanted = {(1, 1.1): 0, (1, 2): 1, (3, 1.6): -1, (-1, -4): 2, (1, 99): 2, (1, 1e-9): -2, (1, 2**0.5): None, (1, -1): None}
    assert {pair: doublings(*pair) for pair in wanted} == wanted
    assert doublings(0, 1) is None and doublings(1, float("inf")) is None
    before = np.zeros((3, 2))
    led, level = (np.array([[0, 1], [0, 0], [other, 0]]) for other in (0.8, 0.95))
    assert compare(before, led).leads and not compare(before, level).leads and not compare(before, before).leads
    assert not compare(before[:1], led[:1]).leads  # alone it is no choice
