"""Numbers of the optimisers' page: one Adam step, schedules over a run, clipping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import schedules
from core.lecture.optimisers import (
    SURFACES,
    Adam,
    Array,
    OptimiserName,
    Rate,
    SurfaceName,
    clip_by_norm,
    make_optimiser,
    surface_walk,
)


@dataclass(frozen=True, kw_only=True)
class AdamStep:
    """One step of Adam or AdamW on two weights; all arrays (2,).

    Attributes:
        t: from 1 on. g: the gradient, clipped. m, v: after it. mc, vc: bias-corrected. before, after: the weights.
    """

    t: int
    rate: float
    g: Array
    m: Array
    v: Array
    mc: Array
    vc: Array
    before: Array
    after: Array


def adam_update(*values: float, epsilon: float = 1e-8, decay: float = 0.0) -> Array:
    """theta - rate (mc / (sqrt(vc) + epsilon) + decay theta), (2,).

    Args:
        values: theta, mc and vc, two entries each, then the rate.
    """
    theta, mc, vc = np.reshape(values[:6], (3, 2))
    return np.asarray(theta - values[6] * (mc / (np.sqrt(vc) + epsilon) + decay * theta))


def clip_to(first: float, second: float, largest: float, norm: float) -> Array:
    """A gradient of two entries times min(1, largest / norm), (2,)."""
    return np.array([first, second]) * (min(1.0, largest / norm) if norm else 1.0)


def adam_step(
    surface: SurfaceName, name: OptimiserName, t: int, *, rate: Rate, clip: float | None = None, decay: float = 0.0
) -> AdamStep:
    """Step t (from 1 on) of Adam from a surface's start.

    Raises:
        ValueError: for an optimiser that is not a form of Adam.
    """
    optimiser = make_optimiser(name, decay=decay)
    if not isinstance(optimiser, Adam):
        raise ValueError(f"{name} keeps no m and v: take adam, adam_plain or adamw")
    theta = before = np.array(SURFACES[surface].start)
    g = np.zeros(2)
    for step in range(t):
        before = theta
        g = SURFACES[surface].gradient(theta)
        g = g if clip is None else clip_by_norm(g, clip)
        theta = optimiser.step(theta, g, rate(step))
    m, v, _t = optimiser.memory or (np.zeros(2), np.zeros(2), 0)
    scale1, scale2 = (1 - optimiser.beta1**t, 1 - optimiser.beta2**t) if optimiser.corrected else (1.0, 1.0)
    return AdamStep(t=t, rate=rate(t - 1), g=g, m=m, v=v, mc=m / scale1, vc=v / scale2, before=before, after=theta)


def constant(rate: float) -> Rate:
    """The same rate at every step."""
    return lambda _step: rate


def rates(*, total: int, peak: float, warmup: int, floor: float, factor: float, every: int) -> dict[str, Array]:
    """(total + 1,) rates by schedule: exponential, cosine, the report's warm-up cosine (to 0) and IIGA's (to `floor`)."""
    steps = range(total + 1)
    return {
        "exponential": np.array([schedules.exponential(t, peak=peak, factor=factor, every=every) for t in steps]),
        "cosine": np.array([schedules.cosine(t, peak=peak, total=total) for t in steps]),
        "report": np.array([schedules.warmup_cosine(t, peak=peak, warmup=warmup, total=total) for t in steps]),
        "iiga": np.array([schedules.warmup_cosine(t, peak=peak, warmup=warmup, total=total, floor=floor) for t in steps]),
    }


def clipped(gradient: tuple[float, float], largest: float) -> tuple[tuple[float, float], tuple[float, float], float]:
    """A gradient, the same clipped, and its norm before."""
    before = np.array(gradient)
    after = clip_by_norm(before, largest)
    return gradient, (float(after[0]), float(after[1])), float(np.linalg.norm(before))


def clipped_walk(largest: float, *, steps: int = 120, rate: float = 0.05) -> tuple[Array, Array]:
    """Gradient norms (steps,) of SGD into the long bowl from its steep side, before and after clipping."""
    walk = surface_walk(SURFACES["bowl"], "sgd", steps=steps, rate=constant(rate), clip=largest)
    return walk.gradients, np.minimum(walk.gradients, largest)
