"""The bundled garments: six test images of each class, the first ones in Fashion-MNIST's own order (MIT, see THIRD_PARTY.md).

    images, labels, indices = gallery()     # uint8 (60, 28, 28), int64 (60,), int64 (60,), in the order of the test set

Labels are those of `core.models.vit.CLASSES`; an index is the image's row in the official test file. No model was trained or
chosen on these images. Thirty photographs of garments stand beside them, three of each kind, the first ones of the part that was
held out of training (CC0). `scripts/bundle_garments.py` of commit 4dbd20f6 wrote the files.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.vision.photographs import Photograph, photographs

FILE = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "garments" / "gallery.parquet"
PHOTOGRAPHS = FILE.with_name("photographs.parquet")


@cache
def gallery() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Images (60, 28, 28), labels (60,) and rows of the test set (60,); read once and shared, so do not write to them."""
    table = pq.read_table(FILE)
    pixels = b"".join(table["pixels"].to_pylist())
    images = np.frombuffer(pixels, np.uint8).reshape(-1, 28, 28)
    return images, table["label"].to_numpy().astype(np.int64), table["index"].to_numpy().astype(np.int64)


@cache
def photograph_gallery() -> tuple[Photograph, ...]:
    """The bundled photographs, those of a kind beside each other."""
    return tuple(photographs(PHOTOGRAPHS))
