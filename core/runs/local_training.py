"""Training a small ViT on this machine while the app runs, by `python -m core train vit` (`core.runs.local_run`).

The command in the checkpoint's card repeats the run.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core import checkpoints
from core.messages import compose
from core.runs import data_folders
from core.runs.local_run import ATTACHED, PROGRESS, LocalRun, TrainError
from core.vision.idx import missing

NAME = "vit-here"
STAGES = (32, 64)
"""Channels of the convolutions at 14 x 14 and 7 x 7 cells."""
TRAIN_FILES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings of a run.

    Attributes:
        data: folder of the IDX files; downloaded into it where missing.
        images: taken of the training file, validation included; a multiple of 100.
        epochs, batch, rate, seed: of the run.
        tokens: "convolutions" makes them of each patch and its surroundings and learns from few images; "patches" is the
            documented ViT. patch, width, heads, layers: of the model (its FFN is twice as wide); patch is 4 with convolutions.
        owner: who started it, as `core.service.access.Visitor.owner`, and alone may take the result.
    """

    data: Path
    images: int = data_folders.BUNDLED_IMAGES
    epochs: int = 8
    batch: int = 64
    rate: float = 3e-3
    tokens: str = "convolutions"
    patch: int = 4
    width: int = 64
    heads: int = 2
    layers: int = 1
    seed: int = 0
    owner: str = ""

    @property
    def needs_download(self) -> bool:
        """Tells whether the folder lacks the training files."""
        return bool(missing(self.data, TRAIN_FILES))

    def started_by(self, owner: str) -> Plan:
        """The same settings, with their owner."""
        return replace(self, owner=owner)

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
            "tokens": self.tokens,
            "patch": self.patch,
            "width": self.width,
            "heads": self.heads,
            "layers": self.layers,
            "hidden": 2 * self.width,
            "init": "plain",
            "seed": self.seed,
        }
        options = [part for key, value in named.items() for part in (f"--{key}", str(value))]
        if self.tokens == "convolutions":
            options += ["--stages", *map(str, STAGES), "--mirrored"]
        return ["train", "vit", *options, "--no-test"]


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

    def packed(self) -> bytes:
        """The finished run's card and weights as a zip file, to be read by `load_classifier("vit-here", folder=...)`.

        Raises:
            TrainError: where there is none.
        """
        with self._lock:
            files = [] if self._work is None else sorted(self._work.glob(f"{NAME}.*"))
            if len(files) < 2:
                raise TrainError(compose("there is no finished run to take"))
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in files:
                    archive.write(file, file.name)
            return buffer.getvalue()
