"""Train the ViT's teacher: the same images, split, augmentation and loop, a convolutional network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from core import checkpoints
from core.device import best_device
from core.models.garment_teacher import GarmentTeacher, TeacherConfig
from core.models.vit import CLASSES
from core.training.card import origin_entries, save_origin, training_entries
from core.training.loop import Callback, LoopSettings, fit
from core.training.vit import VALIDATION, ViTTask, ViTTraining, data_entries, prepare
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
    save_origin(state)
    if compiled:
        teacher.compile(dynamic=False)
    progress = fit(teacher, ViTTask(garments, training), loop, device=best_device(), callbacks=callbacks, resume_from=state)
    card = {
        **origin_entries(teacher.config, seed=training.seed),
        **data_entries(data, garments, training.split_seed),
        **training_entries(training, loop, progress),
        "classes": list(CLASSES),
    }
    return checkpoints.save(name, teacher, card, folder=folder)


def load_teacher(name: str, *, folder: Path) -> GarmentTeacher:
    """The trained teacher, ready to be asked."""
    teacher = checkpoints.build_model(checkpoints.load(name, folder=folder), GarmentTeacher)
    teacher.lay_out_for_speed()
    return teacher
