"""Claims of the lesson on optimisers: about walks, losses, clipped norms and signals through layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from core.lecture.claims import Said
from core.lecture.initialisation import Signal
from core.lecture.optimisers import Array, OptimiserName, OptimiserWalk, Surface
from core.messages import compose

LEVEL: Final = 2.0
"""A line that ends within this factor of its beginning counts as level."""
KEPT: Final = 5.0
"""Differences that end within this factor of their beginning count as kept."""


def surface(of: Surface, walks: Mapping[OptimiserName, OptimiserWalk], decay: float) -> Said:
    """All walks on a surface, AdamW's with this decay."""
    said: Said = {}
    if not decay:
        said["no decay"] = compose("Without decay AdamW is Adam: their paths are one.")
        return said
    ends = (walks[name].points[-1] for name in ("adam", "adamw"))
    adam, adamw = (float(np.linalg.norm(np.array(of.minima) - end, axis=1).min()) for end in ends)
    said["decay"] = compose(
        "AdamW's decay also pulls towards the origin: after {steps} steps AdamW stands {adamw:.2g} from the nearest minimum, "
        "Adam {adam:.2g}.",
        steps=len(walks["adamw"].points) - 1, adamw=adamw, adam=adam,
    )  # fmt: skip
    return said


def clipping(length: float, largest: float, norms: Array) -> Said:
    """A gradient's length, the largest that is let pass, and the gradients' norms on the walk below."""
    said: Said = {}
    if length <= largest:
        said["inside"] = compose("The arrow ends inside the circle, so nothing happens to it.")
    else:
        said["outside"] = compose("The arrow ends outside the circle: it is shortened to the circle and keeps its direction.")
    said["walk"] = compose(
        "Of the walk's {all} steps into the long bowl, below, {count} are clipped.",
        count=int((norms > largest).sum()), all=len(norms),
    )  # fmt: skip
    return said


def init(signal: Signal) -> Said:
    """A signal's size at the end, and what is left of differences."""
    said: Said = {}
    kept, apart, gain = signal.kept, signal.apart, signal.gain
    if kept < 1 / LEVEL:
        said["fades"] = compose("The chosen line fades: it ends at {kept:.2g} times its beginning.", kept=kept)
    elif kept > LEVEL:
        said["grows"] = compose("The chosen line grows: it ends at {kept:.2g} times its beginning.", kept=kept)
    elif gain > KEPT:
        said["scattered"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: its units are saturated, "
            "and inputs 0.001 apart end {apart:.2g} apart.",
            kept=kept, apart=apart,
        )  # fmt: skip
    elif gain < 1 / KEPT:
        said["forgotten"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning) and yet passes no signal on: inputs 0.001 apart end "
            "{apart:.2g} apart, as all inputs lead to nearly the same output.",
            kept=kept, apart=apart,
        )  # fmt: skip
    else:
        said["passed on"] = compose(
            "The chosen line stays level ({kept:.2g} times its beginning), and differences pass: inputs 0.001 apart end "
            "{apart:.2g} apart.",
            kept=kept, apart=apart,
        )  # fmt: skip
    return said
