"""Claims about optimisers, against Adam written out in plain Python and layers written out in numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from core.lecture import initialisation, optimisers, predictions
from core.lecture.claims import optimisers as claims
from tests.core.lecture.claims.walk import Walk, states


def end_of(surface: optimisers.Surface, rate: float, decay: float) -> tuple[float, float]:
    """Where 400 steps of AdamW lead."""
    x, m, v = list(surface.start), [0.0, 0.0], [0.0, 0.0]
    for t in range(1, 401):
        g = surface.gradient(np.array(x))
        for i in (0, 1):
            m[i], v[i] = 0.9 * m[i] + 0.1 * float(g[i]), 0.999 * v[i] + 0.001 * float(g[i]) ** 2
            x[i] -= rate * (m[i] / (1 - 0.9**t) / (math.sqrt(v[i] / (1 - 0.999**t)) + 1e-8) + decay * x[i])
    return x[0], x[1]


def test_paths_on_a_surface() -> None:
    walk = Walk(claims.surface)
    for state in states(surface=["bowl", "saddle", "himmelblau"], rate=[0.03, 0.0001, 0.3], decay=[0.1, 0.0, 0.5]):
        surface = optimisers.SURFACES[state["surface"]]
        rate, decay = state["rate"], state["decay"]
        walks = optimisers.surface_walks(surface, steps=400, rate=optimisers.constant(rate), decay=decay)
        off = {}
        for name, pull in (("adam", 0.0), ("adamw", decay)):
            end = end_of(surface, rate, pull)
            off[name] = min(math.dist(end, minimum) for minimum in surface.minima)
        truth = {"decay": {"steps": 400, **off}} if decay else {"no decay": {}}
        walk.check((surface, walks, decay), truth, state)
        assert decay or (walks["adam"].points == walks["adamw"].points).all()
    walk.end()


def test_clipping() -> None:
    walk = Walk(claims.clipping)
    for state in states(largest=[1.0, 0.1, 5.0], g1=[3.0, 0.0, 0.1, -5.0], g2=[2.0, 0.0, 5.0]):
        largest, gradient = state["largest"], (state["g1"], state["g2"])
        at, count = [-4.0, 1.5], 0
        for _step in range(120):
            g = [at[0], 20 * at[1]]
            norm = math.hypot(*g)
            count += norm > largest
            at = [one - 0.05 * slope * min(1.0, largest / norm) for one, slope in zip(at, g, strict=True)]
        length = math.hypot(*gradient)
        norms, _clipped = optimisers.clipped_walk(largest)
        truth: dict[str, dict[str, Any]] = {"outside" if length > largest else "inside": {}, "walk": {"count": count, "all": 120}}
        walk.check((length, largest, norms), truth, state)
    walk.end()


APPLY = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "gelu": lambda x: x * torch.special.ndtr(torch.tensor(x)).numpy(),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def test_a_signal_through_layers() -> None:
    walk = Walk(claims.init)
    every = states(activation=list(APPLY), scheme=list(initialisation.SCHEMES), layers=[12, 1, 24])
    for state in every:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(64, 128, generator=generator, dtype=torch.float64).numpy()
        x = np.vstack([x, x[0] + 0.001 / math.sqrt(128)])
        sizes, before = [math.sqrt(float((x[:64] ** 2).mean()))], x
        for _layer in range(state["layers"]):
            weights = initialisation.initial_weights(state["scheme"], 128, 128, generator).numpy()
            before = x @ weights
            x = APPLY[state["activation"]](before)
            sizes.append(math.sqrt(float((x[:64] ** 2).mean())))
        kept, apart = sizes[-1] / sizes[0], math.dist(x[0], x[64])
        name = "fades" if kept < 0.5 else "grows" if kept > 2 else ""
        name = name or ("scattered" if apart > 0.005 else "forgotten" if apart < 0.0002 else "passed on")
        numbers = {"kept": kept} if name in ("fades", "grows") else {"kept": kept, "apart": apart}
        walk.check(initialisation.signal(state["scheme"], state["activation"], layers=state["layers"]), {name: numbers}, state)
        if name == "scattered":
            assert state["activation"] in ("tanh", "sigmoid") and float((np.abs(before) > 3).mean()) > 0.5, "saturated"
        if state["activation"] == "relu" and state["scheme"].startswith("report"):
            assert name == "fades", "the report's scales shrink the signal under ReLU"
    walk.end()


def test_equal_answers_are_both_right() -> None:
    names = list(optimisers.OPTIMISERS)
    for decay, expected in ((0.0, True), (0.1, False)):
        outcome = predictions.lowest_loss("himmelblau", rate=0.3, decay=decay, step=400)
        both = {names.index("adam"), names.index("adamw")}
        assert ({outcome.answer, *outcome.tied} >= both) == expected or outcome.answer not in both
    outcome = predictions.lowest_loss("saddle", rate=0.03, decay=0.0, step=5)
    assert outcome.values[names.index("adam")] == pytest.approx(outcome.values[names.index("adamw")])
    rates = optimisers.rates(total=1000, peak=1e-3, warmup=100, floor=0.0, factor=0.5, every=10)
    last = predictions.highest_rate(rates, 900)
    assert {last.answer, *last.tied} == {list(rates).index("report"), list(rates).index("iiga")}
