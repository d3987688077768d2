"""Photographs to train on, decoded from Parquet files and folders as the page decodes an upload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from PIL import Image
from torch import Tensor

from core.cli.drawn_things import drawn_thing
from core.training.vit_photographs import CLASSES_OF_OTHER_KIND, NONE, SQUARE, OtherThings, Photographs
from core.vision.photographs import KINDS, photographs
from core.vision.pictures import Bytes, decode
from core.vision.preprocessing import PHOTOGRAPH, prepare

CLASSES = tuple(KINDS.values())


def views(data: bytes, name: str, side: int) -> tuple[Bytes, Bytes]:
    """A file's picture as the page pads it to a square, (SQUARE, SQUARE, 3), and as the model reads it, (side, side, 3)."""
    prepared = prepare(decode(data, name=name), PHOTOGRAPH, side=side)
    square = Image.fromarray(prepared.step("pad").image)
    return np.asarray(square.resize((SQUARE, SQUARE), Image.Resampling.BOX)), prepared.image


def read_photographs(files: Iterable[Path], side: int) -> Photographs:
    """The photographs of Parquet files whose kind is one of the ten (D30), or in `CLASSES_OF_OTHER_KIND`."""
    squares: list[Bytes] = []
    small: list[Bytes] = []
    targets: list[Tensor] = []
    for file in files:
        for one in photographs(file):
            right = CLASSES_OF_OTHER_KIND.get(one.kind, frozenset()) if one.name is None else {one.name}
            if not right:
                continue
            square, prepared = views(one.data, one.file, side)
            squares.append(square)
            small.append(prepared)
            target = torch.zeros(NONE + 1, dtype=torch.bool)
            target[[CLASSES.index(name) for name in right]] = True
            targets.append(target)
    return Photographs(images=_tensor(squares, SQUARE), prepared=_tensor(small, side), targets=torch.stack(targets))


def read_others(sources: Iterable[Path], side: int) -> OtherThings:
    """Pictures of no garments: every fifth is held out, or the part of a manifest that is not for training.

    Args:
        sources: Parquet files with a column `jpeg`, or folders with a `manifest.csv` that has the columns `path` and `split`.
    """
    squares: list[Bytes] = []
    held_out: list[Bytes] = []
    for source in sources:
        for data, name, train in _others(source):
            square, prepared = views(data, name, side)
            if train:
                squares.append(square)
            else:
                held_out.append(prepared)
    return OtherThings(train=_tensor(squares, SQUARE), validation=_tensor(held_out, side), drawn=drawn_thing)


def _others(source: Path) -> Iterator[tuple[bytes, str, bool]]:
    if source.is_dir():
        for row in pd.read_csv(source / "manifest.csv").itertuples():
            yield (source / str(row.path)).read_bytes(), str(row.path), row.split == "train"
    else:
        for index, data in enumerate(pq.read_table(source, columns=["jpeg"])["jpeg"].to_pylist()):
            yield data, f"{source.stem} {index}", index % 5 != 0


def _tensor(images: list[Bytes], side: int) -> Tensor:
    """(n, 3, side, side)."""
    if not images:
        return torch.zeros(0, 3, side, side, dtype=torch.uint8)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
