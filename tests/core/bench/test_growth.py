"""Exponents of known curves, and every curve's work at its smallest size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.bench import growth
from core.figures.growth import growth_figure


def test_the_exponent_of_a_power_is_its_power() -> None:
    assert growth.exponent([1, 2, 4, 8], [3 * size**1.7 for size in (1, 2, 4, 8)]) == pytest.approx(1.7)


@pytest.mark.parametrize("name", growth.GROWTHS)
def test_a_curve_is_measured_and_drawn_beside_what_is_counted(name: str) -> None:
    one = growth.GROWTHS[name]
    curve = growth.measured(replace(one, sizes=one.sizes[:2]))
    assert min(curve.ms) > 0 and len(curve.ms) == len(curve.operations) == 2
    figure = growth_figure(curve.what, curve.sizes, curve.ms, curve.operations, exponent=curve.exponent, theory=curve.theory)
    measured, counted = figure.data
    assert list(measured.y) == list(curve.ms) and counted.y[-1] == pytest.approx(curve.ms[-1])


def test_operations_of_long_windows_grow_with_their_square() -> None:
    steps = growth.GROWTHS["steps"]
    assert growth.exponent((2_048, 4_096), [steps.operations(size) for size in (2_048, 4_096)]) == pytest.approx(2, abs=0.1)
