"""Figures of faithfulness hold the numbers they are given, and nothing else."""

import numpy as np

from core.explain.faithfulness import RANDOM, Curves
from core.figures.faithfulness import curves_figure

NAMES = {"attention": "Attention", "occlusion": "Occlusion", RANDOM: "By chance"}
SHARES = np.linspace(0, 1, 3)
CURVES = Curves(
    shares=SHARES,
    answers={"attention": np.array([0.9, 0.5, 0.1]), "occlusion": np.array([0.9, 0.2, 0.1]), RANDOM: np.array([0.9, 0.6, 0.1])},
)


def test_each_method_is_a_line_over_percent_of_parts() -> None:
    figure = curves_figure(CURVES, NAMES, parts="patches")
    lines = {line.name: line for line in figure.data}
    assert set(lines) == set(NAMES.values())
    np.testing.assert_allclose(lines["Occlusion"].x, [0, 50, 100])
    np.testing.assert_allclose(lines["Occlusion"].y, CURVES.answers["occlusion"])
    np.testing.assert_allclose(lines["By chance"].y, CURVES.answers[RANDOM])
    assert "patches" in figure.layout.xaxis.title.text
