"""Files of price bands (`core.market.bands`) beside a recording's rows: what changed from row to row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.bands import BandChange, Bands, Ladder
from core.market.book import BookError
from core.market.store.segments import DEPTH, segment_path

SCHEMA: Final = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("fine", pa.float64()),
        ("coarse", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("whole", pa.bool_()),
        ("keys", pa.list_(pa.int32())),
        ("sizes", pa.list_(pa.float32())),
    ]
)


def depth_row(timestamp: int, ladder: Ladder, change: BandChange) -> tuple[Any, ...]:
    """A file's row."""
    return timestamp, *ladder, *change


class RecordedDepth:
    """Bands of the rows of a market's files, by their time.

    Raises:
        BookError: for a file without the columns of `SCHEMA`.
    """

    def __init__(self, books: Sequence[Path]) -> None:
        try:
            paths = [segment_path(book, DEPTH) for book in books]
            tables = [pq.read_table(path, schema=SCHEMA) for path in paths if path.exists()]
        except (pa.ArrowException, OSError) as error:
            raise BookError("{file} is no file of price bands", file=segment_path(books[0], DEPTH).name) from error
        table = pa.concat_tables([SCHEMA.empty_table(), *tables]).combine_chunks()
        self._times, self._fine, self._coarse, self._low, self._high, self._whole = (table.column(i).to_numpy() for i in range(6))
        lists = [pa.concat_arrays(table.column(i).chunks) for i in (6, 7)]
        self._ends = lists[0].offsets.to_numpy()
        self._keys, self._sizes = (one.values.to_numpy() for one in lists)
        self._row, self._state = -2, (self._keys[:0], self._sizes[:0])

    def at(self, timestamp: int) -> Bands | None:
        """The bands of the row of that time; None where there are none."""
        row = int(np.searchsorted(self._times, timestamp))
        if row == len(self._times) or self._times[row] != timestamp:
            return None
        first = row
        if row != self._row + 1:
            while first and not self._whole[first]:
                first -= 1
        for one in range(first, row + 1):
            part = slice(self._ends[one], self._ends[one + 1])
            keys, sizes = self._keys[part], self._sizes[part]
            if not self._whole[one]:
                keys, sizes = np.concatenate([keys, self._state[0]]), np.concatenate([sizes, self._state[1]])
            keys, newest = np.unique(keys, return_index=True)
            there = sizes[newest] > 0
            self._state = keys[there], sizes[newest][there]
        self._row = row
        ladder = Ladder(float(self._fine[row]), float(self._coarse[row]))
        return Bands(ladder, *self._state, float(self._low[row]), float(self._high[row]))
