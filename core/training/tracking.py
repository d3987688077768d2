"""A run's numbers for a program that draws them, such as TensorBoard, W&B or MLflow."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from core.training.loop import Callback, TrainingProgress


class Tracker(Protocol):
    """Whatever takes numbers by step: `wandb.log(metrics, step=step)`, `mlflow.log_metrics(metrics, step=step)`."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take the numbers of a step of the run."""
        ...


class TensorBoard:
    """Event files in a folder, for `tensorboard --logdir`.

    Raises:
        ModuleNotFoundError: without the extra `tensorboard`.
    """

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter  # a second, and a package that training does without

        self._writer: Any = SummaryWriter(str(folder))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the numbers, so that they are seen at once."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()


def tracked(tracker: Tracker, *, every: int = 10) -> Callback:
    """Loss and rate of every tenth step, and the row of each epoch as `epoch/NAME`.

    Stages of a run, each of which counts its own steps, follow each other.
    """
    before = last = 0

    def report(event: str, progress: TrainingProgress) -> None:
        nonlocal before, last
        if event == "step" and progress.step <= last:
            before += last
        last = progress.step
        if event == "epoch":
            row = progress.history[-1]
            tracker.log(before + last, {f"epoch/{name}": row[name] for name in row if name not in ("epoch", "step")})
        elif last % every == 0:
            tracker.log(before + last, {"loss": progress.loss, "rate": progress.rate})

    return report
