"""What the cards of the ViT and of its teacher have in common."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn

from core import checkpoints
from core.device import best_device
from core.training.card import command, rounded_history, told_of
from core.training.loop import LoopSettings, TrainingProgress, best_of
from core.training.vit import GarmentData, ViTTraining
from core.training.widening import widened
from core.vision.idx import file_paths


def basics(
    data: Path, garments: GarmentData, training: ViTTraining, loop: LoopSettings, progress: TrainingProgress
) -> dict[str, Any]:
    """What the card of any classifier of garments says of its training."""
    history = rounded_history(progress)
    if not history:
        raise ValueError("the run was stopped before its first epoch ended: there is nothing to keep yet")
    return {
        "transform": {"mean": garments.mean, "std": garments.std, "of": "grey levels / 255, training images"},
        "data": checkpoints.describe_files(file_paths(data, "train")),
        "split": f"{len(garments.train_labels):,} of the training images to train on, {len(garments.validation_labels):,} to "
        f"validate on (equal numbers a class, seed {training.split_seed}); the test images are read once, at the end",
        "seed": training.seed,
        "device": best_device().type,
        "command": command(),
        "training": {**asdict(training), **asdict(loop), "best_epoch": progress.best_epoch},
        "versions": checkpoints.versions("torch", "numpy", "safetensors"),
        "history": history,
        "metrics": {"validation": history[progress.best_epoch]},
    }


def begin_with(model: nn.Module, start: Path) -> dict[str, Any]:
    """Load an earlier run's best weights, and say what that run was, and what it in turn had started from.

    The earlier model may have had narrower feed-forward networks; see `core.training.widening`.

    Args:
        start: the state that the run kept, or the card of the checkpoint that it wrote.
    """
    if start.suffix == ".json":
        earlier = checkpoints.load(start.stem, folder=start.parent)
        model.load_state_dict(widened(earlier.weights, model.state_dict()))
        return told_of(earlier)
    weights, progress = best_of(start)
    # a run with a teacher keeps the ViT under this name, beside what it was compared by
    mine = {key.removeprefix("vit."): value for key, value in weights.items() if not key.startswith("bridge.")}
    model.load_state_dict(widened(mine, model.state_dict()))
    told: dict[str, Any] = json.loads(start.with_suffix(".origin").read_text(encoding="utf-8"))
    return told | {"epochs": progress.epoch, "best_epoch": progress.best_epoch, "history": rounded_history(progress)}


def remember_origin(state: Path | None, before: dict[str, Any] | None) -> None:
    """Keep the command, and what the run started from, beside its state, for a later run that starts from it."""
    if state is not None:
        state.parent.mkdir(parents=True, exist_ok=True)
        told = {"command": command(), "started_from": before}
        state.with_suffix(".origin").write_text(json.dumps(told), encoding="utf-8")
