"""Photographs of garments in Parquet files, and the ten kinds that they show (D30).

A file holds the columns `file` (a name), `kind` (such as "dress") and `jpeg` (the bytes of a picture of any kind). Its own name
is that of its split: `validation.parquet`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.messages import N_, Refusal, compose

KINDS: Final[dict[str, str]] = {
    "t-shirt": N_("T-shirt"),
    "longsleeve": N_("Long sleeve"),
    "shirt": N_("Shirt"),
    "pants": N_("Trousers"),
    "dress": N_("Dress"),
    "outwear": N_("Coat or jacket"),
    "shoes": N_("Shoes"),
    "hat": N_("Hat"),
    "shorts": N_("Shorts"),
    "skirt": N_("Skirt"),
}
"""The ten kinds, as files name them and as the photograph model's classes are called (D30)."""
COLUMNS: Final = ("file", "kind", "jpeg")
ROWS: Final = 64
"""Photographs read from a file at a time."""


class PhotographsError(Refusal, ValueError):
    """A folder or file without such photographs; the message says what was wrong and what would be right."""


@dataclass(frozen=True, kw_only=True)
class Photograph:
    """One row: the file it was, what it shows in lower case, and its bytes."""

    file: str
    kind: str
    data: bytes

    @property
    def name(self) -> str | None:
        """The class of its kind; None for a kind that is none of the ten."""
        return KINDS.get(self.kind)


def photograph_files(folder: Path, split: str | None = None) -> list[Path]:
    """The folder's Parquet files in alphabetical order, or the one of a split, or the file that is named in its place.

    Empty where there is none and no split is named.

    Raises:
        PhotographsError: where a split is named that the folder does not have.
    """
    files = [folder] if folder.is_file() and folder.suffix == ".parquet" else sorted(folder.glob("*.parquet"))
    if split is None:
        return files
    chosen = [path for path in files if path.stem == split]
    if not chosen:
        there = ", ".join(path.stem for path in files) or compose("none")
        raise PhotographsError(
            "{folder} has no split {split!r}: its Parquet files are {names}", folder=folder, split=split, names=there
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
                    "{file} lacks the columns {missing}: photographs come with file, kind and jpeg",
                    file=path.name,
                    missing=", ".join(missing),
                )
            for batch in file.iter_batches(ROWS, columns=list(COLUMNS)):
                for row in batch.to_pylist():
                    yield Photograph(file=str(row["file"]), kind=str(row["kind"]).lower(), data=bytes(row["jpeg"]))
    except (pa.ArrowException, OSError, TypeError) as error:
        raise PhotographsError("{file} is damaged, or no Parquet file", file=path.name) from error
