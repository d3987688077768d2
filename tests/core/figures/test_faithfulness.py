"""Figures of faithfulness hold the numbers they are given, and nothing else."""

from __future__ import annotations

import numpy as np

from core.explain.faithfulness import RANDOM, Curves, FaithfulnessVerdict
from core.figures.faithfulness import curves_figure, verdicts_figure

NAMES = {"attention": "Attention", "occlusion": "Occlusion", RANDOM: "By chance"}
SHARES = np.linspace(0, 1, 3)
CURVES = Curves(
    shares=SHARES,
    answers={
        "attention": {"most": np.array([0.9, 0.5, 0.1]), "least": np.array([0.9, 0.8, 0.1])},
        "occlusion": {"most": np.array([0.9, 0.2, 0.1]), "least": np.array([0.9, 0.7, 0.1])},
        RANDOM: {"most": np.array([0.9, 0.6, 0.1])},
    },
)


def test_each_method_is_a_line_over_percent_of_parts() -> None:
    for order in ("most", "least"):
        lines = {line.name: line for line in curves_figure(CURVES, NAMES, order=order, parts="patches").data}
        assert set(lines) == set(NAMES.values())
        np.testing.assert_allclose(lines["Occlusion"].x, [0, 50, 100])
        np.testing.assert_allclose(lines["Occlusion"].y, CURVES.answers["occlusion"][order])
        np.testing.assert_allclose(lines["By chance"].y, CURVES.answers[RANDOM]["most"])
    assert "patches" in curves_figure(CURVES, NAMES, order="most", parts="patches").layout.xaxis.title.text


def test_verdicts_are_ranked_with_two_standard_errors() -> None:
    told = {
        "attention": FaithfulnessVerdict(most=0.5, least=0.5, gain=-0.1, error=0.02, better=0.2),
        "occlusion": FaithfulnessVerdict(most=0.2, least=0.8, gain=0.3, error=0.01, better=1.0),
    }
    bars = verdicts_figure(told, NAMES).data[0]
    assert list(bars.y) == ["Attention", "Occlusion"]
    np.testing.assert_allclose(bars.x, [-0.1, 0.3])
    np.testing.assert_allclose(bars.error_x.array, [0.04, 0.02])
