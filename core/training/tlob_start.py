"""Starts a TLOB of the `flow` transform from the weights of one trained on `drift`."""

from __future__ import annotations

import torch
from torch import Tensor

from core.market.book import FEATURES
from core.market.features import DRIFT_COLUMNS, TransformKind, input_names
from core.training.card import Weights

EARLIER = {"ASK_DRIFT": "ASK_P1", "BID_DRIFT": "BID_P1", "ASK_MOVE2": "ASK_P2", "BID_MOVE2": "BID_P2"}
"""Column of `flow` -> the column in which `drift` has the same number."""
SAME = frozenset(name for name in FEATURES if "_V" in name or int(name[5:]) > 6)
"""Columns that are the same in both."""
HALVES = ("batch_norm", "instance_norm")


@torch.no_grad()
def fit_inputs(fresh: Weights, kind: TransformKind, weights: Weights) -> Weights:
    """Weights of a `drift` model for `flow` inputs, with nearly the same function; other weights as they are.

    Columns that `drift` does not have start with weight 0. A smoothed step, which `drift` has once a side, gets the sum of its
    two weights; as a column's two normalisations share one weight, the sum is the nearest of rank one.

    Args:
        fresh: state of the new model before training. kind: its transform. weights: of the earlier model.
    """
    key = "embedding.weight"
    if kind != "flow" or weights[key].shape == fresh[key].shape:
        return dict(weights)
    adapted = {name: value.clone() for name, value in (weights | {n: v for n, v in fresh.items() if "bin_norm" in n}).items()}
    old, new = weights[key], torch.zeros_like(fresh[key])
    bias = weights["embedding.bias"].clone()
    names = input_names(kind)
    for column, name in enumerate(names):
        source = EARLIER.get(name, name if name in SAME else None)
        if source is None:
            continue
        at = FEATURES.index(source)
        new[:, column] = old[:, at]
        for item, value in weights.items():
            if item.startswith("bin_norm.") and value.ndim:
                adapted[item][column] = value[at]
    for level, name in enumerate(DRIFT_COLUMNS, 3):
        column, sides = names.index(name), [FEATURES.index(f"{side}_P{level}") for side in ("ASK", "BID")]
        for item in ("running_mean", "running_var"):
            adapted[f"bin_norm.batch_norm.{item}"][column] = weights[f"bin_norm.batch_norm.{item}"][sides[0]]
        scaled = torch.stack([_scaled(weights, half, sides) for half in HALVES], dim=1)  # (width, 2)
        left, size, right = torch.linalg.svd(scaled, full_matrices=False)
        new[:, column] = left[:, 0] * size[0]
        for half, scale in zip(HALVES, right[0], strict=True):
            adapted[f"bin_norm.{half}.weight"][column] = scale
            adapted[f"bin_norm.{half}.bias"][column] = 0
            bias += 0.5 * old[:, sides] @ weights[f"bin_norm.{half}.bias"][sides]
    return adapted | {key: new, "embedding.bias": bias}


def _scaled(weights: Weights, half: str, columns: list[int]) -> Tensor:
    """(width,) what the embedding makes of a unit of these equal columns by one half of BiN, less its bias."""
    return weights["embedding.weight"][:, columns] @ weights[f"bin_norm.{half}.weight"][columns]
