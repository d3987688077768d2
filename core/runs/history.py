"""Training runs read from checkpoints' cards, and the 25 epochs that the ViT report prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import checkpoints
from core.messages import compose
from core.vision.classifier import PhotographScores

REPORT = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "garments" / "report_epochs.csv"
"""The table of vit-report section 6 (cuadro 1), as printed: percentages, and the loss with label smoothing 0.1."""
REPORT_SMOOTHING = 0.1
REPORT_RATES = (4e-6, 1.7e-6)
"""Peak and last learning rate that the report's text gives; its table prints them as 0.0000 (D12)."""
COLUMNS: Final = ("train_accuracy", "held_out_accuracy", "train_loss", "held_out_loss", "rate", "seconds")
"""Of an epoch: accuracies from 0 to 1, cross-entropy with label smoothing less its floor in nats, the learning rate at its end,
and its duration. Held out are validation images here, test images in the report."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The epochs of one run.

    Attributes:
        epochs: a row an epoch: `epoch` from 1, `COLUMNS`, NaN where not given, and `gap`, training less held-out accuracy.
        floor: the least the smoothed loss can be, which was taken off.
        stages: first epoch of each stage after the first, where a run continued from another.
    """

    epochs: pd.DataFrame
    floor: float
    stages: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: pd.DataFrame, floor: float, stages: tuple[int, ...] = ()) -> Run:
        """A run from the columns that a table has; its losses hold the floor."""
        epochs = table.reindex(columns=list(COLUMNS)).astype(np.float64)
        epochs[["train_loss", "held_out_loss"]] -= floor
        epochs["gap"] = epochs["train_accuracy"] - epochs["held_out_accuracy"]
        epochs.insert(0, "epoch", np.arange(1, len(epochs) + 1))
        return cls(epochs=epochs, floor=floor, stages=stages)


@dataclass(frozen=True, kw_only=True)
class PartScores:
    """A checkpoint's scores on the test or the validation images.

    Attributes:
        samples: images; None where the card does not say.
        confusion: (classes, classes) counts, rows the truth.
        reliability: (bins,) each: "confidence", "accuracy" (NaN in an empty bin), "count".
    """

    samples: int | None
    accuracy: float
    calibration_error: float
    confusion: NDArray[np.int64]
    reliability: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """Facts of a ViT's training, from its card.

    Attributes:
        parts: scores by "test", where the test images were read, and "validation".
        photographs: scores on photographs that people took; None where the card has none.
        teacher_accuracy: of the teacher on the validation images; None without a teacher.
    """

    run: Run
    command: str
    date: str
    parameters: int
    class_names: tuple[str, ...]
    temperature: float
    parts: dict[str, PartScores]
    photographs: PhotographScores | None
    teacher_accuracy: float | None


def read_record(card: dict[str, Any]) -> TrainingRecord:
    """The training that a ViT's card describes.

    Raises:
        CheckpointError: where the card lacks a part of it, or a part is of another type or shape.
    """
    with checkpoints.entries(card, "ViT"):
        classes = len(card["classes"])
        metrics, teacher = card["metrics"], card.get("teacher")
        return TrainingRecord(
            run=run_from_card(card),
            command=str(card["command"]),
            date=str(card["date"]),
            parameters=int(card["parameters"]),
            class_names=tuple(map(str, card["classes"])),
            temperature=float(card["calibration"]["temperature"]),
            parts={name: _part_scores(metrics[name], classes) for name in ("test", "validation") if name in metrics},
            photographs=PhotographScores.from_dict(metrics["photographs"]) if "photographs" in metrics else None,
            teacher_accuracy=float(teacher["validation_accuracy"]) if teacher else None,
        )


def smoothing_floor(smoothing: float, classes: int) -> float:
    """The least that cross-entropy with label smoothing can be: the entropy of the smoothed target, in nats.

    0.5003 for 0.1 and ten classes, the report's setting.
    """
    rest = smoothing / classes
    top = 1 - smoothing + rest
    return -sum(p * math.log(p) for p in [top, *[rest] * (classes - 1)] if p > 0)


def run_from_card(card: dict[str, Any]) -> Run:
    """The epochs in a ViT's card, after those of the runs it started from; an epoch 0 after others begins a new stage.

    Raises:
        CheckpointError: where the card's history is missing or malformed.
    """
    with checkpoints.entries(card, "ViT"):
        rows: list[dict[str, float]] = []
        stage: dict[str, Any] | None = card
        while stage:
            rows = [*stage["history"], *rows]
            stage = stage.get("started_from")
        stages = tuple(i + 1 for i, row in enumerate(rows) if i and row["epoch"] == 0)
        names = {"validation_accuracy": "held_out_accuracy", "validation_loss": "held_out_loss"}
        table = pd.DataFrame([dict(row) for row in rows]).rename(columns=names)
        return Run.of(table, smoothing_floor(float(card["training"]["smoothing"]), len(card["classes"])), stages)


@cache
def report_run() -> Run:
    """The report's 25 epochs. Its loss is the training one; its rates are known only at the peak and at the end."""
    table = pd.read_csv(REPORT).rename(columns={"test_accuracy": "held_out_accuracy", "loss": "train_loss"})
    table[["train_accuracy", "held_out_accuracy"]] /= 100
    return Run.of(table, smoothing_floor(REPORT_SMOOTHING, 10))


def _part_scores(scores: dict[str, Any], classes: int) -> PartScores:
    confusion = np.array(scores["confusion"], dtype=np.int64)
    reliability = {
        name: np.array([math.nan if value is None else value for value in scores["reliability"][name]], dtype=np.float64)
        for name in ("confidence", "accuracy", "count")
    }
    if confusion.shape != (classes, classes) or len({len(values) for values in reliability.values()}) != 1:
        raise ValueError(compose("its confusion matrix or its reliability is of another shape"))
    return PartScores(
        samples=int(scores["samples"]) if "samples" in scores else None,
        accuracy=float(scores["accuracy"]),
        calibration_error=float(scores["calibration_error"]),
        confusion=confusion,
        reliability=reliability,
    )
