"""A checkpoint is two files: `<name>.safetensors` with the weights and `<name>.json`, its card.

The card names the weights' SHA-256, so that neither file can be swapped alone; nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as packed
from torch import Tensor, nn

from core.models.parameters import count

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "checkpoints"
"""Where the shipped checkpoints are."""

REQUIRED = (
    "name",
    "model",
    "config",
    "data",
    "split",
    "seed",
    "command",
    "versions",
    "metrics",
    "date",
    "weights_sha256",
    "parameters",
)
"""What every card says; a model's own card says more."""


class CheckpointError(ValueError):
    """A checkpoint that is missing or does not hold together; the message says what was wrong."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Weights and what is known of them."""

    card: dict[str, Any]
    weights: dict[str, Tensor]


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_files(paths: Iterable[Path]) -> list[dict[str, str]]:
    """File names and digests, for a card's `data`."""
    return [{"file": path.name, "sha256": sha256(path)} for path in paths]


def versions(*packages: str) -> dict[str, str]:
    """Python's version and those of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def save(name: str, module: nn.Module, card: dict[str, Any], *, folder: Path = FOLDER) -> Path:
    """Write both files and return the card's path. The digest, the parameter count and the date are added here.

    Raises:
        CheckpointError: where the card leaves something out; nothing is written then.
    """
    weights = packed({key: value.detach().cpu().contiguous() for key, value in module.state_dict().items()})
    whole = {
        "name": name,
        **card,
        "parameters": count(module),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    _check(whole, name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.safetensors").write_bytes(weights)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def names(model: str | None = None, *, folder: Path = FOLDER) -> list[str]:
    """Names of the checkpoints in a folder, of one model where given, in alphabetical order; a card that is damaged has none."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(CheckpointError):
            if model in (None, read_card(path.stem, folder=folder).get("model")):
                found.append(path.stem)
    return found


def read_card(name: str, *, folder: Path = FOLDER) -> dict[str, Any]:
    """A checkpoint's card alone.

    Raises:
        CheckpointError: where there is none, or it is not a whole card.
    """
    path = folder / f"{name}.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        present = ", ".join(path.stem for path in sorted(folder.glob("*.json"))) or "none"
        raise CheckpointError(f"there is no checkpoint named {name!r}: there are {present}") from error
    except ValueError as error:
        raise CheckpointError(f"the card {path.name} is not valid JSON: {error}") from error
    if not isinstance(card, dict):
        raise CheckpointError(f"the card {path.name} is not a JSON object")
    _check(card, name)
    return card


def load(name: str, *, folder: Path = FOLDER) -> Checkpoint:
    """Weights and card, checked against each other.

    Raises:
        CheckpointError: where a file is missing or damaged, or the two do not belong together.
    """
    card = read_card(name, folder=folder)
    path = folder / f"{name}.safetensors"
    if not path.exists():
        raise CheckpointError(f"the weights {path.name} are missing: the card {name}.json needs them beside it")
    if sha256(path) != card["weights_sha256"]:
        raise CheckpointError(f"the weights {path.name} are not those of the card {name}.json: their SHA-256 differs")
    try:
        return Checkpoint(card=card, weights=load_file(path))
    except SafetensorError as error:
        raise CheckpointError(f"the weights {path.name} are damaged: {error}") from error


def restore(module: nn.Module, checkpoint: Checkpoint) -> None:
    """Put the weights into a module built from the card's config.

    Raises:
        CheckpointError: where names or shapes do not fit.
    """
    try:
        module.load_state_dict(checkpoint.weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"the weights of {checkpoint.card['name']!r} do not fit its card's config: {str(error).splitlines()[0]}"
        ) from error
    module.eval()


def _check(card: dict[str, Any], name: str) -> None:
    missing = [key for key in REQUIRED if key not in card]
    if missing:
        raise CheckpointError(f"the card {name}.json lacks {', '.join(missing)}")
    if card["name"] != name:
        raise CheckpointError(f"the card {name}.json calls itself {card['name']!r}")
