"""The leakage lab's figure shows the numbers that it is given."""

from __future__ import annotations

import numpy as np

from core.figures.learn.experiments import lab_figure
from core.lecture.leakage import LabScore


def score(first: float, momentum: float) -> LabScore:
    network = np.array([first, first + 0.1, first + 0.2])
    return LabScore(
        network=network,
        network_f1=network,
        peer=network - 0.05,
        momentum=momentum,
        momentum_f1=0.3,
        epochs=np.ones(3, int),
        rows=9,
        called=np.ones((3, 3, 3), int),
        peer_called=np.ones((3, 3, 3), int),
    )


def test_bars_are_means_and_marks_are_seeds_peer_and_momentum() -> None:
    figure = lab_figure({"honest": score(0.0, 0.02), "shuffled": score(0.5, 0.07)})
    bars, seeds, peer, momentum = figure.data
    np.testing.assert_allclose(bars.x, [0.1, 0.6])
    assert list(bars.y) == ["honest", "shuffled"] and bars.marker.color[0] != bars.marker.color[1]
    np.testing.assert_allclose(seeds.x, [0.0, 0.1, 0.2, 0.5, 0.6, 0.7])
    np.testing.assert_allclose(peer.x, [0.05, 0.55])
    assert list(momentum.x) == [0.02, 0.07]
