"""Knowledge of a larger network about the photographs, for a CCT in training: shares of the kinds, and features to match.

The teacher reads colour at a higher resolution than the CCT ever sees. The CCT learns it by two linear maps of its class token
that are thrown away afterwards (Hinton et al. 2015, soft targets; Romero et al. 2015, hints). `scripts/photograph_teacher.py`
writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.cct import CCT


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """One row per photograph to train on, in the order in which the files are read.

    Attributes:
        shares: (n, kinds), probabilities by a teacher that was fitted without the photograph.
        features: (n, features), whitened.
    """

    shares: Tensor
    features: Tensor

    @classmethod
    def read(cls, path: Path, photographs: int) -> Self:
        """From the script's file.

        Raises:
            ValueError: where it is of another number of photographs.
        """
        with np.load(path) as arrays:
            lessons = cls(
                shares=torch.from_numpy(arrays["shares"]).float(), features=torch.from_numpy(arrays["features"]).float()
            )
        if len(lessons.shares) != photographs:
            raise ValueError(f"{path.name} has {len(lessons.shares)} photographs, the folder {photographs}: make it anew")
        return lessons


class Pupil(nn.Module):
    """A CCT with the two linear maps; only the CCT is kept."""

    def __init__(self, cct: CCT, lessons: Lessons) -> None:
        super().__init__()
        self.cct = cct
        self.kinds = nn.Linear(cct.config.width, lessons.shares.shape[1])
        self.features = nn.Linear(cct.config.width, lessons.features.shape[1])

    def distance(self, class_tokens: Tensor, shares: Tensor, features: Tensor, *, soft: float, hints: float) -> Tensor:
        """soft * cross-entropy with the teacher's shares + hints * mean squared distance of the features; each (batch, ...)."""
        likelihood = (shares * self.kinds(class_tokens).log_softmax(dim=1)).sum(dim=1)
        return -soft * likelihood.mean() + hints * F.mse_loss(self.features(class_tokens), features)
