"""Recognises a file, says what is in it before it is used, and converts it to a recording on the 250 ms grid."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.market.book import LARGEST, LEVELS, RECORDED_LEVELS, STEP_MS, TOO_FAR_APART, FloatArray, known_depth
from core.market.feeds.trades import trades_path, trades_table
from core.market.formats.protocol import BookBatch, BookFormat, FormatError, RowProblem
from core.market.formats.readers import FORMATS, OwnFormat
from core.market.grid import carry_ms, grid_rows, on_grid
from core.market.store.segments import write_table
from core.market.store.writer import FileSummary, RowBlock, write_rows
from core.messages import Message, compose

SHOWN_PROBLEMS: Final = 50
"""Problems that are kept with their rows; further ones are counted."""

Progress = Callable[[float], object]


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Contents of a file.

    Attributes:
        form: its format. market: as far as it says. books: usable ones. levels: a side, at most.
        start_ms, end_ms: first and last book. sampling_ms: the median time between two.
        carry_ms: how long a book is carried (`core.market.grid.carry_ms`); None for rows of this program, which stay as they are.
        trades: their number. problems: the first rows that are left out; problem_count: all of them.
    """

    form: BookFormat
    market: str
    books: int
    levels: int
    start_ms: int
    end_ms: int
    sampling_ms: float
    carry_ms: int | None
    trades: int
    problems: tuple[RowProblem, ...]
    problem_count: int


def recognise(files: Mapping[str, Path]) -> BookFormat:
    """The format of these files, by their content.

    Args:
        files: by the names they had; one, or LOBSTER's two.

    Raises:
        FormatError: where it is none of those known.
    """
    for form in FORMATS:
        if files and all(path.stat().st_size for path in files.values()) and form.recognises(files):
            return form
    names = ", ".join(form.name for form in FORMATS)
    raise FormatError("{files} is of no known format: {names} are right", files=", ".join(files) or "–", names=names)


def inspect(files: Mapping[str, Path], *, progress: Progress | None = None) -> Inspection:
    """Read files as they would be converted, and say what is in them.

    Args:
        progress: called with the share read.

    Raises:
        FormatError: where they are of no known format, or hold no usable book.
    """
    form = recognise(files)
    problems: list[RowProblem] = []
    problem_count = levels = trades = 0
    parts: list[NDArray[np.int64]] = []
    for batch, wrong in _checked(form, files):
        problem_count += len(wrong)
        problems += wrong[: SHOWN_PROBLEMS - len(problems)]
        trades += len(batch.trades)
        if len(batch.timestamps):
            parts.append(batch.timestamps)
            levels = max(levels, int(np.isfinite(batch.values[:, 0::4]).sum(axis=1).max()))
        if progress:
            progress(min(1.0, batch.done))
    if not parts:
        if problems:
            raise FormatError("no book of it can be used: row {row} {what}", row=problems[0].row, what=problems[0].what)
        raise FormatError(compose("no book of it can be used: it holds none"))
    times = np.concatenate(parts)
    return Inspection(
        form=form,
        market=form.market(files),
        books=len(times),
        levels=min(levels, RECORDED_LEVELS),
        start_ms=int(times[0]),
        end_ms=int(times[-1]),
        sampling_ms=float(np.median(np.diff(times))) if len(times) > 1 else 0.0,
        carry_ms=None if isinstance(form, OwnFormat) and on_grid(times) else carry_ms(times),
        trades=trades,
        problems=tuple(problems),
        problem_count=problem_count,
    )


def convert(
    files: Mapping[str, Path],
    path: Path,
    *,
    market: str,
    levels: int = LEVELS,
    seen: Inspection | None = None,
    progress: Progress | None = None,
) -> FileSummary:
    """Write a recording of these files: a row every 250 ms, where a book was observed (`core.market.grid.grid_rows`).

    Args:
        path: of the recording, which must not be there. levels: a side, at most, as `inspect` says.
        seen: what `inspect` says of them; asked for here where None.
        progress: called with the share read.

    Raises:
        FormatError: where they are of no known format, hold no usable book, or `path` is taken. OSError: where the disk refuses.
    """
    if path.exists():
        raise FormatError("there is a recording {name} already: choose another name", name=path.stem)
    seen = seen or inspect(files)
    trades: list[pa.Table] = []

    def grid() -> Iterator[RowBlock]:
        steps = _Grid(4 * levels, seen.carry_ms)
        for batch, _wrong in _checked(seen.form, files):
            if batch.trades:
                trades.append(trades_table(batch.trades))
            yield from steps.take(batch)
            if progress:
                progress(min(1.0, batch.done))
        yield from steps.rest()

    def rows() -> Iterator[RowBlock]:
        empty = True
        for block in grid():
            empty = empty and not len(block[0])
            yield block
        if empty:
            raise FormatError(TOO_FAR_APART)
        if trades:  # before the recording stands under its name, which so is whole at any moment
            write_table(trades_path(path), pa.concat_tables(trades).sort_by("timestamp"))

    return write_rows(path, rows(), levels=levels, market=market)


class _Grid:
    """Puts books on the grid, batch by batch; carried for `carry` milliseconds at most, None where they lie on it already."""

    def __init__(self, width: int, carry: int | None) -> None:
        self._width, self._carry = width, carry
        self._last: tuple[int, FloatArray] | None = None
        self._next = 0

    def take(self, batch: BookBatch) -> Iterator[RowBlock]:
        """The rows before the batch's last book, whose own grid time a later book may still change."""
        if batch.fresh:
            yield from self.rest()
            self._last = None
        if not len(batch.timestamps):
            return
        times, values = batch.timestamps, batch.values[:, : self._width]
        values = np.pad(values, ((0, 0), (0, self._width - values.shape[1])), constant_values=np.nan)
        if self._carry is None:
            yield times, values
            return
        if self._last is not None:
            times, values = np.append(self._last[0], times), np.concatenate([self._last[1][None], values])
        self._last = int(times[-1]), values[-1]
        yield from self._rows(times, values, int(times[-1]) - 1)

    def rest(self) -> Iterator[RowBlock]:
        """The row of the last book, where it lies on the grid."""
        if self._last is not None:
            yield from self._rows(np.array([self._last[0]]), self._last[1][None], self._last[0])

    def _rows(self, times: NDArray[np.int64], values: FloatArray, until: int) -> Iterator[RowBlock]:
        grid, index = grid_rows(times, self._carry)
        wanted = (grid >= self._next) & (grid <= until)
        if wanted.any():
            self._next = int(grid[wanted][-1]) + STEP_MS
            yield grid[wanted], values[index[wanted]]


def _checked(form: BookFormat, files: Mapping[str, Path]) -> Iterator[tuple[BookBatch, list[RowProblem]]]:
    """Batches without the books that cannot be used, and all that is wrong with what was left out."""
    last = -1
    for batch in _whole_batches(form, files):
        wrong = list(batch.problems)
        good = np.ones(len(batch.timestamps), dtype=bool)
        for clause, bad in _faults(batch.values):
            wrong += [RowProblem(row=int(row), what=clause) for row in batch.rows[good & bad]]
            good &= ~bad
        before = np.maximum.accumulate(np.append(last, np.where(good, batch.timestamps, -1)))[:-1]
        late = good & (batch.timestamps < before)
        wrong += [
            RowProblem(row=int(row), what=compose("goes back in time: rows must be in time order")) for row in batch.rows[late]
        ]
        good &= ~late
        last = int(max(last, batch.timestamps[good].max(initial=-1)))
        values = batch.values[good][:, : 4 * RECORDED_LEVELS]
        values = np.concatenate([values[:, : 4 * LEVELS], known_depth(values[:, 4 * LEVELS :])], axis=1)
        kept = replace(batch, timestamps=batch.timestamps[good], values=values, rows=batch.rows[good], problems=())
        yield kept, sorted(wrong, key=lambda one: one.row)


def _whole_batches(form: BookFormat, files: Mapping[str, Path]) -> Iterator[BookBatch]:
    """A format's batches. A packed file that is damaged can be found out at any of them."""
    try:
        yield from form.batches(files)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        names = ", ".join(files)
        raise FormatError("{files} ends early or is damaged: unpacking it must succeed", files=names) from error


def _faults(values: FloatArray) -> list[tuple[Message, NDArray[np.bool_]]]:
    """Each way in which a book of ten levels can be unusable, and which rows are so."""
    best = np.pad(values[:, : 4 * LEVELS], ((0, 0), (0, max(0, 4 * LEVELS - values.shape[1]))), constant_values=np.nan)
    with np.errstate(invalid="ignore"):
        rising = np.concatenate([np.diff(best[:, 0::4]) > 0, np.diff(best[:, 2::4]) < 0], axis=1)
        sound = [np.isfinite(best), best > 0, best < LARGEST, best[:, :1] > best[:, 2:3], rising]
    clauses = (
        compose("has fewer than {levels} levels a side: that many are needed", levels=LEVELS),
        compose("has a price or size of zero or less: all are above 0"),
        compose("has a price or size that no market has: less than {limit:g} is right", limit=LARGEST),
        compose("is crossed: the best ask must be above the best bid"),
        compose("is unsorted: asks must rise and bids must fall from the best"),
    )
    return [(clause, ~np.logical_and.reduce(right, axis=1)) for clause, right in zip(clauses, sound, strict=True)]
