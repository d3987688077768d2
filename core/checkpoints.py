"""A checkpoint is two files: `<name>.safetensors` with the weights and `<name>.json`, its card.

The card names the weights' SHA-256, so that neither file can be swapped alone; nothing is ever unpickled.
"""

import contextlib
import hashlib
import itertools
import json
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as packed
from torch import Tensor, nn
from torch.nn.modules.module import register_module_buffer_registration_hook, register_module_parameter_registration_hook

from core.device import without_memory
from core.files import Written, write_together, written
from core.messages import Message, Refusal, compose
from core.models import MODELS
from core.models.config import ModelConfig
from core.models.parameters import count
from core.once import once

Model = TypeVar("Model", bound=nn.Module)
Made = TypeVar("Made")

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "checkpoints"
"""Folder of the shipped checkpoints."""

MOST_COMPUTED = 2**26
"""Numbers that a network may compute for itself besides its weights, as tables of positions: 256 MB."""

REQUIRED: dict[str, type] = {
    "name": str,
    "model": str,
    "config": dict,
    "data": object,
    "split": object,
    "seed": object,
    "command": object,
    "versions": object,
    "metrics": dict,
    "date": str,
    "weights_sha256": str,
    "parameters": int,
}
"""The entries of every card, and the type of those that code reads; a model's own card has more."""


class CheckpointError(Refusal, ValueError):
    """A checkpoint that is missing, damaged or inconsistent; the message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A card and its weights, by name.

    Attributes:
        shipped: whether they came with the app: what a stranger made is compared before memory is taken for it.
    """

    card: dict[str, Any]
    weights: dict[str, Tensor]
    shipped: bool = False


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_files(paths: Iterable[Path]) -> list[dict[str, str]]:
    """File names and digests, for a card's `data`."""
    return [{"file": path.name, "sha256": sha256(path)} for path in paths]


def versions(*packages: str) -> dict[str, str]:
    """Python's version and those of the packages that are installed."""
    listed = {"python": platform.python_version()}
    for package in packages:
        try:
            listed[package] = version(package)
        except PackageNotFoundError:
            continue
    return listed


def save(name: str, module: nn.Module, card: dict[str, Any], *, folder: Path = FOLDER) -> Path:
    """Write both files and return the card's path. The digest, the parameter count and the date are added here.

    Raises:
        CheckpointError: where the card lacks an entry; nothing is written then.
        OSError: where the disk refuses; an earlier checkpoint of this name stays what it was.
    """
    weights = packed({key: value.detach().cpu().contiguous() for key, value in module.state_dict().items()})
    whole = {
        "name": name,
        **card,
        "parameters": count(module),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    check_card(whole, f"{name}.json")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    write_together({path.with_suffix(".safetensors"): weights, path: text.encode()})
    return path


def names(model: str | None = None, *, folder: Path = FOLDER) -> list[str]:
    """Names of the checkpoints in a folder, of one model where given, in alphabetical order; damaged cards are left out."""
    listed = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(CheckpointError, FileNotFoundError):
            if model in (None, _model_named(path, path.stat().st_mtime_ns, path.stat().st_size)):
                listed.append(path.stem)
    return listed


@lru_cache(maxsize=256)
def _model_named(card: Path, *_state: int) -> Any:
    """The model that a card names, read once for each state of the file: pages ask for all names several times a run."""
    return read_card(card.stem, folder=card.parent).get("model")


def read_card(name: str, *, folder: Path = FOLDER) -> dict[str, Any]:
    """A checkpoint's card alone.

    Raises:
        CheckpointError: where there is none, or it is damaged or incomplete.
    """
    path = folder / f"{name}.json"
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        present = ", ".join(path.stem for path in sorted(folder.glob("*.json"))) or "none"
        raise CheckpointError("there is no checkpoint named {name!r}: there are {names}", name=name, names=present) from error
    try:
        card: dict[str, Any] = json.loads(text)
    except RecursionError as error:
        raise CheckpointError("the card {file} is nested too deeply to be a card", file=path.name) from error
    except ValueError as error:
        raise CheckpointError("the card {file} is not valid JSON: {reason}", file=path.name, reason=error) from error
    if not isinstance(card, dict):
        raise CheckpointError("the card {file} is not a JSON object", file=path.name)
    check_card(card, path.name)
    if card["name"] != name:
        raise CheckpointError("the card {file} calls itself {name!r}", file=path.name, name=card["name"])
    return card


def check_card(card: dict[str, Any], file: str) -> None:
    """Compare a card with `REQUIRED`.

    Args:
        file: its name, for the message.

    Raises:
        CheckpointError: where an entry is missing or of another type.
    """
    missing = [key for key in REQUIRED if key not in card]
    if missing:
        raise CheckpointError("the card {file} lacks {keys}", file=file, keys=", ".join(missing))
    for key, kind in REQUIRED.items():
        if not isinstance(card[key], kind):
            raise CheckpointError("the card {file} has a {key} of another type than a card's", file=file, key=key)


def load(name: str, *, folder: Path = FOLDER) -> Checkpoint:
    """Weights and card, checked against each other.

    Raises:
        CheckpointError: where a file is missing or damaged, or the two do not belong together.
    """
    card, path = read_card(name, folder=folder), folder / f"{name}.safetensors"
    if not path.exists():
        raise CheckpointError(
            "the weights {file} are missing: the card {name}.json needs them beside it", file=path.name, name=name
        )
    if sha256(path) != card["weights_sha256"]:
        raise CheckpointError(
            "the weights {file} are not those of the card {name}.json: their SHA-256 differs", file=path.name, name=name
        )
    try:
        return Checkpoint(card=card, weights=load_file(path), shipped=path.parent == FOLDER)
    except SafetensorError as error:
        raise CheckpointError("the weights {file} are damaged: {reason}", file=path.name, reason=error) from error


def once_a_card(make: Callable[[Checkpoint], Made], default: str = "") -> Callable[..., Made]:
    """A function of a checkpoint's name that makes something of it once in a process, and anew where its card was written anew.

    It takes the `folder` too, the app's where none is named; what `load` and `make` raise is raised.
    """

    @once
    def made(name: str, folder: Path, _written: Written) -> Made:
        return make(load(name, folder=folder))

    def of_card(name: str = default, *, folder: Path | None = None) -> Made:
        place = folder or FOLDER
        return made(name, place, written([place / f"{name}.json"]))

    return of_card


@contextlib.contextmanager
def entries(card: dict[str, Any], model: str) -> Iterator[dict[str, Any]]:
    """The card, for a block of code that reads its entries: whatever a missing or wrong one raises becomes a `CheckpointError`.

    Args:
        model: name of the model that the card should describe, for the message.

    Raises:
        CheckpointError: in place of a KeyError, TypeError, ValueError, AttributeError or OverflowError of the block.
    """
    try:
        yield card
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, KeyError):
            reason: Any = compose("it lacks {key}", key=str(error))
        elif isinstance(error, ValueError):
            reason = error.args[0] if error.args else error
        else:
            reason = compose("an entry is of another type ({error})", error=error)
        raise CheckpointError(
            "the card {name}.json does not describe the model {model}: {reason}", name=card["name"], model=model, reason=reason
        ) from error


def build_model(checkpoint: Checkpoint, model: type[Model], *, device: torch.device | None = None) -> Model:
    """The network of a checkpoint: built from its card's config, with its weights, in evaluation mode, in float32.

    Args:
        model: the class that is needed, one of `core.models.MODELS`.
        device: where it is to be; the CPU where None.

    Raises:
        CheckpointError: where the checkpoint holds another model, or its config or its weights do not describe this one.
    """
    config = read_config(checkpoint.card, model)
    if not checkpoint.shipped:
        _compare_shapes(model, config, checkpoint)
    network = model(config)
    restore(network, checkpoint)
    return network.to(device)


def _compare_shapes(model: type[nn.Module], config: Any, checkpoint: Checkpoint) -> None:
    """Compare the shapes that a config asks for with those of the weights, before memory is taken for them.

    Raises:
        CheckpointError: where they differ, or the network holds more besides its weights than `MOST_COMPUTED`.
    """
    left, builder = itertools.count(2 * len(checkpoint.weights), -1), threading.get_ident()

    def refused(reason: Message | str) -> CheckpointError:
        name = checkpoint.card["name"]
        return CheckpointError("the weights of {name!r} do not fit its card's config: {reason}", name=name, reason=reason)

    def registered(*_tensor: object) -> None:
        if threading.get_ident() == builder and next(left) < 0:  # others build other networks meanwhile
            raise refused(compose("it asks for more tensors than there are"))

    hooks = [register_module_parameter_registration_hook(registered), register_module_buffer_registration_hook(registered)]
    try:
        with without_memory(), entries(checkpoint.card, model.__name__):
            network = model(config)
    except RuntimeError as error:  # a size that no tensor has
        raise refused(str(error).splitlines()[0]) from error
    finally:
        for hook in hooks:
            hook.remove()
    asked, there = ({name: one.shape for name, one in some.items()} for some in (network.state_dict(), checkpoint.weights))
    if differing := sorted(name for name in asked.keys() | there.keys() if asked.get(name) != there.get(name)):
        shapes = (str(tuple(some[differing[0]])) if differing[0] in some else "none" for some in (asked, there))
        about = dict(zip(("asked", "there"), shapes, strict=True))
        raise refused(compose("{tensor} has the shape {there}, the config asks for {asked}", tensor=differing[0], **about))
    if sum(one.numel() for name, one in network.named_buffers() if name not in asked) > MOST_COMPUTED:
        raise refused(compose("it computes larger tables than a model here has"))


def read_config(card: dict[str, Any], model: type[nn.Module]) -> Any:
    """The configuration in a card of this model, such as a `TLOBConfig`.

    Raises:
        CheckpointError: as `build_model`.
    """
    name = card["model"]
    if name not in MODELS or MODELS[name][0] is not model:
        raise CheckpointError(
            "the checkpoint {name!r} holds the model {model}: {needed} is needed here",
            name=card["name"],
            model=name,
            needed=model.__name__,
        )
    with entries(card, model.__name__):
        config: ModelConfig = MODELS[name][1](**card["config"])
    return config


def restore(module: nn.Module, checkpoint: Checkpoint) -> None:
    """Put the weights into a module built from the card's config.

    Raises:
        CheckpointError: where names or shapes do not fit.
    """
    try:
        module.load_state_dict(checkpoint.weights)
    except RuntimeError as error:
        raise CheckpointError(
            "the weights of {name!r} do not fit its card's config: {reason}",
            name=checkpoint.card["name"],
            reason=str(error).splitlines()[0],
        ) from error
    module.eval()
