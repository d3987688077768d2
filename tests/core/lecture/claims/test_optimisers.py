"""Claims about optimisers, against Adam written out in plain Python."""

from __future__ import annotations

import math

import numpy as np

from core.lecture import optimisers
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
    for largest in (1.0, 0.1, 5.0):
        at, count = [-4.0, 1.5], 0
        for _step in range(120):
            g = [at[0], 20 * at[1]]
            count += math.hypot(*g) > largest
            at = [one - 0.05 * slope * min(1.0, largest / math.hypot(*g)) for one, slope in zip(at, g, strict=True)]
        bowl = optimisers.SURFACES["bowl"]
        found = optimisers.surface_walks(bowl, steps=120, rate=optimisers.constant(0.05), clip=largest)["sgd"]
        walk.check((found, largest), {"clipped": {"largest": largest, "count": count, "all": 120}}, {"largest": largest})
    assert not claims.clipping(found, None)
    walk.end()
