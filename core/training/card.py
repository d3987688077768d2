"""Where a checkpoint comes from, as every card tells it: the command, and how the run went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from torch import nn

from core import checkpoints
from core.training.loop import TrainingProgress


def command() -> str:
    """The command line as the card may show it: a path by its last part, not by where it lay."""
    return "python -m core " + " ".join(Path(word).name if "/" in word else word for word in sys.argv[1:])


def command_file(state: Path) -> Path:
    """Where the command of the run that keeps this state is kept."""
    return state.with_suffix(".command")


def remember_command(state: Path | None) -> None:
    """Keep the command beside a run's state, where it keeps one, for a later run that starts from it."""
    if state is not None:
        state.parent.mkdir(parents=True, exist_ok=True)
        command_file(state).write_text(command(), encoding="utf-8")


def rounded_history(progress: TrainingProgress) -> list[dict[str, float]]:
    """The epochs, as a card keeps them: five digits each."""
    return [{key: float(f"{value:.5g}") for key, value in row.items()} for row in progress.history]


def begin_with_card(model: nn.Module, card: Path) -> dict[str, Any]:
    """Load the weights of a checkpoint whose card this is; returns what a card tells of what it started from."""
    earlier = checkpoints.load(card.stem, folder=card.parent)
    checkpoints.restore(model, earlier)
    return told_of(earlier)


def told_of(earlier: checkpoints.Checkpoint) -> dict[str, Any]:
    """What a card tells of the checkpoint that its run started from."""
    told = ("command", "started_from", "transform", "training", "history", "metrics", "notes", "weights_sha256")
    return {key: earlier.card[key] for key in told if key in earlier.card}
