"""Bundle test images: `python -m scripts.bundle_garments --data DIR_WITH_IDX_FILES`.

Writes the gallery, the first six images of each class in the order of the test set, whatever a model answers, and the worst
mistakes that the shipped ViT's card lists.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from core import checkpoints
from core.vision.classifier import DEFAULT
from core.vision.gallery import FILE, MISTAKES
from core.vision.idx import IdxPart, Labels, read_part

EACH = 6


def main() -> None:
    """Write the gallery and the mistakes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    part = read_part(parser.parse_args().data, "t10k")
    rows = np.sort(np.concatenate([np.flatnonzero(part.labels == label)[:EACH] for label in range(10)]))
    _write(FILE, part, rows)
    card = checkpoints.read_card(DEFAULT)
    _write(MISTAKES, part, np.array([one["index"] for one in card.get("mistakes", [])], dtype=np.int64))


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
