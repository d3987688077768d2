"""Reading a folder of photographed hand signs: manifest.csv and the photos it names."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError

from lab.signs.photo_set import MANIFEST, SIDE, PhotoSet


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
