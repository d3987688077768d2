"""The CCT's training for the loop: batches of photographs and other things, loss, validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.cct import CCT
from core.training.augment import PhotographAugmentation, photograph_views
from core.training.lite_start import MEAN, STD
from core.training.loop import Batch
from core.training.photograph_teacher import Lessons, Pupil
from core.training.vit_photographs import NONE, OtherThings, Photographs, invented

IMPOSSIBLE = -1e4
"""Stands for a logit of minus infinity, without its NaN gradients."""
EARLY = 5
"""Blocks of the convolutions that see edges and textures, at a quarter to an eighth of the image's size."""
FLAGGED_GARMENTS = 0.04
"""Share of the garments of the validation part that may be flagged: what the threshold is set by."""


@dataclass(frozen=True, kw_only=True)
class MixedTraining:
    """Settings of the training.

    Attributes:
        photographs, others: images a step: photographs of garments, and pictures of no garments, half of which are invented.
        smoothing: label smoothing, over the outputs.
        turned: share of the photographs of garments that lie by 90, 180 or 270 degrees, for a CCT with `turns`.
        turning: weight of that output's loss. soft, hints: weights of the teacher's two parts (`photograph_teacher`).
        early, convolutions: share of the rate for the convolutions up to the block `EARLY`, and for those after it.
        photograph: changes to the images.
        seed: of everything that is drawn.
    """

    photographs: int = 40
    others: int = 8
    smoothing: float = 0.05
    turned: float = 0.0
    turning: float = 0.2
    soft: float = 1.0
    hints: float = 1.0
    early: float = 0.0
    convolutions: float = 0.3
    photograph: PhotographAugmentation = field(default_factory=lambda: PhotographAugmentation(tint=0.15, erase_side=48))
    seed: int = 0


class MixedTask:
    """Batches of (images in normalised units, right outputs (batch, 11), ...); see `MixedTraining` for what is in a batch.

    The further parts are of the photographs of garments, which come first: whether each lies turned (n,), and with lessons the
    teacher's shares and features of each.
    """

    def __init__(
        self,
        photographs: Photographs,
        held_out: Photographs,
        others: OtherThings,
        training: MixedTraining,
        *,
        steps: int,
        lessons: Lessons | None = None,
    ) -> None:
        self.photographs, self.held_out, self.others = photographs, held_out, others
        self.training, self.steps, self.lessons = training, steps, lessons

    @property
    def rates(self) -> dict[str, float]:
        """Shares of the rate for the loop, by the beginnings of a CCT's names or of a pupil's."""
        t = self.training
        early = ["convolutions.stem.", *(f"convolutions.blocks.{index}." for index in range(EARLY))]
        shares = dict.fromkeys(early, t.early) | {"convolutions.": t.convolutions}
        return shares | {f"cct.{name}": share for name, share in shares.items()}

    def normalise(self, images: Tensor) -> Tensor:
        """[0, 1], or uint8 -> the units the model reads."""
        return ((images if images.is_floating_point() else images.float() / 255) - MEAN) / STD

    def batches(self, epoch: int) -> Iterator[Batch]:
        """`steps` batches; every photograph comes once before one comes again."""
        t = self.training
        generator = torch.Generator().manual_seed(t.seed * 1_000_003 + epoch)
        photographs = _rows(len(self.photographs), self.steps * t.photographs, generator)
        for rows in photographs.split(t.photographs):
            yield self._batch(rows, generator)

    def _batch(self, photographs: Tensor, generator: torch.Generator) -> Batch:
        t = self.training
        given, lies = turned(self.photographs.images[photographs].float() / 255, t.turned, generator)
        seen = [given]
        right = [self.photographs.targets[photographs]]
        nothing = [invented(t.others // 2, generator, self.others.drawn)]
        if len(self.others.train):
            rows = torch.randint(len(self.others.train), (t.others - t.others // 2,), generator=generator)
            nothing.append(self.others.train[rows].float() / 255)
        seen += nothing
        right.append(F.one_hot(torch.full((sum(map(len, nothing)),), NONE), NONE + 1).bool())
        views = photograph_views(torch.cat(seen), t.photograph, self.held_out.prepared.shape[-1], generator)
        taught = () if self.lessons is None else (self.lessons.shares[photographs], self.lessons.features[photographs])
        return self.normalise(views), torch.cat(right), lies, *taught

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Negative logarithm of the sum of the right outputs' probabilities, smoothed over all outputs."""
        images, right, lies, *taught = batch
        cct, t = kept(model), self.training
        class_tokens = cct.features(images)
        log = cct.logits_with_rejection(class_tokens).log_softmax(dim=1)  # (batch, 11)
        likelihood = log.masked_fill(~right, IMPOSSIBLE).logsumexp(dim=1)
        loss = -((1 - t.smoothing) * likelihood + t.smoothing * log.mean(dim=1)).mean()
        photographs = class_tokens[: len(lies)]
        if cct.lying is not None:
            loss = loss + t.turning * F.binary_cross_entropy_with_logits(cct.lying(photographs)[:, 0], lies.float())
        if isinstance(model, Pupil):
            loss = loss + model.distance(photographs, *taught, soft=t.soft, hints=t.hints)
        return loss

    def validate(self, model: nn.Module) -> dict[str, float]:
        """`score`: the accuracy on the photographs held out, and a tenth of `flagged_nothing`.

        `flagged_nothing`: share of the other things that are flagged where `FLAGGED_GARMENTS` of the photographs are.
        """
        model = kept(model)
        photographs = answers(model, self.normalise(self.held_out.prepared))
        others = answers(model, self.normalise(self.others.validation))
        right = photographs[:, :NONE].argmax(axis=1) == self.held_out.targets.int().argmax(dim=1).numpy()
        threshold = float(np.quantile(strangeness(photographs), 1 - FLAGGED_GARMENTS))
        flagged = float((strangeness(others) > threshold).mean()) if len(others) else 1.0
        accuracy = float(right.mean())
        return {"score": accuracy + flagged / 10, "validation_accuracy": accuracy, "flagged_nothing": flagged}


def kept(model: nn.Module) -> CCT:
    """The CCT itself, also of a pupil."""
    cct = model.cct if isinstance(model, Pupil) else model
    assert isinstance(cct, CCT)
    return cct


def turned(images: Tensor, share: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Turn a share of square images (n, 1, s, s) by 90, 180 or 270 degrees; also which, (n,) bool."""
    quarters = torch.randint(1, 4, (len(images),), generator=generator) * (torch.rand(len(images), generator=generator) < share)
    return torch.stack([image.rot90(int(q), (1, 2)) for image, q in zip(images, quarters, strict=True)]), quarters > 0


@torch.no_grad()
def answers(model: CCT, images: Tensor, *, batch: int = 50) -> NDArray[np.float64]:
    """(n, 11) outputs of normalised images."""
    device = next(model.parameters()).device
    if not len(images):
        return np.zeros((0, NONE + 1))
    parts = [model.logits_with_rejection(model.features(part.to(device))).cpu() for part in images.split(batch)]
    return torch.cat(parts).double().numpy()


def strangeness(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, classes + 1) outputs -> (n,): logarithm of the odds of "none of the classes"."""
    return np.asarray(outputs[:, -1] - np.logaddexp.reduce(outputs[:, :-1], axis=1))


def _rows(count: int, wanted: int, generator: torch.Generator) -> Tensor:
    """(wanted,) rows out of `count`: all of them in a random order, then again in another."""
    rounds = -(-wanted // count)
    return torch.cat([torch.randperm(count, generator=generator) for _ in range(rounds)])[:wanted]
