"""A recording's rows, read by parts: a day of a hundred levels takes 1.1 GB at once, and no one looks at it at once."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market import book
from core.market.grid import grid_rows

CHECKED_ROWS: Final = 32_768
"""Rows checked at once, 10 MB."""
KEPT_GROUPS: Final = 2
"""Row groups kept in memory, an hour each in the library's own files."""


class RecordedRows:
    """The rows of one market's files on the 250 ms grid, in time order; of several rows at one moment the last file's counts.

    All rows are checked once, when it is opened; levels are read when they are asked for.

    Args:
        paths: Parquet or CSV files (`core.market.book`).

    Attributes:
        timestamps: (n,) milliseconds. mid: (n,) mid-prices. levels: a side, at most. tick: the market's step of price.

    Raises:
        BookError: where a file cannot be read or breaks the contract.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        if not paths:
            raise book.BookError("there is no file to open: give one or more")
        files = [_CsvFile(path) if path.suffix.lower() == ".csv" else _ParquetFile(path) for path in paths]
        self._files = sorted(files, key=lambda file: int(file.timestamps[0]))
        times = np.concatenate([file.timestamps for file in self._files])
        mids = np.concatenate([file.mid for file in self._files])
        self._starts = np.cumsum([0, *(len(file.timestamps) for file in self._files)])
        order = np.argsort(times, kind="stable") if (np.diff(times) < 0).any() else np.arange(len(times))
        order = order[np.append(np.diff(times[order]) > 0, True)]
        self.timestamps, index = grid_rows(times[order])
        if not len(index):
            raise book.BookError(book.TOO_FAR_APART)
        self._source = order[index]
        self.mid: book.FloatArray = mids[self._source]
        self.levels = max(file.levels for file in self._files)
        self.tick = book.price_tick(np.array([file.tick for file in self._files]))

    def __len__(self) -> int:
        return len(self.timestamps)

    def block(self, first: int, last: int, *, deep: bool = False) -> book.BookRows:
        """Rows `first` up to but not including `last`.

        Args:
            deep: whether to read the levels past the tenth too, where there are any.
        """
        source = self._source[first:last]
        which = np.searchsorted(self._starts, source, side="right") - 1
        width = 4 * (self.levels if deep else 10)
        values = np.full((len(source), width), np.nan)
        for number in np.unique(which):
            here = which == number
            wanted = source[here] - self._starts[number]
            read = self._files[number].values(int(wanted.min()), int(wanted.max()) + 1, deep=deep)
            values[here, : read.shape[1]] = read[wanted - wanted.min()]
        more = values[:, 40:] if deep and width > 40 else None
        return book.BookRows(
            timestamps=self.timestamps[first:last], levels=np.ascontiguousarray(values[:, book.TEN_LEVELS]), deep=more
        )

    def release(self) -> None:
        """Close the files and forget what was read of them; whatever is read next opens them again."""
        for file in self._files:
            file.release()


def read_market(paths: Sequence[Path]) -> book.BookRows:
    """All rows of one market's files, ten levels a side; see `RecordedRows`."""
    rows = RecordedRows(paths)
    return rows.block(0, len(rows))


class _CsvFile:
    """A CSV file, whole in memory."""

    def __init__(self, path: Path) -> None:
        wanted = {"timestamp", *book.FILE_COLUMNS, *book.DEEP_COLUMNS}
        with book.reading(path):
            frame = pd.read_csv(path, usecols=lambda column: column in wanted, skipinitialspace=True)
        self._rows = book.rows_from_frame(frame, name=path.name)
        self.timestamps, self.mid = self._rows.timestamps, self._rows.mid
        self.tick = _tick(self._rows.levels)
        self.levels = 10 + (0 if self._rows.deep is None else self._rows.deep.shape[1] // 4)

    def values(self, first: int, last: int, *, deep: bool) -> book.FloatArray:
        part = self._rows[first:last]
        return part.levels if not deep or part.deep is None else np.concatenate([part.levels, part.deep], axis=1)

    def release(self) -> None:
        """Nothing: it is read once."""


class _ParquetFile:
    """A Parquet file, of which one row group at a time is in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with book.reading(path):
            self._file = pq.ParquetFile(path, memory_map=False)
            self._columns = book.whole_levels(self._file.schema_arrow.names)
            self.levels = len(self._columns) // 4
            self._starts = np.cumsum([0, *(self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups))])
            if not (parts := list(self._checked())):
                book.rows_from_frame(self._file.schema_arrow.empty_table().to_pandas(), name=path.name)  # says what it lacks
        self.timestamps, self.mid, ticks = (np.concatenate(column) for column in zip(*parts, strict=True))
        if (np.diff(self.timestamps) < 0).any():
            raise book.BookError("{name} is not in time order: sort it by timestamp", name=path.name)
        self.tick = book.price_tick(ticks)
        self._kept: OrderedDict[tuple[int, bool], book.FloatArray] = OrderedDict()

    def _checked(self) -> Iterator[tuple[NDArray[np.int64], book.FloatArray, book.FloatArray]]:
        """Yields times, mid-prices and the step of price of each part."""
        names, seen = {"timestamp", *book.FILE_COLUMNS} & set(self._file.schema_arrow.names), 0
        for batch in self._file.iter_batches(CHECKED_ROWS, columns=sorted(names)):
            rows = book.rows_from_frame(batch.to_pandas(), name=self.path.name, before=seen)
            yield rows.timestamps, rows.mid, np.array([_tick(rows.levels)])
            seen += len(rows)

    def values(self, first: int, last: int, *, deep: bool) -> book.FloatArray:
        groups = range(
            int(np.searchsorted(self._starts, first, side="right")) - 1, int(np.searchsorted(self._starts, last, side="left"))
        )
        parts = [self._group(i, deep=deep)[max(0, first - self._starts[i]) : last - self._starts[i]] for i in groups]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _group(self, number: int, *, deep: bool) -> book.FloatArray:
        key = number, deep
        if key not in self._kept:
            while len(self._kept) >= KEPT_GROUPS:
                self._kept.popitem(last=False)
            if self._file.closed:
                self._file = pq.ParquetFile(self.path, memory_map=False)
            columns = self._columns if deep else book.FILE_COLUMNS
            count = self._file.metadata.row_group(number).num_rows
            values, at = np.empty((count, len(columns))), 0
            for batch in self._file.iter_batches(CHECKED_ROWS // 8, row_groups=[number], columns=list(columns)):
                values[at : at + batch.num_rows] = _matrix(batch, columns)
                at += batch.num_rows
            values[:, len(book.FILE_COLUMNS) :] = book.known_depth(values[:, len(book.FILE_COLUMNS) :])
            self._kept[key] = values
        self._kept.move_to_end(key)
        return self._kept[key]

    def release(self) -> None:
        self._kept.clear()
        self._file.close()


def _tick(values: book.FloatArray) -> float:
    """The step of price of rows (n, 40), by every eighth of them."""
    return book.price_tick(values[::8, book.PRICES])


def _matrix(batch: pa.RecordBatch, columns: Sequence[str]) -> book.FloatArray:
    """(n, columns) float64, NaN where empty."""
    values = np.empty((len(columns), batch.num_rows))
    for row, name in enumerate(columns):
        values[row] = batch.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values.T
