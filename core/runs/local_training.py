"""Training a small ViT on this machine while the app runs, by `python -m core train vit` (`core.runs.local_run`).

The command in the checkpoint's card repeats the run.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import checkpoints
from core.messages import compose
from core.runs import data_folders
from core.runs.local_run import ATTACHED, PROGRESS, LocalRun, TrainError
from core.vision.idx import missing

NAME = "vit-here"
TRAIN_FILES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings of a run.

    Attributes:
        data: folder of the IDX files; downloaded into it where missing.
        images: taken of the training file, validation included; a multiple of 100.
        epochs, batch, rate, seed: of the run. patch, width, heads, layers: of the model (its FFN is twice as wide).
    """

    data: Path
    images: int = 6_000
    epochs: int = 5
    batch: int = 64
    rate: float = 1e-3
    patch: int = 4
    width: int = 48
    heads: int = 2
    layers: int = 3
    seed: int = 0

    @property
    def needs_download(self) -> bool:
        """Tells whether the folder lacks the training files."""
        return bool(missing(self.data, TRAIN_FILES))

    def check(self) -> None:
        """Compare the folder with what the app may train from.

        Raises:
            TrainError: where it is no folder or not one of the allowed.
        """
        if not data_folders.allowed(self.data):
            raise TrainError(
                "this app may not train from {folder}: whoever runs it can allow that by {setting}",
                folder=self.data,
                setting=data_folders.SETTING,
            )
        if self.data.exists() and not self.data.is_dir():
            raise TrainError("{folder} is a file: name the folder that holds the four IDX files", folder=self.data)

    def arguments(self, work: Path) -> list[str]:
        """The command's arguments, writing into `work`."""
        named = {
            "data": self.data,
            "name": NAME,
            "folder": work,
            "progress": work / PROGRESS,
            "images": self.images,
            "epochs": self.epochs,
            "batch": self.batch,
            "rate": self.rate,
            "warmup": max(20, self.images * self.epochs // self.batch // 10),
            "ema": 0.99,
            "patch": self.patch,
            "width": self.width,
            "heads": self.heads,
            "layers": self.layers,
            "hidden": 2 * self.width,
            "init": "plain",
            "seed": self.seed,
        }
        return ["train", "vit", *(part for key, value in named.items() for part in (f"--{key}", str(value))), "--no-test"]


class Trainer(LocalRun[Plan]):
    """Starts, watches, stops and keeps one run at a time."""

    def __init__(self, *, command: tuple[str, ...] = ATTACHED) -> None:
        super().__init__(prefix="vit-here-", command=command)

    def card(self) -> dict[str, Any] | None:
        """The finished run's card, None where there is none."""
        with self._lock:
            if self._work is None or not (self._work / f"{NAME}.json").exists():
                return None
            return checkpoints.read_card(NAME, folder=self._work)

    def keep(self, name: str, *, folder: Path = checkpoints.FOLDER) -> Path:
        """Put the finished run among the checkpoints; returns the card's path.

        Raises:
            TrainError: where there is none, or the name cannot be used.
        """
        card = self.card()
        if card is None or self._work is None:
            raise TrainError(compose("there is no finished run to keep"))
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
            raise TrainError(
                "{name!r} cannot be a checkpoint's name: use up to 40 lower-case letters, digits and hyphens", name=name
            )
        if (folder / f"{name}.json").exists():
            raise TrainError("there is a checkpoint named {name!r} already: choose another name", name=name)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._work / f"{NAME}.safetensors", folder / f"{name}.safetensors")
        path = folder / f"{name}.json"
        path.write_text(json.dumps(card | {"name": name}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path
