"""Photographs of garments in Parquet files, and the classes that count as right for each kind of garment (D29).

A file holds the columns `file` (a name), `kind` (such as "dress") and `jpeg` (the bytes of a picture of any kind). Its own name
is that of its split: `validation.parquet`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.messages import compose
from core.models.vit import CLASSES

CLASSES_OF_KIND: Final[dict[str, frozenset[int]]] = {
    kind: frozenset(map(CLASSES.index, names))
    for kind, names in {
        "t-shirt": ("T-shirt/top",),
        "longsleeve": ("Pullover", "Shirt"),
        "shirt": ("Shirt",),
        "pants": ("Trouser",),
        "dress": ("Dress",),
        "outwear": ("Coat",),
        "shoes": ("Sneaker", "Sandal", "Ankle boot"),
        "hat": (),
        "shorts": (),
        "skirt": (),
    }.items()
}
"""Labels that are right for a kind; none for the three kinds that Fashion-MNIST does not have (D29)."""
FOOTWEAR: Final = "shoes"
"""The kind that has three classes; which of them a photograph shows is not known, so that none is answered "as labelled"."""
COLUMNS: Final = ("file", "kind", "jpeg")
ROWS: Final = 64
"""Photographs read from a file at a time."""


class PhotographsError(ValueError):
    """A folder or file without such photographs; the message says what was wrong and what would be right."""


@dataclass(frozen=True, kw_only=True)
class Photograph:
    """One row: the file it was, what it shows in lower case, and its bytes."""

    file: str
    kind: str
    data: bytes

    @property
    def right(self) -> frozenset[int] | None:
        """Labels that count as right, none where no class fits; None for a kind that D29 does not name."""
        return CLASSES_OF_KIND.get(self.kind)


def photograph_files(folder: Path, split: str | None = None) -> list[Path]:
    """The folder's Parquet files in alphabetical order, or the one of a split; empty where it has none and no split is named.

    Raises:
        PhotographsError: where a split is named that the folder does not have.
    """
    files = sorted(folder.glob("*.parquet"))
    if split is None:
        return files
    chosen = [path for path in files if path.stem == split]
    if not chosen:
        there = ", ".join(path.stem for path in files) or compose("none")
        raise PhotographsError(
            compose("{folder} has no split {split!r}: its Parquet files are {names}", folder=folder, split=split, names=there)
        )
    return chosen


def photographs(path: Path) -> Iterator[Photograph]:
    """The rows of one file, in order.

    Raises:
        PhotographsError: for a file that is no Parquet file or lacks a column.
    """
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if missing:
                raise PhotographsError(
                    compose(
                        "{file} lacks the columns {missing}: photographs come with file, kind and jpeg",
                        file=path.name,
                        missing=", ".join(missing),
                    )
                )
            for batch in file.iter_batches(ROWS, columns=list(COLUMNS)):
                for row in batch.to_pylist():
                    yield Photograph(file=str(row["file"]), kind=str(row["kind"]).lower(), data=bytes(row["jpeg"]))
    except (pa.ArrowException, OSError, TypeError) as error:
        raise PhotographsError(compose("{file} is damaged, or no Parquet file", file=path.name)) from error
