"""FI-2010's text: 144 rows of features and 5 of labels, a column an event (Ntakaris et al. 2018, fairdata.fi 73eb48d7).

The first forty rows are ask price, ask volume, bid price, bid volume by level. Prices and volumes are normalised: with "DecPre"
they are divided by a power of ten, which leaves an order book; by z-score or min-max they no longer are one. There are no times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from core.market.book import LEVELS, STEP_MS
from core.market.formats.protocol import BATCH, BookBatch, FormatError, PositionedText, RowProblem, head
from core.messages import Message, compose

FIRST_DAY: Final = int(datetime(2010, 6, 1, 7, 30, tzinfo=UTC).timestamp() * 1e3)
"""Helsinki's first trading day in the data, 10:30 local time; the events' own times are not given."""
ROWS: Final = 149
MAX_LINE: Final = 32 << 20
"""Bytes of a line: one value of each event, sixteen bytes. The largest file has 362,400 events."""
JUMP: Final = 0.05
"""A change of the mid by more than this share is the next of the five stocks, which the files hold one after another."""


class Fi2010Format:
    """One text file; of its rows the first forty are read."""

    key, name = "fi2010", "FI-2010"
    remark: Message | str = compose(
        "FI-2010 gives no times: each event is given 250 ms, so horizons count events. Sizes and prices are scaled."
    )

    def recognises(self, files: Mapping[str, Path]) -> bool:
        if len(files) != 1:
            return False
        path = next(iter(files.values()))
        return bool(re.match(rb"\s*-?\d\.\d+e[+-]\d+(\s+-?\d\.\d+e[+-]\d+)+", head(path)))

    def market(self, files: Mapping[str, Path]) -> str:
        return "FI-2010"

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        path = next(iter(files.values()))
        values = self._read(path)
        if (values[np.isfinite(values)] < 0).any():
            raise FormatError(
                compose(
                    "{file} is normalised by z-score, which leaves no order book: the files named DecPre are right",
                    file=path.name,
                )
            )
        problems: list[RowProblem] = []
        mid = (values[:, 0] + values[:, 2]) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            jumps = np.flatnonzero(np.abs(np.diff(mid) / mid[:-1]) > JUMP) + 1
        edges = [0, *jumps.tolist(), len(values)]
        for stock, (first, last) in enumerate(pairwise(edges)):
            for start in range(first, last, BATCH):
                end = min(last, start + BATCH)
                # A minute between two stocks, so that they are never taken for one.
                times = FIRST_DAY + stock * 60_000 + STEP_MS * np.arange(start, end, dtype=np.int64)
                yield BookBatch(
                    timestamps=times,
                    values=values[start:end],
                    rows=np.arange(start + 1, end + 1, dtype=np.int64),
                    problems=problems,
                    fresh=start == first,
                    done=end / len(values),
                )

    def _read(self, path: Path) -> np.ndarray:
        """(events, 40); a line is a feature, so that a bad line spoils the file."""
        rows: list[np.ndarray] = []
        file = PositionedText(path, longest=MAX_LINE)
        try:
            for number, line in enumerate(iter(file.line, ""), 1):
                if number > 4 * LEVELS:
                    break
                try:
                    rows.append(np.array(line.split(), dtype=np.float64))
                except ValueError as error:
                    raise FormatError(
                        compose("line {row} of {file} holds something other than numbers", row=number, file=path.name)
                    ) from error
                if len(rows[-1]) != len(rows[0]):
                    raise FormatError(
                        compose(
                            "line {row} of {file} has {count} values, the first has {right}: all must have as many",
                            row=number,
                            file=path.name,
                            count=len(rows[-1]),
                            right=len(rows[0]),
                        )
                    )
        finally:
            file.close()
        if len(rows) < 4 * LEVELS:
            raise FormatError(
                compose(
                    "{file} has {count} lines: FI-2010 has {right}, a feature each", file=path.name, count=len(rows), right=ROWS
                )
            )
        return np.stack(rows, axis=1)
