"""The epochs of a training run, read from a checkpoint's card, and the 25 epochs that the ViT report prints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core import checkpoints

REPORT = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "garments" / "report_epochs.csv"
"""The table of vit-report section 6 (cuadro 1), as printed: percentages."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The epochs of one run.

    Attributes:
        epochs: a row an epoch: `epoch` from 1, `train_accuracy` and `held_out_accuracy` from 0 to 1, NaN where not given, and
            `gap`, the first less the second. Held out are validation images here, test images in the report.
        stages: first epoch of each stage after the first, where a run continued from another.
    """

    epochs: pd.DataFrame
    stages: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: pd.DataFrame, stages: tuple[int, ...] = ()) -> Run:
        """A run from the columns that a table has."""
        epochs = table.reindex(columns=["train_accuracy", "held_out_accuracy"]).astype(np.float64)
        epochs["gap"] = epochs["train_accuracy"] - epochs["held_out_accuracy"]
        epochs.insert(0, "epoch", np.arange(1, len(epochs) + 1))
        return cls(epochs=epochs, stages=stages)


def run_from_card(card: dict[str, Any]) -> Run:
    """The epochs in a garment model's card, after those of the runs it started from; an epoch 0 after others begins a new stage.

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
        table = pd.DataFrame([dict(row) for row in rows]).rename(columns={"validation_accuracy": "held_out_accuracy"})
        return Run.of(table, stages)


def report_run() -> Run:
    """The report's 25 epochs."""
    table = pd.read_csv(REPORT).rename(columns={"test_accuracy": "held_out_accuracy"})
    return Run.of(table[["train_accuracy", "held_out_accuracy"]] / 100)
