"""Files of faithfulness scores over a bundled sample, written by `python -m core faithful` and shown by the pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.explain.faithfulness import Curves, FaithfulnessVerdict, from_dict, to_dict
from core.messages import Refusal

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "explain"


class FindingError(Refusal, ValueError):
    """A damaged file of findings; the message names it and says why."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Faithfulness scores of one checkpoint.

    Attributes:
        checkpoint: its name. weights_sha256: of the weights that were measured, which may have been replaced since.
        command: that wrote the file. samples: inputs measured. chance: mean area under the random orders' curves.
        curves: means over the sample. verdicts: by method.
    """

    checkpoint: str
    weights_sha256: str
    command: str
    samples: int
    chance: float
    curves: Curves
    verdicts: dict[str, FaithfulnessVerdict]


def path_of(checkpoint: str, *, folder: Path = FOLDER) -> Path:
    """Path of a checkpoint's findings."""
    return folder / f"faithfulness_{checkpoint}.json"


def write(checkpoint: str, weights_sha256: str, command: str, curves: Sequence[Curves], *, folder: Path = FOLDER) -> Path:
    """Write the mean curves and the verdicts of a sample; returns the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(checkpoint, folder=folder)
    values = {"checkpoint": checkpoint, "weights_sha256": weights_sha256, "command": command} | to_dict(curves)
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return path


def read(checkpoint: str, *, folder: Path = FOLDER) -> Finding | None:
    """A checkpoint's findings; None where none have been measured.

    Raises:
        FindingError: where the file is damaged.
    """
    path = path_of(checkpoint, folder=folder)
    if not path.exists():
        return None
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        curves, verdicts = from_dict(values)
        return Finding(
            checkpoint=str(values["checkpoint"]),
            weights_sha256=str(values["weights_sha256"]),
            command=str(values["command"]),
            samples=int(values["samples"]),
            chance=float(values["chance"]),
            curves=curves,
            verdicts=verdicts,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, AssertionError, RecursionError) as error:
        raise FindingError(
            "{file} does not hold findings: "
            "run `python -m core faithful {checkpoint} --folder assets/explain --overwrite` again ({reason})",
            file=path.name,
            checkpoint=checkpoint,
            reason=error,
        ) from error
