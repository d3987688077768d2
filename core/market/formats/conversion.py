"""The one door for order-book files: recognises them, says what is in them, and converts them to rows of 250 ms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.market.book import (
    ASK_PRICES,
    LEVELS,
    PRICES,
    RECORDED_LEVELS,
    STEP_MS,
    TEN_LEVELS,
    TOO_FAR_APART,
    FloatArray,
    book_faults,
    known_depth,
    mid_price,
    price_tick,
)
from core.market.formats import tables
from core.market.formats.identity import OF_A_FILE, Claim, agreed, contradiction, market_said
from core.market.formats.readers import (
    FI2010,
    FORMATS,
    MAPS,
    OWN,
    TARDIS,
    BookBatch,
    Fi2010Source,
    LobsterSource,
    MappedSource,
    Source,
    lobster_kind,
)
from core.market.formats.tables import Faults, FormatError
from core.market.grid import DAY_MS, carry_ms, count_pauses, grid_rows, on_grid
from core.market.store.index import recording_of
from core.market.store.segments import TRADES, is_segment, segment_path, write_table
from core.market.store.trades import trades_table
from core.market.store.writer import FileSummary, RowBlock, write_rows
from core.messages import N_, compose

NAMED_FAULTS: Final = 50
"""Rows that are named with what is wrong; further ones are counted."""
ZONES_MS: Final = 14 * 3_600_000
SLACK_MS: Final = 60_000
"""Milliseconds that books may lie beside the day in their name: it may be any time zone's, but for LOBSTER and tardis.dev."""
LEAP: Final = 0.01
LEAP_TICKS: Final = 10
LEAPS: Final = 4
"""So many moves of the mid by more than this share and so many of its steps (half a tick), each taken back by the next, are two
markets in turn."""
BREAK: Final = 0.5
"""A move of the mid, by its logarithm, that no market makes between two books, nor overnight."""

NO_BOOKS: Final = {
    frozenset({"timestamp", "percentage", "depth"}): N_("Binance's bookDepth: sums of sizes by distance from the price"),
    frozenset({"update_type", "side", "price", "qty"}): N_("Binance's T_DEPTH: a snapshot and its changes, a level a row"),
    frozenset({"ts_recv", "order_id", "action"}): N_("Databento's mbo: single orders; its schema mbp-10 has the books"),
    frozenset({"ts_recv", "action", "price", "size"}): N_("Databento's trades or best prices; its schema mbp-10 has the books"),
}
"""Columns, in small letters, of what is often brought and is none of the formats, and what it is."""

Progress = Callable[[float], object]


@dataclass(frozen=True, kw_only=True)
class RowProblem:
    """Fault of one row: its line or row number in the file, from 1, and a clause that says what would be right."""

    row: int
    what: str


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Contents of files.

    Attributes:
        form: key of their format. market: as far as they say. books: usable ones. levels: a side, at most.
        start_ms, end_ms: first and last book. gaps: pauses that no book is carried over.
        sampling_ms: the median time between two.
        carry_ms: how long a book is carried (`core.market.grid.carry_ms`); None for rows of this program, which stay as they are.
        trades: their number. problems: the first rows that are left out; problem_count: all of them.
        notes: what is odd about the whole.
    """

    form: str
    market: str
    books: int
    levels: int
    start_ms: int
    end_ms: int
    gaps: int
    sampling_ms: float
    carry_ms: int | None
    trades: int
    problems: tuple[RowProblem, ...]
    problem_count: int
    notes: tuple[str, ...] = ()


def sources(files: Mapping[str, Path]) -> list[Source]:
    """The files as books, each recognised by its content, in order of time; LOBSTER's two of a day are one.

    Args:
        files: by the names they had, all of one market.

    Raises:
        FormatError: where one is of no known format, says what it is, or they contradict each other.
    """
    if not files:
        raise FormatError("there is no file to open: give one or more")
    every: list[Source] = []
    lobster: dict[str, dict[str, Path]] = {"messages": {}, "book": {}}
    for name, path in files.items():
        if not path.is_file():
            raise FormatError("there is no file {path}: give one with order books", path=name)
        tables.refuse_by_kind(path, name)
        if kind := lobster_kind(path):
            lobster[kind][name] = path
        else:
            every.append(_source(name, path))
    every += _lobster(lobster["messages"], lobster["book"])
    if len(every) > 1:
        starts = [next((int(one.timestamps[0]) for one in source.batches() if len(one.timestamps)), 0) for source in every]
        every = [every[i] for i in np.argsort(starts, kind="stable")]
    return every


def _source(name: str, path: Path) -> Source:
    """A file that is no part of LOBSTER's two."""
    names = tables.parquet_columns(path, name) if tables.is_parquet(path) else tables.cells_of(tables.first_line_of(path))
    spelled = {one.lower(): one for one in names} | {one: one for one in names}
    if form := next((one for one in MAPS if one.fits(spelled)), None):
        return MappedSource({name: path}, form, spelled)
    if re.match(rb"\s*-?\d\.\d+e[+-]\d+(\s+-?\d\.\d+e[+-]\d+)+", tables.head(path)):
        return Fi2010Source({name: path})
    if TARDIS.time in names:
        raise FormatError("{file} is tardis.dev's and holds no whole books: its data type book_snapshot_25 does", file=name)
    for columns, kind in NO_BOOKS.items():
        if columns <= spelled.keys():
            raise FormatError("{file} is {kind}, and holds no whole books", file=name, kind=compose(kind))
    known = ", ".join(form.name for form in FORMATS.values())
    raise FormatError("{files} is of no known format: {names} are right", files=name, names=known)


def _lobster(messages: dict[str, Path], books: dict[str, Path]) -> Iterator[Source]:
    """LOBSTER's files in pairs, by their names; those left over are compared."""
    while messages or books:
        if not (messages and books):
            what = compose("order book") if messages else compose("messages")
            raise FormatError("LOBSTER's order book comes with its messages: the file of the {what} is missing", what=what)
        pairs = [(one, two) for one in messages for two in books if one.replace("message", "orderbook") == two]
        one, two = next(iter([*pairs, (next(iter(messages)), next(iter(books)))]))
        yield LobsterSource((one, messages.pop(one)), (two, books.pop(two)))


def inspect(files: Mapping[str, Path], *, progress: Progress | None = None) -> Inspection:
    """Read files as they would be converted, and say what is in them.

    Args:
        progress: called with the share read.

    Raises:
        FormatError: as of `sources`, and where they hold no usable books or contradict themselves.
    """
    every = sources(files)
    seen: list[_Seen] = []
    for number, source in enumerate(every):
        seen.append(_Seen(source))
        for batch, faults in _checked(source, seen[-1].look):
            seen[-1].add(batch, faults)
            if progress:
                progress(min(1.0, (number + batch.done) / len(every)))
        seen[-1].check()
    return _together(seen)


def _together(seen: Sequence[_Seen]) -> Inspection:
    """Several sources of one market as one."""
    forms = {one.source.form.key: one.source.form for one in seen}
    if len(forms) > 1:
        names = ", ".join(form.name for form in forms.values())
        raise FormatError("the files are of several formats ({names}): one at a time is right", names=names)
    claims, notes = seen[0].source.claims, [note for one in seen for note in one.notes]
    for one, after in pairwise(seen):
        about: dict[str, Any] = {"first": one.source.name, "second": after.source.name}
        guesses = [some["symbol"] for some in (one.source.claims, after.source.claims) if "symbol" in some]
        if len({guess.value for guess in guesses if guess.guess}) > 1:
            about |= {"one": guesses[0].value, "other": guesses[1].value}
            notes.append(compose("{first} is named {one}, {second} {other}: are these one market?", **about))
        claims = agreed(claims, after.source.claims.values(), without=OF_A_FILE)
        if after.times[0][0] <= one.times[-1][-1]:
            raise FormatError("{first} and {second} overlap in time: days that follow each other are right", **about)
        ends = float(one.mids[-1][-1]), float(after.mids[0][0])
        if abs(np.log(ends[1] / ends[0])) > BREAK:
            about |= {"one": ends[0], "other": ends[1]}
            notes.append(compose("from {first} to {second} the mid-price goes from {one:g} to {other:g}: two markets?", **about))
    times = np.concatenate([part for one in seen for part in one.times])
    problems = [problem for one in seen for problem in sorted(one.problems, key=attrgetter("row"))]
    (form,) = forms.values()
    return Inspection(
        form=form.key,
        market=market_said(claims),
        books=len(times),
        levels=max(one.levels for one in seen),
        start_ms=int(times[0]),
        end_ms=int(times[-1]),
        gaps=count_pauses(times),
        sampling_ms=float(np.median(np.diff(times))) if len(times) > 1 else 0.0,
        carry_ms=None if form is OWN and on_grid(times) else carry_ms(times),
        trades=sum(one.trades for one in seen),
        problems=tuple(problems[:NAMED_FAULTS]),
        problem_count=sum(one.left_out for one in seen),
        notes=tuple(notes),
    )


class _Seen:
    """Facts seen of one source's books."""

    def __init__(self, source: Source) -> None:
        self.source, self.times, self.mids = source, list[NDArray[np.int64]](), list[FloatArray]()
        self.levels = self.trades = self.left_out = 0
        self.problems: list[RowProblem] = []
        self.notes: list[str] = []
        self._values = self._negative = self._within = 0
        self._least, self._most = np.inf, -np.inf

    def look(self, values: FloatArray) -> None:
        """Count what normalised values are known by, before any book is left out."""
        best = values[:, TEN_LEVELS]
        prices = best[:, PRICES][np.isfinite(best[:, PRICES])]
        self._values += best.size
        self._negative += int((prices < 0).sum())
        self._within += int((np.abs(best) <= 1).sum())
        self._least, self._most = min(self._least, prices.min(initial=np.inf)), max(self._most, prices.max(initial=-np.inf))

    def add(self, batch: BookBatch, faults: Faults) -> None:
        """Note the books of a batch, and what was left out."""
        named = sorted(((int(row), what) for rows, what in faults for row in rows[:NAMED_FAULTS]), key=itemgetter(0))
        self.problems += [RowProblem(row=row, what=what) for row, what in named[: NAMED_FAULTS - len(self.problems)]]
        self.left_out += sum(len(rows) for rows, _ in faults)
        self.trades += len(batch.trades)
        if len(batch.timestamps):
            self.times.append(batch.timestamps)
            self.mids.append(mid_price(batch.values))
            self.levels = max(self.levels, int(np.isfinite(batch.values[:, ASK_PRICES]).sum(axis=1).max()))

    def check(self) -> None:
        """Refuse a source that cannot be used as a whole, by its cause, or that contradicts itself.

        Raises:
            FormatError: with the cause.
        """
        name, good = self.source.name, sum(map(len, self.times))
        self._refuse_normalised(name, good)
        if self.left_out > good and self.problems:
            first = self.problems[0]
            about = {"count": self.left_out, "all": good + self.left_out, "file": name, "row": first.row, "what": first.what}
            raise FormatError("{count} of the {all} books of {file} cannot be used: row {row} {what}", **about)
        if not good:
            raise FormatError("{file} holds no book", file=name)
        first_ms, last_ms = int(self.times[0][0]), int(self.times[-1][-1])
        if good > 1 and first_ms == last_ms:
            raise FormatError("all {count} books of {file} have the same time: times must rise", count=good, file=name)
        if self.source.form is not FI2010:
            self._compare_day(first_ms, last_ms)
            self._refuse_turns(np.concatenate(self.mids))

    def _refuse_normalised(self, name: str, good: int) -> None:
        """Refuse values that are no prices any more."""
        right = compose("prices and sizes themselves are right, of FI-2010 the files named DecPre")
        if self._negative * 200 > self._values:
            raise FormatError("{file} is normalised by z-score, as values below zero show: {right}", file=name, right=right)
        if (self._least == 0 and self._most == 1) or (self.left_out > good and self._within * 20 > self._values * 19):
            raise FormatError("{file} is normalised by min-max, all of it lies between 0 and 1: {right}", file=name, right=right)

    def _compare_day(self, first: int, last: int) -> None:
        """Compare the day in a name with the times of the books."""
        if (day := self.source.claims.get("day")) is None:
            return
        begin = datetime.fromisoformat(day.value).replace(tzinfo=UTC).timestamp() * 1e3
        if max(begin - last, first - (begin + DAY_MS)) > (ZONES_MS if day.loose else SLACK_MS):
            by = compose("the first book of {file}", file=self.source.name)
            raise contradiction(day, Claim(what="day", value=f"{datetime.fromtimestamp(first / 1e3, UTC):%Y-%m-%d}", by=by))

    def _refuse_turns(self, mids: FloatArray) -> None:
        """Refuse books of two markets in turn; note a leap of the mid that is not taken back."""
        moves, ticks = np.diff(np.log(mids)), np.abs(np.diff(mids)) / (price_tick(mids) or 1)
        at = np.flatnonzero((np.abs(moves) > LEAP) & (ticks > LEAP_TICKS))
        back = np.flatnonzero(np.abs(moves[at][1:] + moves[at][:-1]) < np.abs(moves[at][:-1]) / 5)
        if len(back) >= LEAPS:
            first = at[back[0]]
            about = {"file": self.source.name, "one": float(mids[first]), "other": float(mids[first + 1]), "count": len(back)}
            raise FormatError(
                "the mid-price of {file} goes to and fro between {one:g} and {other:g}, {count} times: two markets are in it, "
                "and each needs a file of its own",
                **about,
            )
        if len(broken := np.flatnonzero(np.abs(moves) > BREAK)):
            one, other = (float(mids[broken[0] + step]) for step in (0, 1))
            about = {"file": self.source.name, "one": one, "other": other}
            self.notes.append(
                compose("the mid-price of {file} leaps from {one:g} to {other:g} between two books: of two markets?", **about)
            )


def convert(
    files: Mapping[str, Path], path: Path, *, market: str, seen: Inspection | None = None, progress: Progress | None = None
) -> FileSummary:
    """Write a recording of these files: a row every 250 ms, where a book was observed (`core.market.grid.grid_rows`).

    Args:
        path: of the recording, which must not be there. seen: what `inspect` says of them; asked for here where None.
        progress: called with the share read.

    Raises:
        FormatError: where they are of no known format, hold no usable book, or `path` is taken. OSError: where the disk refuses.
    """
    if path.exists():
        raise FormatError("there is a recording {name} already: choose another name", name=path.stem)
    if is_segment(path) or recording_of(path.name) is None:
        raise FormatError("{name} is a name of the recorder's own files: choose another name", name=path.stem)
    seen = seen or inspect(files)
    trades: list[pa.Table] = []

    def grid() -> Iterator[RowBlock]:
        steps, every = _Grid(4 * seen.levels, seen.carry_ms), sources(files)
        for number, source in enumerate(every):
            for batch, _faults in _checked(source):
                if batch.trades:
                    trades.append(trades_table(batch.trades))
                yield from steps.step(batch)
                if progress:
                    progress(min(1.0, (number + batch.done) / len(every)))
        yield from steps.rest()

    def rows() -> Iterator[RowBlock]:
        empty = True
        for block in grid():
            empty = empty and not len(block[0])
            yield block
        if empty:
            raise FormatError(TOO_FAR_APART)
        if trades:  # before the recording stands under its name, which so is whole at any moment
            write_table(segment_path(path, TRADES), pa.concat_tables(trades).sort_by("timestamp"))

    return write_rows(path, rows(), levels=seen.levels, market=market)


class _Grid:
    """Puts books on the grid, batch by batch; carried for `carry` milliseconds at most, None where they lie on it already."""

    def __init__(self, width: int, carry: int | None) -> None:
        self._width, self._carry = width, carry
        self._last: tuple[int, FloatArray] | None = None
        self._next = 0

    def step(self, batch: BookBatch) -> Iterator[RowBlock]:
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


def _checked(source: Source, look: Callable[[FloatArray], object] | None = None) -> Iterator[tuple[BookBatch, Faults]]:
    """Batches without the books that cannot be used, and all that is wrong with what was left out.

    Args:
        look: called with all values, before any is left out.
    """
    last = -1
    for batch in source.batches():
        if look:
            look(batch.values)
        faults = list(batch.faults)
        good = np.ones(len(batch.timestamps), dtype=bool)
        for clause, bad in book_faults(batch.values[:, TEN_LEVELS]):
            faults.append((batch.rows[good & bad], clause))
            good &= ~bad
        before = np.maximum.accumulate(np.append(last, np.where(good, batch.timestamps, -1)))[:-1]
        late = good & (batch.timestamps < before)
        faults.append((batch.rows[late], compose("goes back in time: all must be in time order")))
        good &= ~late
        last = int(max(last, batch.timestamps[good].max(initial=-1)))
        values = batch.values[good][:, : 4 * RECORDED_LEVELS]
        values = np.concatenate([values[:, TEN_LEVELS], known_depth(values[:, 4 * LEVELS :])], axis=1)
        kept = replace(batch, timestamps=batch.timestamps[good], values=values, rows=batch.rows[good], faults=[])
        yield kept, [fault for fault in faults if len(fault[0])]
