"""Writes a file of rows as the library keeps them: an hour a row group, zstd, with the file's summary in its footer.

The footer's summary is what a listing needs, so that a month of recordings is listed without reading their rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market.book import DEEP_COLUMNS, FILE_COLUMNS, STEP_MS, FloatArray
from core.market.recordings.layout import GROUP_ROWS
from core.market.whole_files import write_whole

SUMMARY_KEY: Final = b"attention_observatory_recording"
"""Metadata key of a file of rows, under which its summary lies as JSON."""
POINTS: Final = 48
"""Points of a recording's line."""

RowBlock = tuple[NDArray[np.int64], FloatArray]
"""(n,) timestamps in milliseconds and (n, 4 * levels) values in the order of the columns, NaN where a book had fewer levels."""


@dataclass(frozen=True, kw_only=True)
class FileSummary:
    """One file's numbers; times in milliseconds, `mids` at even steps; market "" where the file does not say it."""

    rows: int
    start_ms: int
    end_ms: int
    gaps: int
    mids: tuple[float, ...]
    levels: int
    market: str


def write_rows(path: Path, blocks: Iterable[RowBlock], *, levels: int, market: str) -> FileSummary:
    """Write rows on the grid, in time order, as a whole file.

    Args:
        blocks: at least one row in all. levels: a side, of the widest block.

    Raises:
        OSError: where the disk refuses; nothing is left behind then.
    """
    names = ["timestamp", *FILE_COLUMNS, *DEEP_COLUMNS][: 1 + 4 * levels]
    schema = pa.schema([(names[0], pa.int64()), *((name, pa.float64()) for name in names[1:])])
    times: list[NDArray[np.int64]] = []
    mids: list[FloatArray] = []

    def write(file: IO[bytes]) -> None:
        with pq.ParquetWriter(file, schema, compression="zstd") as parquet:
            for stamps, values in _groups(blocks, 4 * levels):
                columns = [pa.array(column, from_pandas=True) for column in np.ascontiguousarray(values.T)]
                parquet.write_table(pa.Table.from_arrays([pa.array(stamps), *columns], schema=schema))
                times.append(stamps)
                mids.append((values[:, 0] + values[:, 2]) / 2)
            parquet.add_key_value_metadata({SUMMARY_KEY: json.dumps(summary().__dict__).encode()})

    def summary() -> FileSummary:
        stamps, line = np.concatenate(times), np.concatenate(mids)
        return FileSummary(
            rows=len(stamps),
            start_ms=int(stamps[0]),
            end_ms=int(stamps[-1]),
            gaps=int((np.diff(stamps) > STEP_MS).sum()),
            mids=tuple(float(part.mean()) for part in np.array_split(line, min(POINTS, len(line)))),
            levels=levels,
            market=market,
        )

    write_whole(path, write)
    return summary()


def footer_summary(metadata: pq.FileMetaData) -> FileSummary | None:
    """The summary in a file's footer; None where there is none, or it is of other rows."""
    try:
        values = json.loads((metadata.metadata or {})[SUMMARY_KEY])
        found = FileSummary(**{**values, "mids": tuple(values["mids"])})
    except (KeyError, TypeError, ValueError):
        return None
    return found if found.rows == metadata.num_rows else None


def _groups(blocks: Iterable[RowBlock], width: int) -> Iterator[RowBlock]:
    """The same rows in groups of `GROUP_ROWS`, as wide as asked."""
    stamps, values, held = list[NDArray[np.int64]](), list[FloatArray](), 0
    for times, block in blocks:
        for first in range(0, len(times), GROUP_ROWS):
            part = block[first : first + GROUP_ROWS]
            stamps.append(times[first : first + GROUP_ROWS])
            values.append(np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan))
            held += len(part)
            while held >= GROUP_ROWS:
                whole, rows = np.concatenate(stamps), np.concatenate(values)
                yield whole[:GROUP_ROWS], rows[:GROUP_ROWS]
                stamps, values, held = [whole[GROUP_ROWS:]], [rows[GROUP_ROWS:]], held - GROUP_ROWS
    if held:
        yield np.concatenate(stamps), np.concatenate(values)
