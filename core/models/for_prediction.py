"""The network that predicts in the place of the one that was trained: the same function, in fewer operations."""

from __future__ import annotations

from copy import deepcopy

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from core.models.folded_tlob import FoldedTLOB
from core.models.iiga import IIGA, FrameEncoder
from core.models.tlob import TLOB
from core.nn.plain import computes_plainly


def folded_iiga(model: IIGA) -> IIGA:
    """A copy whose convolutions of pictures take over the batch norms after them; one that reads tracks as it is.

    In evaluation a batch norm is a scale and a shift. Answers differ by a millionth.

    Args:
        model: in evaluation. Later changes of it are not followed.
    """
    if not isinstance(model.front, FrameEncoder):
        return model
    copied = deepcopy(model).requires_grad_(False)
    for block in [one for one in copied.modules() if isinstance(one, nn.Sequential)]:
        for place in range(len(block) - 1):
            convolution, norm = block[place], block[place + 1]
            if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                block[place], block[place + 1] = fuse_conv_bn_eval(convolution, norm), nn.Identity()
    return copied


def for_prediction(model: nn.Module) -> nn.Module:
    """The folded network of a TLOB or IIGA; any other, and every one where plain ones are asked for, as it is."""
    if isinstance(model, TLOB) and not computes_plainly():
        return FoldedTLOB(model)
    return folded_iiga(model) if isinstance(model, IIGA) and not computes_plainly() else model
