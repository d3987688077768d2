"""What faithfulness came to over a bundled sample: measured by `python -m core faithful`, kept in a file, shown by the pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.explain.faithfulness import Curves, FaithfulnessVerdict, from_dict, to_dict
from core.messages import compose

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "explain"


class FindingError(ValueError):
    """A file of findings that is not one; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One checkpoint's.

    Attributes:
        checkpoint: its name. weights_sha256: of the weights that were asked, which may have been replaced since.
        command: that wrote it. samples: inputs measured. chance: mean area under the random orders' curves.
        curves: means over the sample. verdicts: a method each.
    """

    checkpoint: str
    weights_sha256: str
    command: str
    samples: int
    chance: float
    curves: Curves
    verdicts: dict[str, FaithfulnessVerdict]


def path_of(checkpoint: str, *, folder: Path = FOLDER) -> Path:
    """Where a checkpoint's findings lie."""
    return folder / f"faithfulness_{checkpoint}.json"


def write(checkpoint: str, weights_sha256: str, command: str, curves: Sequence[Curves], *, folder: Path = FOLDER) -> Path:
    """Keep a sample's curves, their mean and what they come to; returns the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(checkpoint, folder=folder)
    told = {"checkpoint": checkpoint, "weights_sha256": weights_sha256, "command": command} | to_dict(curves)
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return path


def read(checkpoint: str, *, folder: Path = FOLDER) -> Finding | None:
    """A checkpoint's findings; None where nobody has measured them.

    Raises:
        FindingError: where the file is damaged.
    """
    path = path_of(checkpoint, folder=folder)
    if not path.exists():
        return None
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        curves, verdicts = from_dict(told)
        return Finding(
            checkpoint=str(told["checkpoint"]),
            weights_sha256=str(told["weights_sha256"]),
            command=str(told["command"]),
            samples=int(told["samples"]),
            chance=float(told["chance"]),
            curves=curves,
            verdicts=verdicts,
        )
    except (OSError, ValueError, TypeError, KeyError, AssertionError) as error:
        raise FindingError(
            compose(
                "{file} does not hold findings: run `python -m core faithful {checkpoint}` again ({reason})",
                file=path.name,
                checkpoint=checkpoint,
                reason=error,
            )
        ) from error
