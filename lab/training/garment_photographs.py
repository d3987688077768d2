"""Photographs to train on, decoded from Parquet files and folders as the page decodes an upload, and drawn pictures of none."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from core.vision.photographs import KINDS, photograph_files, photographs
from core.vision.pictures import Bytes, decode
from core.vision.preprocessing import PHOTOGRAPH, prepare
from lab.training.cct import (
    CLASSES_OF_OTHER_KIND,
    NONE,
    SQUARE,
    VALIDATION_SPLIT,
    Lessons,
    OtherThings,
    PhotographFiles,
    Photographs,
)
from lab.vision.photograph_scores import evaluate_photographs

CLASSES = tuple(KINDS.values())
CHARACTERS: Final = "0123456789" * 3 + "ABCDEFGHKLMNPRSTWXYZabdefghkmnprtw"


def read(o: argparse.Namespace) -> PhotographFiles:
    """All that `train cct` learns from, by its options."""
    files = photograph_files(o.data)
    (held_out,) = photograph_files(o.data, VALIDATION_SPLIT)
    train = read_photographs((path for path in files if path != held_out), o.side)
    return PhotographFiles(
        train=train,
        lessons=None if o.teacher is None else Lessons.read(o.teacher, len(train)),
        imagenet=o.imagenet,
        held_out=read_photographs([held_out], o.side),
        others=read_others(o.others, o.side),
        files=(*files, *(path / "manifest.csv" if path.is_dir() else path for path in o.others)),
        score=lambda classifier: evaluate_photographs(lambda _picture: classifier, photographs(held_out)),
    )


def views(data: bytes, name: str, side: int) -> tuple[Bytes, Bytes]:
    """A file's picture as the page pads it to a square, (SQUARE, SQUARE, 3), and as the model reads it, (side, side, 3)."""
    prepared = prepare(decode(data, name=name), PHOTOGRAPH, side=side)
    square = Image.fromarray(prepared.square)
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


def drawn_thing(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1]: one of the three, sharp or as coarse as a scan, light on dark or dark on light."""

    def draw(*size: int) -> Tensor:
        return torch.rand(*size, generator=generator)

    canvas = Image.new("L", (SQUARE, SQUARE))
    kinds = (_character, _shape, _page)
    kinds[int(torch.randint(len(kinds), (1,), generator=generator))](ImageDraw.Draw(canvas), generator)
    if draw(1) < 0.4:
        grain = int(torch.randint(12, 60, (1,), generator=generator))
        canvas = canvas.resize((grain, grain), Image.Resampling.BOX).resize((SQUARE, SQUARE), Image.Resampling.BICUBIC)
    cover = torch.from_numpy(np.asarray(canvas).copy()).float()[None] / 255
    grey = draw(1) < 0.6
    ink, paper = (draw(1 if grey else 3, 1, 1).expand(3, 1, 1) for _ in range(2))
    if draw(1) < 0.7:  # clear contrast, either way
        dark = 0.3 * ink
        light = 1 - 0.3 * paper
        ink, paper = (dark, light) if draw(1) < 0.6 else (light, dark)
    return cover * ink + (1 - cover) * paper


def _character(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """A digit or a letter in the middle."""
    sign = CHARACTERS[int(torch.randint(len(CHARACTERS), (1,), generator=generator))]
    height = int(SQUARE * (0.5 + 0.5 * float(torch.rand(1, generator=generator))))
    stroke = int(torch.randint(0, 6, (1,), generator=generator))
    middle = (SQUARE / 2, SQUARE / 2)
    canvas.text(middle, sign, 255, font=ImageFont.load_default(height), anchor="mm", stroke_width=stroke)


def _shape(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """One to four ellipses, boxes and polygons, filled or in outline; a face or a mug of a drawing is made of such."""
    for _ in range(int(torch.randint(1, 5, (1,), generator=generator))):
        x, y = (float(value) * SQUARE for value in 0.2 + 0.6 * torch.rand(2, generator=generator))
        wide, high = (float(value) * SQUARE for value in 0.05 + 0.4 * torch.rand(2, generator=generator))
        box = (x - wide, y - high, x + wide, y + high)
        fill = int(torch.randint(60, 256, (1,), generator=generator)) if torch.rand(1, generator=generator) < 0.6 else None
        width = int(torch.randint(1, 7, (1,), generator=generator))
        corners = int(torch.randint(1, 7, (1,), generator=generator))
        if corners == 1:
            canvas.ellipse(box, fill=fill, outline=255, width=width)
        elif corners == 2:
            canvas.rectangle(box, fill=fill, outline=255, width=width)
        else:
            turns = torch.rand(corners, generator=generator).sort().values * 2 * np.pi
            points = [(x + wide * float(turn.cos()), y + high * float(turn.sin())) for turn in turns]
            canvas.polygon(points, fill=fill, outline=255, width=width)


def _page(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """Lines of letters over the whole picture."""
    height = int(torch.randint(6, 22, (1,), generator=generator))
    font = ImageFont.load_default(height)
    margin = float(torch.rand(1, generator=generator)) * SQUARE / 5
    step = height * (1.1 + 0.7 * float(torch.rand(1, generator=generator)))
    top = margin
    while top < SQUARE - margin:
        letters = torch.randint(len(CHARACTERS) + 12, (60,), generator=generator).tolist()
        line = "".join(CHARACTERS[one] if one < len(CHARACTERS) else " " for one in letters)
        room = int((SQUARE - 2 * margin) / (0.55 * height) * (0.6 + 0.4 * float(torch.rand(1, generator=generator))))
        canvas.text((margin, top), line[:room], 255, font=font)
        top += step
