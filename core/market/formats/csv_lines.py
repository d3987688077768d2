"""Lines of a CSV file as arrays of numbers, batch by batch; a line that cannot be read is a problem with its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.formats.protocol import FormatError, PositionedText, RowProblem
from core.messages import compose


@dataclass(frozen=True, kw_only=True)
class NumberLines:
    """Some lines: (n,) line numbers from 1, (n, columns) numbers, the lines left out, and the share of the file read."""

    lines: NDArray[np.int64]
    values: FloatArray
    problems: list[RowProblem]
    done: float


def number_lines(
    path: Path, columns: Sequence[str] | int, *, times: Sequence[str] = (), empty: bool = False
) -> Iterator[NumberLines]:
    """Read columns of numbers.

    Args:
        columns: the names wanted, of a file with a header; or the number of columns of a file without one.
        times: names of columns that hold dates and times, read as microseconds UTC.
        empty: whether a cell may be empty, which makes it NaN.

    Raises:
        FormatError: where a column is not there.
    """
    file = PositionedText(path)
    try:
        number, names = 0, list[str]()
        if not isinstance(columns, int):
            names = [name.strip().strip('"') for name in file.line().strip("\r\n\ufeff").split(",")]
            number = 1
            if missing := [name for name in columns if name not in names]:
                raise FormatError(compose("{file} lacks the column {column}", file=path.name, column=missing[0]))
        width = columns if isinstance(columns, int) else len(names)
        places = list(range(columns)) if isinstance(columns, int) else [names.index(name) for name in columns]
        dates = [i for i, name in enumerate([] if isinstance(columns, int) else columns) if name in times]
        for lines in file.batches():
            yield _batch(
                lines,
                number,
                width,
                places,
                dates,
                {} if isinstance(columns, int) else dict(enumerate(columns)),
                empty,
                file.done,
            )
            number += len(lines)
    finally:
        file.close()


def _batch(
    lines: list[str],
    before: int,
    width: int,
    places: list[int],
    dates: list[int],
    names: Mapping[int, str],
    empty: bool,
    done: float,
) -> NumberLines:
    problems: list[RowProblem] = []
    kept: list[int] = []
    cells: list[list[str]] = []
    for number, line in enumerate(lines, before + 1):
        fields = line.rstrip("\r\n").split(",")
        if len(fields) == width:
            kept.append(number)
            cells.append([fields[place] for place in places])
        elif line.strip():
            what = compose("has {count} fields: {right} are right", count=len(fields), right=width)
            problems.append(RowProblem(row=number, what=what))
    numbers = np.array(kept, dtype=np.int64)
    table = pd.DataFrame(cells, columns=range(len(places)), dtype=str)
    values = np.empty((len(kept), len(places)))
    for column in range(len(places)):
        texts = table[column].str.strip()
        if column in dates:
            found = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")
            stamps = found.to_numpy(dtype="datetime64[us]").astype(np.int64).astype(np.float64)
            values[:, column] = np.where(found.isna().to_numpy(), np.nan, stamps)
        else:
            values[:, column] = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
    bad = ~np.isfinite(values)
    if empty:
        bad &= (table != "").to_numpy()
    for row in np.flatnonzero(bad.any(axis=1)):
        column = int(np.flatnonzero(bad[row])[0])
        name = names.get(column, str(places[column] + 1))
        what = compose("has {text!r} in column {column}: a number is right", text=cells[row][column][:40], column=name)
        if column in dates:
            what = compose("has {text!r} in column {column}: a date and time is right", text=cells[row][column][:40], column=name)
        problems.append(RowProblem(row=int(numbers[row]), what=what))
    good = ~bad.any(axis=1)
    return NumberLines(lines=numbers[good], values=values[good], problems=sorted(problems, key=lambda one: one.row), done=done)
