"""Bundle test images: `python -m lab.bundle.garments --data DIR_WITH_IDX_FILES [--photographs validation.parquet]`.

Writes the gallery, the first six images of each class in the order of the test set, whatever a model answers; the first 400
training images of each class to train on; of a file of photographs, the first three of each of the ten kinds; and the features of
other things, which classes of one's own are told apart from
(`--others negatives.parquet`): of two pictures of every second kind, so that the other kinds can measure what that is worth, and
of three more photographs of each kind of garment.
"""

from __future__ import annotations

import argparse
import gzip
import struct
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from core.vision.classifier import PHOTOGRAPHS as CCT
from core.vision.classifier import load_classifier
from core.vision.gallery import FILE, PHOTOGRAPHS
from core.vision.own_classes import BACKGROUND, as_read, base_of
from core.vision.photographs import COLUMNS, KINDS
from core.vision.pictures import decode
from lab.vision.idx import IdxPart, Labels, read_part

EACH = 6
EACH_KIND = 3
EACH_OTHER = 2
EACH_TO_TRAIN = 400
TO_TRAIN = Path(__file__).parents[2] / "assets" / "pictures" / "fashion-mnist-few"


def main() -> None:
    """Write the gallery and what else is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--photographs", type=Path, help="Parquet file of photographs that no model was trained on")
    parser.add_argument("--others", type=Path, help='Parquet file of photographs of other things, of kinds in "fine"')
    o = parser.parse_args()
    part = read_part(o.data, "t10k")
    rows = np.sort(np.concatenate([np.flatnonzero(part.labels == label)[:EACH] for label in range(10)]))
    _write(FILE, part, rows)
    _write_idx(TO_TRAIN, read_part(o.data, "train"), EACH_TO_TRAIN)
    if o.photographs:
        table = pd.read_parquet(o.photographs, columns=list(COLUMNS))
        by_kind = [table[table["kind"].str.lower() == kind] for kind in KINDS]
        pd.concat([one.head(EACH_KIND) for one in by_kind]).to_parquet(PHOTOGRAPHS, index=False, compression="zstd")
        if o.others:
            others = pd.read_parquet(o.others, columns=["fine", "jpeg"])
            seen = others[others["fine"].isin(sorted(others["fine"].unique())[::2])].groupby("fine").head(EACH_OTHER)
            _write_background(pd.concat([seen, *(one.iloc[EACH_KIND : 2 * EACH_KIND] for one in by_kind)])["jpeg"].tolist())


def _write_background(pictures: list[bytes]) -> None:
    """The features of pictures by the model of photographs."""
    classifier = load_classifier(CCT)
    images = np.stack([as_read(classifier, decode(data)) for data in pictures])
    save_file({base_of(classifier): classifier.appearance(images).astype(np.float16)}, BACKGROUND)


def _write_idx(folder: Path, part: IdxPart, each: int) -> None:
    """The first images of each class as IDX files, to train on."""
    rows = np.sort(np.concatenate([np.flatnonzero(part.labels == label)[:each] for label in range(10)]))
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (("images-idx3", part.images[rows]), ("labels-idx1", part.labels[rows].astype(np.uint8))):
        header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
        (folder / f"train-{name}-ubyte.gz").write_bytes(gzip.compress(header + values.tobytes(), 9, mtime=0))


def _write(path: Path, part: IdxPart, rows: Labels) -> None:
    table = pd.DataFrame(
        {
            "index": rows.astype(np.int32),
            "label": part.labels[rows].astype(np.int8),
            "pixels": [part.images[row].tobytes() for row in rows],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, index=False, compression="zstd")


if __name__ == "__main__":
    main()
