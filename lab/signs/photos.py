"""Reading a folder of photographed hand signs: manifest.csv and the photos it names."""

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from PIL import Image, ImageOps, UnidentifiedImageError

from lab.signs.photo_set import SIDE, PhotoSet

MANIFEST = "manifest.csv"


def read_photos(folder: Path, split: str | None = None) -> PhotoSet:
    """The photos of a manifest's rows, of one split where named.

    The manifest's columns: path, digit, run_id (who signs) and, where a split is named, split.

    Raises:
        ValueError: for a manifest without those columns or rows, or a photo that is missing or damaged.
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        raise ValueError(f"{folder.name} holds no {MANIFEST}, which names each photo with its digit and signer")
    rows = pd.read_csv(manifest)
    needed = {"path", "digit", "run_id"} | ({"split"} if split is not None else set())
    if missing := needed - set(rows.columns):
        raise ValueError(f"{MANIFEST} lacks the columns {', '.join(sorted(missing))}")
    if split is not None:
        known = sorted(rows["split"].unique())
        rows = rows[rows["split"] == split]
        if rows.empty:
            raise ValueError(f"{MANIFEST} has no photo of the split {split!r}: it has {', '.join(map(str, known))}")
    if rows.empty:
        raise ValueError(f"{MANIFEST} names no photo")
    return PhotoSet(
        images=np.stack([_read(folder / str(path)) for path in rows["path"]]),
        digits=rows["digit"].to_numpy(np.int64),
        signers=rows["run_id"].to_numpy(np.int64),
    )


def _read(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    try:
        with Image.open(path) as image:
            picture = image.convert("RGB")
    except FileNotFoundError as error:
        raise ValueError(f"the photo {path.name}, which {MANIFEST} names, is not there") from error
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError(f"the photo {path.name} is damaged or no picture") from error
    if picture.size != (SIDE, SIDE):
        picture = picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(picture)


def read_scenes(folder: Path, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The middle squares of a folder's first 400 pictures (n, size, size, 3), 0 to 1.

    They are picture files, and Parquet files with a column jpeg.

    Raises:
        ValueError: where there is none.
    """
    scenes = []
    for data in islice(_pictures(folder), 400):
        try:
            with Image.open(data) as image:
                picture = image.convert("RGB")
        except (UnidentifiedImageError, OSError):
            continue
        scenes.append(np.asarray(ImageOps.fit(picture, (size, size), Image.Resampling.BOX), np.float32) / 255)
    if not scenes:
        raise ValueError(f"{folder.name} holds no picture: neither jpg or png files nor Parquet files with a column jpeg")
    return np.stack(scenes)


def _pictures(folder: Path) -> Iterator[io.BytesIO | Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".jpg", ".jpeg", ".png"):
            yield path
        elif path.suffix == ".parquet" and "jpeg" in pq.read_schema(path).names:
            yield from map(io.BytesIO, pd.read_parquet(path, columns=["jpeg"])["jpeg"])
