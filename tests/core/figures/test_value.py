"""Figures of what a call is worth: what is drawn is what was given, and zero always."""

from __future__ import annotations

import numpy as np
import pytest

from core.figures.value import moves_figure, result_figure
from core.market.answers.value import Estimate


def test_moves_stand_beside_zero_and_costs() -> None:
    moves = {"TLOB": Estimate(value=1.0, low=0.5, high=2.0), "Momentum": Estimate(value=-1.0, low=-1.5, high=0.0)}
    dots, *lines = moves_figure(moves, half_spread=0.4, fee=0.1).data
    assert dots.x == (1.0, -1.0)
    assert dots.error_x.array == (1.0, 1.0)
    assert dots.error_x.arrayminus == pytest.approx((0.5, 0.5))
    assert [line.x[0] for line in lines] == pytest.approx([0.0, 0.4, 1.0])


@pytest.mark.parametrize("trades", [0, 3])
def test_a_result_is_summed_and_zero_always_drawn(trades: int) -> None:
    times = np.arange(trades, dtype=np.int64)
    figure = result_figure({"TLOB": (times, np.full(trades, -1.5))})
    assert list(figure.data[0].y) == pytest.approx([-1.5, -3.0, -4.5][:trades])
    assert [shape.y0 for shape in figure.layout.shapes] == [0]
