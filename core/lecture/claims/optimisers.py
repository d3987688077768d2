"""Claims of the lesson on optimisers: about walks, losses, clipped norms and signals through layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture.claims import Claim
from core.lecture.initialisation import Signal
from core.lecture.optimisers import Array, OptimiserName, OptimiserWalk, Surface
from core.messages import compose


@dataclass(frozen=True, kw_only=True)
class Walked:
    """All walks on a surface, AdamW's with this decay."""

    surface: Surface
    walks: Mapping[OptimiserName, OptimiserWalk]
    decay: float

    def off(self, name: OptimiserName) -> float:
        """Distance of a walk's end from the nearest minimum."""
        return float(np.linalg.norm(np.array(self.surface.minima) - self.walks[name].points[-1], axis=1).min())


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """A gradient's length, the largest that is let pass, and the gradients' norms on the walk below."""

    length: float
    largest: float
    norms: Array


SURFACE: Final = (
    Claim[Walked](
        "no decay",
        lambda walked: walked.decay == 0,
        lambda _walked: compose("Without decay AdamW is Adam: their paths are one."),
    ),
    Claim[Walked](
        "decay",
        lambda walked: walked.decay > 0,
        lambda walked: compose(
            "AdamW's decay also pulls towards the origin: after {steps} steps AdamW stands {adamw:.2g} from the nearest minimum, "
            "Adam {adam:.2g}.",
            steps=len(walked.walks["adamw"].points) - 1, adamw=walked.off("adamw"), adam=walked.off("adam"),
        ),
    ),
)  # fmt: skip
BOOK: Final = (
    Claim[Mapping[str, OptimiserWalk]](
        "range",
        lambda _walks: True,
        lambda walks: compose(
            "After {steps} steps the training losses lie between {low:.4f} and {high:.4f}; all began at {start:.4f}.",
            steps=len(walks["adam"].losses) - 1, start=float(walks["adam"].losses[0]),
            low=min(float(walk.losses[-1]) for walk in walks.values()),
            high=max(float(walk.losses[-1]) for walk in walks.values()),
        ),
    ),
)  # fmt: skip
CLIPPING: Final = (
    Claim[Clipping](
        "inside",
        lambda one: one.length <= one.largest,
        lambda _one: compose("The arrow ends inside the circle, so nothing happens to it."),
    ),
    Claim[Clipping](
        "outside",
        lambda one: one.length > one.largest,
        lambda _one: compose("The arrow ends outside the circle: it is shortened to the circle and keeps its direction."),
    ),
    Claim[Clipping](
        "walk",
        lambda _one: True,
        lambda one: compose(
            "Of the walk's {all} steps into the long bowl, below, {count} are clipped.",
            count=int((one.norms > one.largest).sum()), all=len(one.norms),
        ),
    ),
)  # fmt: skip
LEVEL: Final = 2.0
"""A line that ends within this factor of its beginning counts as level."""
KEPT: Final = 5.0
"""Differences that end within this factor of their beginning count as kept."""


def _level(signal: Signal) -> bool:
    return 1 / LEVEL <= signal.kept <= LEVEL


INIT: Final = (
    Claim[Signal](
        "fades",
        lambda signal: signal.kept < 1 / LEVEL,
        lambda signal: compose("The chosen line fades: it ends at {kept:.2g} times its beginning.", kept=signal.kept),
    ),
    Claim[Signal](
        "grows",
        lambda signal: signal.kept > LEVEL,
        lambda signal: compose("The chosen line grows: it ends at {kept:.2g} times its beginning.", kept=signal.kept),
    ),
    Claim[Signal](
        "passed on",
        lambda signal: _level(signal) and 1 / KEPT <= signal.gain <= KEPT,
        lambda signal: compose(
            "The chosen line stays level ({kept:.2g} times its beginning), and differences pass: inputs 0.001 apart end "
            "{apart:.2g} apart.",
            kept=signal.kept, apart=signal.apart,
        ),
    ),
    Claim[Signal](
        "scattered",
        lambda signal: _level(signal) and signal.gain > KEPT,
        lambda signal: compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: its units are saturated, "
            "and inputs 0.001 apart end {apart:.2g} apart.",
            kept=signal.kept, apart=signal.apart,
        ),
    ),
    Claim[Signal](
        "forgotten",
        lambda signal: _level(signal) and signal.gain < 1 / KEPT,
        lambda signal: compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: inputs 0.001 apart end "
            "{apart:.2g} apart, as all inputs lead to nearly the same output.",
            kept=signal.kept, apart=signal.apart,
        ),
    ),
)  # fmt: skip
