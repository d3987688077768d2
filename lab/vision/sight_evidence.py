"""Importance of a photograph's patches for what stands out in it, as `core.explain.faithfulness` tests it."""

import numpy as np
import torch
from torch import Tensor

from attention_light.rollout import fuse_heads, rollout
from core.explain.faithfulness import ExplainedInput
from core.vision.pictures import Picture
from core.vision.sight import PATCH, SightReader, normalised

SIDE = 224
"""Pixels along a side."""
METHODS = ("salience", "rollout", "class", "attention")
"""What stands out; and of the class token its rollout, its mean row over all layers and heads, and that of the last layer."""


def explain_photograph(reader: SightReader, picture: Picture) -> ExplainedInput:
    """The mean salience of what stands out in a photograph, and the importance of every patch for it, (patches,), by `METHODS`.

    A patch that is deleted has the picture's mean colour.
    """
    seen = reader.read(picture, side=SIDE)
    model, device = reader.placement.model, reader.placement.device
    inputs = normalised(seen.pixels)[0].to(device)
    left, top, right, bottom = seen.inside
    mean = inputs[:, top:bottom, left:right].mean(dim=(1, 2))[:, None, None].expand_as(inputs)
    standing = torch.from_numpy(seen.salience > 0.5).to(device)
    rows, columns = seen.grid
    places = torch.arange(SIDE) // PATCH

    def function(copies: Tensor) -> Tensor:
        salience = model.salience(model(copies), (rows, columns))
        return salience[:, standing].mean(dim=1)

    importance = {
        "salience": seen.patch_salience.ravel(),
        "rollout": rollout(list(seen.weights))[0, 1:],
        "class": seen.rows(0).mean(axis=(0, 1))[1:],
        "attention": fuse_heads(seen.weights[-1])[0, 1:],
    }
    return ExplainedInput(
        function=function,
        inputs=inputs,
        baseline=mean,
        parts=(places[:, None] * columns + places[None])[None].to(device),
        importance={name: np.asarray(importance[name], dtype=np.float64) for name in METHODS},
    )
