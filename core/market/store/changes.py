"""Changes to the library's recordings: delete and export."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq

from core.market.book import BookError
from core.market.store.index import Recording
from core.market.store.rows import RecordedRows
from core.market.store.segments import DEPTH, KINDS, TRADES, is_segment, segment_path
from core.market.store.writer import GROUP_ROWS, RowBlock, write_rows

NAME: Final = re.compile(r"\w[\w+-]*(\.[\w+-]+)*(/\w[\w+-]*(\.[\w+-]+)*)*")


def delete(folder: Path, entry: Recording) -> None:
    """Remove a recording with all that lies beside its rows.

    Raises:
        BookError: for what is not the library's own. OSError: where the disk refuses.
    """
    if entry.bundled:
        raise BookError("{name} came with the app: it cannot be deleted", name=entry.name)
    for path in entry.paths:
        for kind in KINDS if is_segment(path) else (TRADES, DEPTH):
            segment_path(path, kind).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        _remove_empty(path.parent, folder)


def export(entry: Recording, form: str = "parquet") -> bytes:
    """A recording's rows as one file, "parquet" or "csv".

    Raises:
        BookError: where its files cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, rows = Path(folder) / "export.parquet", RecordedRows(entry.paths)
        write_rows(path, _blocks(rows), levels=rows.levels, market=entry.market)
        if form == "csv":
            import pyarrow.csv as csv

            csv.write_csv(pq.read_table(path), Path(folder) / "export.csv")
            path = path.with_suffix(".csv")
        return path.read_bytes()


def _blocks(rows: RecordedRows) -> Iterator[RowBlock]:
    """The rows of several files, all levels, so many at a time."""
    for first in range(0, len(rows), GROUP_ROWS // 4):
        part = rows.block(first, first + GROUP_ROWS // 4, deep=True)
        yield part.timestamps, part.levels if part.deep is None else np.concatenate([part.levels, part.deep], axis=1)


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and root in folder.parents and not any(folder.iterdir()):
        shutil.rmtree(folder)
        folder = folder.parent
