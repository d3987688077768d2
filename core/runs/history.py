"""Training runs as tables: a checkpoint's own epochs, from its card, and the 25 epochs that the ViT report prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

REPORT = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "garments" / "report_epochs.csv"
"""The table of vit-report section 6 (cuadro 1), as printed: percentages, and the loss with label smoothing 0.1."""
REPORT_SMOOTHING = 0.1
REPORT_RATES = (4e-6, 1.7e-6)
"""Peak and last learning rate that the report's text gives; its table prints them as 0.0000 (D12)."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The epochs of one run, first to last; every array is (epochs,).

    Attributes:
        epoch: from 1.
        train_accuracy, held_out_accuracy: shares of one; held out are validation images here, test images in the report.
        train_loss, held_out_loss: cross-entropy with label smoothing less `floor`, nats; all NaN where never measured.
        rate: learning rate at the epoch's end; NaN where not given.
        seconds: an epoch took.
        floor: the least the smoothed loss can be, which was taken off.
        stages: first epoch of each stage after the first, where a run went on from another.
    """

    epoch: NDArray[np.int64]
    train_accuracy: NDArray[np.float64]
    held_out_accuracy: NDArray[np.float64]
    train_loss: NDArray[np.float64]
    held_out_loss: NDArray[np.float64]
    rate: NDArray[np.float64]
    seconds: NDArray[np.float64]
    floor: float
    stages: tuple[int, ...] = ()

    @property
    def gap(self) -> NDArray[np.float64]:
        """Training less held-out accuracy."""
        return self.train_accuracy - self.held_out_accuracy

    def table(self) -> pd.DataFrame:
        """One row an epoch, for a download."""
        columns = ("epoch", "train_accuracy", "held_out_accuracy", "train_loss", "held_out_loss", "rate", "seconds")
        return pd.DataFrame({name: getattr(self, name) for name in columns})


def smoothing_floor(smoothing: float, classes: int) -> float:
    """The least that cross-entropy with label smoothing can be: the entropy of the smoothed target, in nats.

    0.5003 for 0.1 and ten classes, the report's setting.
    """
    rest = smoothing / classes
    top = 1 - smoothing + rest
    return -sum(p * math.log(p) for p in [top, *[rest] * (classes - 1)] if p > 0)


def run_of(card: dict[str, Any]) -> Run:
    """The epochs that a ViT's card tells of, those of the runs it started from first."""
    history: list[dict[str, float]] = []
    told: dict[str, Any] | None = card
    while told:
        history = [*told["history"], *history]
        told = told.get("started_from")
    return from_history(
        history,
        smoothing=float(card["training"]["smoothing"]),
        classes=len(card["classes"]),
    )


def from_history(history: list[dict[str, float]], *, smoothing: float, classes: int) -> Run:
    """The same from the rows that `core.training.loop` writes; an epoch 0 after others begins a new stage."""

    def column(key: str) -> NDArray[np.float64]:
        return np.array([row.get(key, math.nan) for row in history], dtype=np.float64)

    floor = smoothing_floor(smoothing, classes)
    return Run(
        epoch=np.arange(1, len(history) + 1),
        train_accuracy=column("train_accuracy"),
        held_out_accuracy=column("validation_accuracy"),
        train_loss=column("train_loss") - floor,
        held_out_loss=column("validation_loss") - floor,
        rate=column("rate"),
        seconds=column("seconds"),
        floor=floor,
        stages=tuple(i + 1 for i, row in enumerate(history) if i and row["epoch"] == 0),
    )


@cache
def report_run() -> Run:
    """The report's 25 epochs. Its loss is the training one; its rates are known only at the peak and at the end."""
    table = pd.read_csv(REPORT)
    floor = smoothing_floor(REPORT_SMOOTHING, 10)
    unknown = np.full(len(table), math.nan)
    return Run(
        epoch=table["epoch"].to_numpy(np.int64),
        train_accuracy=table["train_accuracy"].to_numpy(np.float64) / 100,
        held_out_accuracy=table["test_accuracy"].to_numpy(np.float64) / 100,
        train_loss=table["loss"].to_numpy(np.float64) - floor,
        held_out_loss=unknown,
        rate=unknown,
        seconds=table["seconds"].to_numpy(np.float64),
        floor=floor,
    )


def counts(confusion: list[list[int]]) -> NDArray[np.int64]:
    """A card's confusion matrix as an array, rows the truth."""
    return np.array(confusion, dtype=np.int64)


def reliability_bins(found: dict[str, list[float | None]]) -> dict[str, NDArray[np.float64]]:
    """A card's reliability as arrays (bins,), NaN in an empty bin: `confidence`, `accuracy`, `count`."""
    return {
        name: np.array([math.nan if one is None else one for one in values], dtype=np.float64) for name, values in found.items()
    }
