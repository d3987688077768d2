"""Optimisers as the documents write them, clipping, and the surfaces they walk on.

Sources: vit-report sections 2.2 (SGD, clipping, Adam without correction) and 2.7 (Adam), iiga-equations section 13.1 (AdamW).
Everything is float64 NumPy; an optimiser is a small object with `step(theta, gradient, rate)`, equal to `torch.optim`'s.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core import schedules

Array = NDArray[np.float64]
OptimiserName = Literal["sgd", "adam", "adam_plain", "adamw"]
OPTIMISERS: Final[tuple[OptimiserName, ...]] = ("sgd", "adam", "adam_plain", "adamw")


class SGD:
    """theta - rate * g (vit-report section 2.2)."""

    def step(self, theta: Array, gradient: Array, rate: float) -> Array:
        """The parameter after one step."""
        return theta - rate * gradient


BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


def adam_update(*values: float, decay: float) -> Array:
    """theta - rate (mc / (sqrt(vc) + epsilon) + decay theta): one step of `Adam`.

    Args:
        values: the entries of theta, those of mc and of vc, then the rate.
    """
    theta, mc, vc = np.reshape(values[:-1], (3, -1))
    return np.asarray(theta - values[-1] * (mc / (np.sqrt(vc) + EPSILON) + decay * theta))


@dataclass(kw_only=True)
class Adam:
    """Adam (vit-report section 2.7), and AdamW with a decay (iiga-equations section 13.1).

        m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  mc = m / (1 - b1^t),  vc = v / (1 - b2^t)
        theta = theta - rate * (mc / (sqrt(vc) + eps) + decay * theta)

    Attributes:
        corrected: False leaves out the bias correction, as in vit-report section 2.2: the first steps are then about
            (1 - b1) / sqrt(1 - b2) = 3.2 times as long.
        decay: lambda of AdamW; it never enters m or v. memory: m, v and t so far.
    """

    corrected: bool = True
    decay: float = 0.0
    memory: tuple[Array, Array, int] | None = None

    def step(self, theta: Array, gradient: Array, rate: float) -> Array:
        """The parameter after one step."""
        m, v, t = (np.zeros_like(theta), np.zeros_like(theta), 0) if self.memory is None else self.memory
        self.memory = BETA_1 * m + (1 - BETA_1) * gradient, BETA_2 * v + (1 - BETA_2) * gradient**2, t + 1
        return adam_update(*theta, *np.concatenate(self.bias_corrected()), rate, decay=self.decay)

    def bias_corrected(self) -> tuple[Array, Array]:
        """The memory's mc and vc; m and v themselves without the correction."""
        assert self.memory is not None
        m, v, t = self.memory
        return (m / (1 - BETA_1**t), v / (1 - BETA_2**t)) if self.corrected else (m, v)


def make_optimiser(name: OptimiserName, *, decay: float = 0.0) -> SGD | Adam:
    """A new optimiser; only "adamw" uses the decay."""
    if name == "sgd":
        return SGD()
    return Adam(corrected=name != "adam_plain", decay=decay if name == "adamw" else 0.0)


def clip_by_norm(gradient: Array, largest: float) -> Array:
    """g * min(1, largest / |g|) (vit-report sections 2.2 and 3.6): caps the length and keeps the direction.

    Raises:
        ValueError: for a largest norm that is not above 0.
    """
    if largest <= 0:
        raise ValueError(f"a largest norm of {largest} would stop every step: it must be above 0")
    norm = float(np.linalg.norm(gradient))
    return gradient * min(1.0, largest / norm) if norm else gradient


SurfaceName = Literal["bowl", "rosenbrock", "saddle"]
STEPS: Final = 1e-30j * np.eye(2)


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A loss of two weights.

    Attributes:
        value: of points (..., 2), a polynomial.
        start: first point of every walk. window: (x low, x high, y low, y high) of the plot.
        minima: (n, 2) local minima.
    """

    value: Callable[[NDArray[Any]], NDArray[Any]]
    start: tuple[float, float]
    window: tuple[float, float, float, float]
    minima: tuple[tuple[float, float], ...]

    def gradient(self, point: Array) -> Array:
        """The slopes (2,) at a point (2,), by a complex step so short that nothing is rounded away (Squire and Trapp 1998)."""
        return self.value(point + STEPS).imag / STEPS[0, 0].imag


SURFACES: Final[Mapping[SurfaceName, Surface]] = {
    "bowl": Surface(
        value=lambda p: 0.5 * (p[..., 0] ** 2 + 20 * p[..., 1] ** 2),
        start=(-4.0, 1.5), window=(-5, 5, -2, 2), minima=((0.0, 0.0),),
    ),
    "rosenbrock": Surface(
        value=lambda p: (1 - p[..., 0]) ** 2 + 100 * (p[..., 1] - p[..., 0] ** 2) ** 2,
        start=(-1.2, 1.0), window=(-2, 2, -1, 3), minima=((1.0, 1.0),),
    ),
    "saddle": Surface(
        value=lambda p: p[..., 0] ** 2 - p[..., 1] ** 2 + 0.25 * p[..., 1] ** 4,
        start=(-1.5, 0.01), window=(-2, 2, -2.4, 2.4), minima=((0.0, 2**0.5), (0.0, -(2**0.5))),
    ),
}  # fmt: skip
"""A long bowl, Rosenbrock's valley, and a saddle between two minima."""


@dataclass(frozen=True, kw_only=True)
class OptimiserWalk:
    """The path of one optimiser.

    Attributes:
        points: (n + 1, k) weights, the start first. losses: (n + 1,).
        diverged: whether a weight exceeded 1e6 or was not finite, which ends the walk.
    """

    points: Array
    losses: Array
    diverged: bool


def walk(surface: Surface, optimiser: SGD | Adam, *, steps: int, rate: float, clip: float | None = None) -> OptimiserWalk:
    """The walk of an optimiser from the surface's start.

    Args:
        clip: largest gradient norm; none where None.
    """
    points, diverged = [np.array(surface.start)], False
    for _step in range(steps):
        g = surface.gradient(points[-1])
        after = optimiser.step(points[-1], g if clip is None else clip_by_norm(g, clip), rate)
        if diverged := not np.abs(after).max() <= 1e6:  # NaN too
            break
        points.append(after)
    path = np.array(points)
    return OptimiserWalk(points=path, losses=np.asarray(surface.value(path)), diverged=diverged)


def surface_walks(
    surface: Surface, *, steps: int, rate: float, decay: float = 0.0, clip: float | None = None
) -> dict[OptimiserName, OptimiserWalk]:
    """`walk` of each optimiser; the decay is AdamW's alone."""
    return {name: walk(surface, make_optimiser(name, decay=decay), steps=steps, rate=rate, clip=clip) for name in OPTIMISERS}


def height_map(surface: Surface, *, points: int = 121) -> tuple[Array, Array, Array]:
    """x (points,), y (points,) and losses (points, points) with y down the rows."""
    left, right, low, high = surface.window
    x, y = np.linspace(left, right, points), np.linspace(low, high, points)
    return x, y, surface.value(np.stack(np.meshgrid(x, y), axis=-1))


@dataclass(frozen=True, kw_only=True)
class AdamStep:
    """One step of Adam or AdamW on two weights; all arrays (2,).

    Attributes:
        norm: of the gradient. g: the gradient, clipped where its norm is capped. m, v: after it.
        mc, vc: bias-corrected. before, after: the weights.
    """

    rate: float
    norm: float
    g: Array
    m: Array
    v: Array
    mc: Array
    vc: Array
    before: Array
    after: Array


def adam_step(
    surface: SurfaceName, name: OptimiserName, t: int, *, rate: float, decay: float = 0.0, clip: float | None = None
) -> AdamStep:
    """Step t (from 1 on) of a form of Adam from a surface's start."""
    optimiser = make_optimiser(name, decay=decay)
    before, after = walk(SURFACES[surface], optimiser, steps=t, rate=rate, clip=clip).points[-2:]
    assert isinstance(optimiser, Adam) and optimiser.memory is not None
    g, (m, v, _t), (mc, vc) = SURFACES[surface].gradient(before), optimiser.memory, optimiser.bias_corrected()
    return AdamStep(
        rate=rate,
        norm=math.hypot(*g),
        g=g if clip is None else clip_by_norm(g, clip),
        m=m,
        v=v,
        mc=mc,
        vc=vc,
        before=before,
        after=after,
    )


def rates(*, total: int, peak: float, warmup: int, floor: float, factor: float, every: int) -> dict[str, Array]:
    """(total + 1,) rates by schedule: exponential, cosine, the report's warm-up cosine (to 0) and IIGA's (to `floor`)."""
    steps = range(total + 1)
    return {
        "exponential": np.array([schedules.exponential(t, peak=peak, factor=factor, every=every) for t in steps]),
        "cosine": np.array([schedules.cosine(t, peak=peak, total=total) for t in steps]),
        "report": np.array([schedules.warmup_cosine(t, peak=peak, warmup=warmup, total=total) for t in steps]),
        "iiga": np.array([schedules.warmup_cosine(t, peak=peak, warmup=warmup, total=total, floor=floor) for t in steps]),
    }
