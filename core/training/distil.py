"""Distillation of a convolutional teacher into a ViT: by its soft answers, and by its middle feature map, patch by patch.

After Hinton et al. 2015 (soft targets) and Romero et al. 2015 (hints): the teacher's middle stage has one cell for each 4 x 4
patch, and a trained linear map of the ViT's tokens has to match it: 49 targets per image beside its class.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.garment_teacher import GarmentTeacher
from core.models.vit import ViT


class Student(nn.Module):
    """A ViT with a linear map from its tokens after `depth` layers to the teacher's cells; only the ViT is kept."""

    def __init__(self, vit: ViT, *, cells: int, depth: int) -> None:
        super().__init__()
        self.vit, self.depth = vit, depth
        self.bridge = nn.Linear(vit.config.width, cells)

    def forward(self, x: Tensor, *, keep: Tensor | None = None, return_map: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Logits, and with `return_map` also (batch, patches kept, cells) to be matched."""
        middle, _ = self.vit.encode(self.vit.tokens(x, keep=keep), layers=slice(self.depth))
        last, _ = self.vit.encode(middle, layers=slice(self.depth, None))
        logits: Tensor = self.vit.head(last[:, 0])
        return (logits, self.bridge(middle[:, 1:])) if return_map else logits


def imitation(
    model: nn.Module,
    teacher: GarmentTeacher,
    images: Tensor,
    labels: Tensor,
    kept: Tensor | None,
    *,
    smoothing: float,
    soft: float,
    temperature: float,
    hints: float,
) -> Tensor:
    """(1 - soft) * cross-entropy with the labels + soft * divergence from the teacher's answers + hints * distance of the cells.

    The divergence is of both at the temperature, times its square (Hinton et al. 2015, section 2); the cells are normed each.
    """
    with torch.no_grad():
        answers, cells = teacher(images, return_map=True)
        cells = cells.flatten(2).transpose(1, 2)
        cells = F.layer_norm(cells, cells.shape[-1:])
        target = F.softmax(answers / temperature, dim=1)
    logits, mine = model(images, keep=kept, return_map=True)
    if kept is not None:
        cells = cells.gather(1, kept[..., None].expand(-1, -1, cells.shape[-1]))
    hard = F.cross_entropy(logits, labels, label_smoothing=smoothing)
    divergence = F.kl_div(F.log_softmax(logits / temperature, dim=1), target, reduction="batchmean") * temperature**2
    return (1 - soft) * hard + soft * divergence + hints * F.mse_loss(mine, cells)
