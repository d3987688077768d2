"""Train the ViT's teacher: the same images, split, augmentation and loop, a convolutional network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from core import checkpoints
from core.device import best_device
from core.models.garment_teacher import GarmentTeacher, TeacherConfig
from core.models.vit import CLASSES
from core.training.loop import Callback, LoopSettings, fit
from core.training.vit import VALIDATION, ViTTask, ViTTraining, prepare
from core.training.vit_card import basics, remember_origin
from core.vision.idx import read_part


def run(
    name: str,
    data: Path,
    config: TeacherConfig,
    training: ViTTraining,
    loop: LoopSettings,
    *,
    folder: Path,
    state: Path | None = None,
    compiled: bool = False,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write the teacher's checkpoint; never reads the test images. Returns the card's path."""
    garments = prepare(read_part(data, "train"), split_seed=training.split_seed, held_out=VALIDATION)
    torch.manual_seed(training.seed)
    teacher = GarmentTeacher(config)
    teacher.lay_out_for_speed()
    remember_origin(state, None)
    if compiled:
        teacher.compile(dynamic=False)
    progress = fit(teacher, ViTTask(garments, training), loop, device=best_device(), callbacks=callbacks, resume_from=state)
    card = basics(data, garments, training, loop, progress)
    card |= {"model": "garment-teacher", "config": teacher.config.to_dict(), "classes": list(CLASSES)}
    return checkpoints.save(name, teacher, card, folder=folder)


def load_teacher(name: str, *, folder: Path) -> GarmentTeacher:
    """The trained teacher, ready to be asked."""
    teacher = checkpoints.build_model(checkpoints.load(name, folder=folder), GarmentTeacher)
    teacher.lay_out_for_speed()
    return teacher
