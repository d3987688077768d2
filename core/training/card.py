"""The entries that every card has: where the model comes from and how its training went."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from core import checkpoints
from core.device import best_device
from core.models.config import ModelConfig
from core.training.loop import LoopSettings, Task, TrainingProgress, best_of, fit
from core.training.recipe import TrainingRun

PACKAGES = ("torch", "numpy", "pandas", "pyarrow", "safetensors")
"""Packages whose versions every card names."""
Weights = dict[str, Tensor]


def command() -> str:
    """The command line for the card: a path is shortened to its last part, which says the same on another machine."""
    return "python -m core " + " ".join(Path(word).name if "/" in word else word for word in sys.argv[1:])


def origin_entries(config: ModelConfig, *, seed: int, started_from: dict[str, Any] | None = None) -> dict[str, Any]:
    """The entries that do not depend on how training went: model, config, seed, command, device, versions, start."""
    return {
        "model": config.model,
        "config": config.to_dict(),
        "seed": seed,
        "command": command(),
        "device": best_device().type,
        "started_from": started_from,
        "versions": checkpoints.versions(*PACKAGES),
    }


def rounded_history(progress: TrainingProgress) -> list[dict[str, float]]:
    """The epochs' numbers with five significant digits each."""
    return [{key: float(f"{value:.5g}") for key, value in row.items()} for row in progress.history]


def begun(run: TrainingRun, model: nn.Module, *, adapt: Callable[[Weights], Weights] = dict) -> dict[str, Any] | None:
    """Load what the run starts from; returns the card's `started_from`.

    The command and the start are written beside the run's state, for a later run that starts from this one.
    """
    before = None if run.start is None else load_start(model, run.start, adapt=adapt)
    if run.state is not None:
        run.state.parent.mkdir(parents=True, exist_ok=True)
        origin = {"command": command(), "started_from": before}
        run.state.with_suffix(".origin").write_text(json.dumps(origin), encoding="utf-8")
    return before


def trained(
    run: TrainingRun,
    model: nn.Module,
    task: Task,
    loop: LoopSettings,
    *,
    training: Any,
    config: ModelConfig,
    before: dict[str, Any] | None = None,
    rates: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Train a model in place; returns the card's entries of where it comes from and how training went.

    Args:
        training: the task's settings, a dataclass. before: how the run went that it started from. rates: as `fit`.

    Raises:
        ValueError: where no epoch was completed.
    """
    progress = fit(model, task, loop, device=best_device(), callbacks=run.callbacks, resume_from=run.state, rates=rates)
    history = rounded_history(progress)
    if not history:
        raise ValueError("the run was stopped before its first epoch ended: there is nothing to keep yet")
    return origin_entries(config, seed=training.seed, started_from=before) | {
        "training": {**asdict(training), **asdict(loop), "best_epoch": progress.best_epoch},
        "history": history,
        "metrics": {"validation": history[progress.best_epoch]},
    }


def save(
    run: TrainingRun, model: nn.Module, card: dict[str, Any], test: Callable[[checkpoints.Checkpoint], dict[str, Any]]
) -> Path:
    """Write a run's checkpoint, and again with the metrics of its test part where the run scores it; returns the card's path.

    Args:
        test: metrics of the checkpoint as it is loaded.
    """
    path = checkpoints.save(run.name, model, card, folder=run.folder)
    if run.test:
        card["metrics"] |= test(checkpoints.load(run.name, folder=run.folder))
        checkpoints.save(run.name, model, card, folder=run.folder)
    return path


def load_start(model: nn.Module, start: Path, *, adapt: Callable[[Weights], Weights] = dict) -> dict[str, Any]:
    """Load an earlier run's best weights; returns the `started_from` of the new card.

    Args:
        start: the card of a checkpoint (.json), or the state that the earlier run kept.
        adapt: changes the earlier weights to fit the model.
    """
    if start.suffix == ".json":
        earlier = checkpoints.load(start.stem, folder=start.parent)
        checkpoints.restore(model, checkpoints.Checkpoint(card=earlier.card, weights=adapt(earlier.weights)))
        kept = ("command", "started_from", "transform", "training", "history", "metrics", "notes", "weights_sha256")
        return {key: earlier.card[key] for key in kept if key in earlier.card}
    weights, progress = best_of(start)
    model.load_state_dict(adapt(weights))
    origin: dict[str, Any] = json.loads(start.with_suffix(".origin").read_text(encoding="utf-8"))
    return origin | {"epochs": progress.epoch, "best_epoch": progress.best_epoch, "history": rounded_history(progress)}
