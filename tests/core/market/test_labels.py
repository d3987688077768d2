"""Labels against loops that say D8 in words."""

import numpy as np
import pytest

from core.market.labels import DOWN, STATIONARY, UNKNOWN, UP, LabelKind, class_of, classify, fit_alpha, future_move
from tests.core.market.helpers import naive_label, random_book

KINDS: tuple[LabelKind, ...] = ("smoothed", "forward")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [1, 3, 9, 10, 11, 20, 50, 100])
def test_future_move_equals_the_loop(kind: LabelKind, horizon: int) -> None:
    mid = random_book(160, 1).mid
    expected = [naive_label(mid, t, horizon, kind) for t in range(len(mid))]
    np.testing.assert_allclose(future_move(mid, horizon, kind), expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [0, 1, 9, 10])
def test_a_series_no_longer_than_the_horizon_has_no_label(kind: LabelKind, length: int) -> None:
    move = future_move(np.linspace(100, 101, length), 10, kind)
    assert move.shape == (length,)
    assert np.isnan(move).all()


def test_classes_at_their_edges() -> None:
    alpha = 1e-3
    above, below = np.nextafter(alpha, 1), np.nextafter(-alpha, -1)
    moves = np.array([alpha, above, -alpha, below, 0.0, np.nan, np.inf, -np.inf])
    assert classify(moves, alpha).tolist() == [STATIONARY, UP, STATIONARY, DOWN, STATIONARY, UNKNOWN, UP, DOWN]
    assert [class_of(move, alpha) for move in (alpha, above, -alpha, below)] == [STATIONARY, UP, STATIONARY, DOWN]
    assert (DOWN, STATIONARY, UP) == (0, 1, 2)  # D3


def test_alpha_is_half_the_mean_size_of_the_known_moves() -> None:
    assert fit_alpha([np.array([0.02, -0.04, np.nan]), np.array([0.0, np.nan])]) == pytest.approx(0.01)


def test_alpha_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no move is known"):
        fit_alpha([np.array([np.nan, np.nan])])


def test_a_pegged_market_stands_still_whatever_is_rounded() -> None:
    mid = np.full(400, 1.0) + 1e-16 * np.arange(400)
    moves = future_move(np.nextafter(mid, np.where(np.arange(400) % 2, 2.0, 0.0)), 10, "forward")
    known = moves[~np.isnan(moves)]
    assert np.abs(known).max() > 0
    assert (classify(known, fit_alpha([moves])) == STATIONARY).all()
