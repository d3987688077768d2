"""The network that predicts in the place of the one that was trained."""

from __future__ import annotations

from torch import nn

from core.models.deeplob import DeepLOB
from core.models.folded_deeplob import FoldedDeepLOB
from core.models.folded_tlob import FoldedTLOB
from core.models.tlob import TLOB
from core.nn.plain import computes_plainly


def for_prediction(model: nn.Module) -> nn.Module:
    """The folded network of a TLOB or DeepLOB; any other, and every one where plain networks are asked for, as it is."""
    if computes_plainly():
        return model
    if isinstance(model, TLOB):
        return FoldedTLOB(model)
    return FoldedDeepLOB(model) if isinstance(model, DeepLOB) else model
