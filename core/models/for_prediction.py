"""The network that predicts in the place of the one that was trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from torch import nn

from core.models.deeplob import DeepLOB
from core.models.folded_deeplob import FoldedDeepLOB
from core.models.folded_mobilenet import folded_iiga
from core.models.folded_tlob import FoldedTLOB
from core.models.iiga import IIGA
from core.models.tlob import TLOB
from core.models.vit import ViT
from core.nn.encoder import with_joined_layers
from core.nn.plain import computes_plainly

FOLDED: Final[dict[type[nn.Module], Callable[[Any], nn.Module]]] = {
    TLOB: FoldedTLOB,
    DeepLOB: FoldedDeepLOB,
    ViT: with_joined_layers,
    IIGA: folded_iiga,
}


def for_prediction(model: nn.Module) -> nn.Module:
    """The folded network of a TLOB, DeepLOB, ViT or IIGA; any other, and every one where plain ones are asked for, as it is."""
    if computes_plainly():
        return model
    for kind, folded in FOLDED.items():
        if isinstance(model, kind):
            return folded(model)
    return model
