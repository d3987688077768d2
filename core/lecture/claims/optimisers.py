"""Claims of the lesson on optimisers: about walks and clipped norms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.lecture.claims import Said
from core.lecture.optimisers import OptimiserName, OptimiserWalk, Surface
from core.messages import compose


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
        steps=len(walks["adamw"].points) - 1,
        adamw=adamw,
        adam=adam,
    )
    return said


def clipping(walk: OptimiserWalk, largest: float | None) -> Said:
    """Counts the steps of SGD's walk whose gradient is shortened; nothing where its norm has no limit."""
    said: Said = {}
    if largest is not None:
        said["clipped"] = compose(
            "The gradient's norm is capped at {largest:g}: SGD's was above that in {count} of {all} steps. Its direction stays.",
            largest=largest,
            count=int((walk.gradients > largest).sum()),
            all=len(walk.gradients),
        )
    return said
