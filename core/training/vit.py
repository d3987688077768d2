"""The ViT's training for the loop: images, augmentation, patch dropout, loss, validation (vit-report section 1.8)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.models.garment_teacher import GarmentTeacher
from core.training.augment import Augmentation, augment
from core.training.distil import imitation
from core.training.loop import Batch
from core.vision.idx import IdxPart, Images, Labels, file_paths, read_part, stratified_split

VALIDATION = 5_000
"""Training images held out for validation, 500 a class."""
CHECKED = 5_000
"""Training images that are scored after every epoch, unaugmented, so that the train-validation gap compares like with like."""


@dataclass(frozen=True, kw_only=True)
class ViTTraining:
    """Settings of the training.

    Attributes:
        batch: images a step.
        keep: patches the model sees of each training image, drawn as `drawn_patches` says; all of them where left out.
        keep_all_last: epochs at the end that see every patch, whatever `keep` says.
        epochs: of the run, to know which are its last.
        smoothing: label smoothing.
        soft: weight of the teacher's answer beside the labels', where there is a teacher.
        temperature: of the soft targets.
        hints: weight of matching the teacher's middle cells; hint_depth: layers of the ViT before they are compared.
        augmentation: changes to the training images.
        split_seed: draws the validation images; the same for every run that is to be compared.
        seed: draws everything else.
    """

    batch: int = 128
    keep: int | None = None
    keep_all_last: int = 0
    epochs: int = 1
    smoothing: float = 0.1
    soft: float = 0.8
    temperature: float = 2.0
    hints: float = 1.0
    hint_depth: int = 4
    augmentation: Augmentation = field(default_factory=Augmentation)
    split_seed: int = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class GarmentData:
    """Images as (n, 1, 28, 28) in [0, 1], and the constants that normalise them, from the training images alone."""

    train_images: Tensor
    train_labels: Tensor
    validation_images: Tensor
    validation_labels: Tensor
    mean: float
    std: float


def as_tensor(images: Images) -> Tensor:
    """(n, 28, 28) grey levels -> (n, 1, 28, 28) in [0, 1]."""
    return torch.from_numpy(images.copy())[:, None].float() / 255


def some_of(part: IdxPart, count: int, *, seed: int) -> IdxPart:
    """`count` images, the classes in equal numbers.

    Raises:
        ValueError: where the part cannot give so many evenly.
    """
    rows = stratified_split(part.labels, count, seed=seed)[1]
    return IdxPart(images=part.images[rows], labels=part.labels[rows])


def data_entries(folder: Path, garments: GarmentData, split_seed: int) -> dict[str, Any]:
    """The card's entries on the images: how they are normalised, their files and their split."""
    return {
        "transform": {"mean": garments.mean, "std": garments.std, "of": "grey levels / 255, training images"},
        "data": checkpoints.describe_files(file_paths(folder, "train")),
        "split": f"{len(garments.train_labels):,} of the training images to train on, {len(garments.validation_labels):,} to "
        f"validate on (equal numbers a class, seed {split_seed}); the test images are read once, at the end",
    }


def prepare(part: IdxPart, *, split_seed: int = 0, held_out: int = VALIDATION) -> GarmentData:
    """Split the training part and measure the constants on what is trained on."""
    train, validation = stratified_split(part.labels, held_out, seed=split_seed)
    images = as_tensor(part.images[train])

    def labels(rows: Labels) -> Tensor:
        return torch.from_numpy(part.labels[rows])

    return GarmentData(
        train_images=images,
        train_labels=labels(train),
        validation_images=as_tensor(part.images[validation]),
        validation_labels=labels(validation),
        mean=round(float(images.mean()), 6),
        std=round(float(images.std()), 6),
    )


def validation_part(folder: Path, *, split_seed: int = 0) -> IdxPart:
    """The images of the folder's training file that every training with this seed holds out."""
    part = read_part(folder, "train")
    rows = stratified_split(part.labels, VALIDATION, seed=split_seed)[1]
    return IdxPart(images=part.images[rows], labels=part.labels[rows])


PLAIN = 0.1
"""Weight of a patch without any contrast, beside one whose grey levels spread by one normalised unit."""


def drawn_patches(images: Tensor, patches: int, keep: int, generator: torch.Generator) -> Tensor:
    """(batch, keep) patches of each image, drawn without replacement with a chance that grows with their contrast.

    About half of a garment's picture is empty background: leaving mostly that out costs little and halves the work.
    The draw is Efraimidis and Spirakis' (2006): the largest u^(1/weight), here log(u) / weight.
    """
    grid = math.isqrt(patches)
    side = images.shape[-1] // grid
    tiles = images.unfold(2, side, side).unfold(3, side, side).flatten(4).flatten(1, 3)
    weights = PLAIN + tiles.std(dim=-1)
    luck = torch.rand(len(images), patches, generator=generator).clamp_min(1e-9).log() / weights
    return luck.topk(keep, dim=1, sorted=False).indices


class ViTTask:
    """Batches of augmented images in normalised units, and the loss; with a teacher, its soft answers to the same images.

    A batch is (images, labels) or, under patch dropout, (images, labels, kept patches).
    """

    def __init__(
        self, data: GarmentData, training: ViTTraining, *, patches: int = 49, teacher: GarmentTeacher | None = None
    ) -> None:
        if training.keep is not None and not 1 <= training.keep <= patches:
            raise ValueError(f"{training.keep} patches cannot be kept of {patches}")
        self.data, self.training, self.patches, self.teacher = data, training, patches, teacher

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in the training images."""
        return len(self.data.train_labels) // self.training.batch

    def normalise(self, images: Tensor) -> Tensor:
        """[0, 1] -> the units the model reads."""
        return (images - self.data.mean) / self.data.std

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Every training image once, in an order and with changes that the seed and the epoch decide."""
        t = self.training
        generator = torch.Generator().manual_seed(t.seed * 1_000_003 + epoch)
        order = torch.randperm(len(self.data.train_labels), generator=generator)
        keep = t.keep if epoch < t.epochs - t.keep_all_last else None
        for step in range(self.steps_per_epoch):
            rows = order[step * t.batch : (step + 1) * t.batch]
            images = self.normalise(augment(self.data.train_images[rows], t.augmentation, generator))
            if keep is None or keep == self.patches:
                yield images, self.data.train_labels[rows]
            else:
                yield images, self.data.train_labels[rows], drawn_patches(images, self.patches, keep, generator)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy with label smoothing; with a teacher, see `core.training.distil.imitation`."""
        images, labels, *kept = batch
        t = self.training
        if self.teacher is not None:
            return imitation(
                model,
                self.teacher,
                images,
                labels,
                kept[0] if kept else None,
                smoothing=t.smoothing,
                soft=t.soft,
                temperature=t.temperature,
                hints=t.hints,
            )
        logits = model(images, keep=kept[0]) if kept else model(images)
        return F.cross_entropy(logits, labels, label_smoothing=t.smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy and label-smoothed loss on the validation images and on as many training images, unaugmented."""
        found = {}
        parts = {
            "train": (self.data.train_images[:CHECKED], self.data.train_labels[:CHECKED]),
            "validation": (self.data.validation_images, self.data.validation_labels),
        }
        for name, (images, labels) in parts.items():
            logits = answer(model, self.normalise(images))
            truth = labels.to(logits.device)
            found[f"{name}_accuracy"] = float((logits.argmax(dim=1) == truth).float().mean())
            found[f"{name}_loss"] = float(F.cross_entropy(logits, truth, label_smoothing=self.training.smoothing))
        return {"score": found["validation_accuracy"], **found}


@torch.no_grad()
def answer(model: nn.Module, images: Tensor, *, batch: int = 250) -> Tensor:
    """Logits of normalised images, a few at a time, where the model is. Not compiled: shapes differ from training's."""
    device = next(model.parameters()).device
    return torch.cat([model.forward(part.to(device)) for part in images.split(batch)])
