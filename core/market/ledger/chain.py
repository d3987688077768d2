"""The chain and its files: header, entries, the hash that ties each to the one before, segments and journal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market.book import FILE_COLUMNS
from core.market.labels import LABEL_KINDS, Head
from core.market.store.segments import HOUR_MS, hour_of
from core.messages import Refusal, compose, first_line

FORMAT: Final = 3
HEADER: Final = "ledger.json"
HASH_BYTES: Final = 32
NOTHING: Final = bytes(HASH_BYTES)
JOURNAL: Final = "journal.bin"
MAX_JOURNAL: Final = 128 * 2**20
"""Bytes of a journal, at most: an hour has 9 MB."""
MAX_ENTRIES: Final = 100_000
"""Entries of a segment or a journal, at most: an hour has 14,400 rows."""
MAX_HEADS: Final = 64
MAX_WINDOW: Final = 10_000

CLOCK_MS: Final = 1_000
"""Largest difference between the clocks of two runs, milliseconds: an entry may be written so much before the one before it."""
GAP, ROW, PREDICTION = 0, 1, 2
"""Kinds of entry. A prediction is a row with what was predicted at it."""

Entries = NDArray[np.void]
"""(n,) entries of the type `entry_type`."""


class LedgerError(Refusal, ValueError):
    """A ledger that cannot be read or continued; the message says which file and why."""


class OtherFormat(LedgerError):
    """A ledger of an earlier or later format: it is left as it is, and nothing is added to it."""


def entry_type(heads: int) -> np.dtype[np.void]:
    """The type of an entry, packed and little-endian.

    Fields:
        kind: GAP, ROW or PREDICTION. index: position in the chain, from 0. predictions: how many there are up to this entry.
        timestamp: of the row; of a gap, the last row's before it. written_ms: this machine's clock when the entry was written.
        confirmed_ms: rows up to this time were confirmed by then (D27); rows past the last such time before a gap are lost.
        levels: (40,) the row.
        weights, card: SHA-256 of the checkpoint's weights, and of what its card says of predicting (`predictor.identity`).
        probabilities: (heads, 3), DOWN, STATIONARY, UP. calls: (heads,) the class called.
        hash: SHA-256 of the hash before and the fields so far: of a gap those before `levels`, of a row those before `weights`.
        previous: the hash before, where the entry before is in another file; else zeros. Not hashed again.
    """
    times = [(name, "<i8") for name in ("index", "predictions", "timestamp", "written_ms", "confirmed_ms")]
    return np.dtype(
        [
            ("kind", "i1"),
            *times,
            ("levels", "<f8", (len(FILE_COLUMNS),)),
            ("weights", "u1", (HASH_BYTES,)),
            ("card", "u1", (HASH_BYTES,)),
            ("probabilities", "<f4", (heads, 3)),
            ("calls", "i1", (heads,)),
            ("hash", "u1", (HASH_BYTES,)),
            ("previous", "u1", (HASH_BYTES,)),
        ]
    )


def hashed_sizes(kind: np.dtype[np.void]) -> tuple[int, int, int]:
    """Bytes of an entry that are hashed, from its first on: of a gap, a row and a prediction."""
    fields = kind.fields
    assert fields is not None
    return fields["levels"][1], fields["weights"][1], fields["hash"][1]


def chained(previous: bytes, entry: bytes) -> bytes:
    """The hash of an entry: SHA-256 of the hash before it and the entry's bytes."""
    return hashlib.sha256(previous + entry).digest()


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """The newest entry of a chain at some moment: the end of an hour, of a day, or now. Its hash vouches for all before it.

    Attributes:
        index: position in the chain. predictions: how many the chain has up to it. written_ms: when it was written.
        hash: hexadecimal; what is noted elsewhere.
    """

    index: int
    predictions: int
    written_ms: int
    hash: str


def head_of(entries: Entries) -> ChainHead:
    """The head after these entries, at least one, in the order of the chain."""
    last = entries[-1]
    return ChainHead(
        index=int(last["index"]),
        predictions=int(last["predictions"]),
        written_ms=int(last["written_ms"]),
        hash=last["hash"].tobytes().hex(),
    )


@dataclass(frozen=True, kw_only=True)
class LedgerHeader:
    """First record of a market's chain.

    Attributes:
        market: key of the feed, such as "live/binance/BTC/USDT".
        heads: (label, horizon) of each column of a prediction.
        window: rows a prediction reads.
        model: hashes of the weights and the card that predict, by `core.market.predictor.identity`: they are in the chain before
            its first prediction.
    """

    market: str
    heads: tuple[Head, ...]
    window: int
    model: tuple[str, str]

    @property
    def genesis(self) -> bytes:
        """The hash before the first entry: SHA-256 of the header as JSON with sorted keys."""
        return hashlib.sha256(self.to_json().encode()).digest()

    def to_json(self) -> str:
        """The header's file, on one line."""
        values = {"format": FORMAT, "heads": [list(head) for head in self.heads], "market": self.market, "window": self.window}
        return json.dumps(values | {"weights": self.model[0], "card": self.model[1]}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, *, name: str) -> LedgerHeader:
        """The inverse of `to_json`.

        Raises:
            OtherFormat: for a header of another format.
            LedgerError: where the text is no header of this format.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            if type(values["format"]) is not int:
                raise ValueError
            if values["format"] == 1:
                raise OtherFormat(compose("it is of format 1, whose chain does not hold the rows: it is left as it is"))
            if values["format"] == 2:
                raise OtherFormat(compose("it is of format 2, whose chain does not name what predicted: it is left as it is"))
            if values["format"] != FORMAT:
                raise OtherFormat(
                    "it is of format {other}: this version reads {known}", other=f"{values['format']:.6g}", known=FORMAT
                )
            heads = tuple((label, int(horizon)) for label, horizon in values["heads"])
            model = str(values["weights"]), str(values["card"])
            header = cls(market=str(values["market"]), heads=heads, window=int(values["window"]), model=model)
            sensible = all(label in LABEL_KINDS and horizon > 0 for label, horizon in heads)
            if not (sensible and 0 < len(heads) <= MAX_HEADS and 0 < header.window <= MAX_WINDOW):
                raise ValueError
            if not all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in model):
                raise ValueError
            if text != header.to_json() or not header.market.isprintable():  # a key twice, 24.0 for 24: other readers differ
                raise ValueError
            return header
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(
                "{name} is not a ledger's header: it needs format, market, heads, window, weights and card", name=name
            ) from error


def folder_name(market: str) -> str:
    """A feed's key as one folder name: "live/binance/BTC/USDT" -> "binance-BTC-USDT"."""
    return re.sub(r"[^\w.]+", "-", market.removeprefix("live/")).strip("-") or "market"


def is_named_after(folder: str, market: str) -> bool:
    """Tells whether a folder's name is a market's, or one of those with a number behind it."""
    name = folder_name(market)
    return folder == name or (folder.startswith(f"{name}_") and folder.removeprefix(f"{name}_").isdecimal())


# -- files --------------------------------------------------------------------------------------------------------------------


def _regular(path: Path) -> Path:
    """The path, unless it is a folder or a pipe, which would be waited for.

    Raises:
        LedgerError: where it is.
    """
    if path.exists() and not path.is_file():
        raise LedgerError("{name} is no file", name=path.name)
    return path


# -- the journal --------------------------------------------------------------------------------------------------------------


def journal_entry(entry: Entries) -> bytes:
    """One entry, (1,), as the journal holds it: the bytes that are hashed, and the hash."""
    size = hashed_sizes(entry.dtype)[int(entry["kind"][0])]
    return entry.tobytes()[:size] + entry["hash"].tobytes()


@dataclass(frozen=True, kw_only=True)
class OpenHour:
    """A journal: the hash before its first entry, its whole entries, and the bytes of a broken tail.

    `follows` is empty where there is no journal.
    """

    follows: bytes
    entries: Entries
    broken: int = 0


def read_journal(folder: Path, heads: int) -> OpenHour:
    """The journal of a market's folder.

    Raises:
        LedgerError: where it is too large to be one.
    """
    kind, path = entry_type(heads), _regular(folder / JOURNAL)
    if not path.exists():
        return OpenHour(follows=b"", entries=np.zeros(0, kind))
    if path.stat().st_size > MAX_JOURNAL:
        raise LedgerError("{name} is too large to be a journal", name=path.name)
    data = path.read_bytes()
    if len(data) < HASH_BYTES:
        return OpenHour(follows=b"", entries=np.zeros(0, kind), broken=len(data))
    sizes, whole, end, count = hashed_sizes(kind), bytearray(), HASH_BYTES, 0
    before = follows = data[:end]
    while end < len(data) and data[end] < len(sizes) and end + (size := sizes[data[end]]) + HASH_BYTES <= len(data):
        whole += data[end : end + size].ljust(sizes[PREDICTION], b"\0") + data[end + size : end + size + HASH_BYTES] + before
        end, before, count = end + size + HASH_BYTES, NOTHING, count + 1  # the hash before is in this file
        if count > MAX_ENTRIES:  # of gaps, which are short here and take the place of a prediction in memory
            raise LedgerError("{name} is too large to be a journal", name=path.name)
    return OpenHour(follows=follows, entries=np.frombuffer(bytes(whole), kind), broken=len(data) - end)


# -- segments -----------------------------------------------------------------------------------------------------------------


def _columns(heads: tuple[Head, ...]) -> Iterator[tuple[str, pa.DataType, tuple[Any, ...], int]]:
    """Name and type of each column, its place in an entry, and the kind of entry from which on it is given."""
    digest = pa.binary(HASH_BYTES)
    yield "timestamp", pa.int64(), ("timestamp",), GAP
    for i, name in enumerate(FILE_COLUMNS):
        yield name, pa.float64(), ("levels", ..., i), ROW
    yield "kind", pa.int8(), ("kind",), GAP
    for name in ("index", "predictions", "written_ms", "confirmed_ms"):
        yield name, pa.int64(), (name,), GAP
    for name in ("weights", "card"):
        yield name, digest, (name,), GAP
    for i, (label, horizon) in enumerate(heads):
        for k, answer in enumerate(("down", "stationary", "up")):
            yield f"{label}_{horizon}_p_{answer}", pa.float32(), ("probabilities", ..., i, k), PREDICTION
        yield f"{label}_{horizon}_call", pa.int8(), ("calls", ..., i), PREDICTION
    for name in ("hash", "previous"):
        yield name, digest, (name,), GAP


def _schema(heads: tuple[Head, ...]) -> pa.Schema:
    return pa.schema([(name, kind) for name, kind, _, _ in _columns(heads)])


def segment(
    folder: Path,
    heads: tuple[Head, ...],
    entries: Entries,
    previous: bytes,
    confirmed_ms: int = 0,
    *,
    sealed: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Path, pa.Table]]:
    """Yields the files of about an hour: where there are any, gaps and rows that were never confirmed, and then rows.

    Args:
        previous: the hash before the first entry. confirmed_ms: rows up to then are confirmed by now.
        sealed: which entries are in a file already (`sealed_entries`); None where none is.

    Raises:
        LedgerError: where a file of that name is there already: none is ever replaced.
    """
    kept = (entries["kind"] != GAP) & ~lost_rows(entries, confirmed_ms)
    before = np.concatenate([np.frombuffer(previous, np.uint8)[None], entries["hash"][:-1]])
    for part, name in ((~kept, "lost_{index:012d}"), (kept, "rows_{timestamp}")):
        part = part if sealed is None else part & ~sealed
        if not part.any():
            continue
        held = entries[part]
        follows = np.diff(held["index"], prepend=-2) == 1
        held["previous"] = np.where(follows[:, None], 0, before[part])
        path = _place(folder, held, name)
        if path.exists():
            raise LedgerError("{name} is there already: the ledger is not continued over it", name=path.name)
        yield path, _table(held, heads)


def sealed_entries(folder: Path, heads: tuple[Head, ...], entries: Entries) -> NDArray[np.bool_]:
    """Marks those of a journal's entries that are in a file already, as where a run ended while it wrote their hour.

    Raises:
        LedgerError: where a file is damaged.
    """
    hours = {hour_of(folder, time) for time in np.unique(entries["timestamp"] // HOUR_MS * HOUR_MS).tolist()}
    files = [file for hour in hours for file in _files_of(hour)]
    return np.isin(entries["index"], [index for file in files for index in read_segment(file, folder, heads)["index"].tolist()])


def _place(folder: Path, entries: Entries, name: str) -> Path:
    first = entries[0]
    file = name.format(index=int(first["index"]), timestamp=int(first["timestamp"]))
    return hour_of(folder, int(first["timestamp"])) / f"{file}.parquet"


def lost_rows(entries: Entries, confirmed_ms: int = 0) -> NDArray[np.bool_]:
    """Marks rows that nothing confirmed before the next gap, or before the end, where `confirmed_ms` is known."""
    gap = entries["kind"] == GAP
    stretch = np.cumsum(gap) - gap  # a gap ends its stretch
    confirmed = np.zeros(int(gap.sum()) + 1, np.int64)
    confirmed[-1] = confirmed_ms
    np.maximum.at(confirmed, stretch, entries["confirmed_ms"])
    return ~gap & (entries["timestamp"] > confirmed[stretch])


def _table(entries: Entries, heads: tuple[Head, ...]) -> pa.Table:
    def column(kind: pa.DataType, place: tuple[Any, ...], least: int) -> pa.Array:
        values = entries[place[0]][place[1:]]
        if pa.types.is_fixed_size_binary(kind):
            return pa.array([None if (text := value.tobytes()) == NOTHING else text for value in values], kind)
        return pa.array(np.ascontiguousarray(values), kind, mask=entries["kind"] < least)

    return pa.table([column(*about) for _, *about in _columns(heads)], schema=_schema(heads))


def _entries(table: pa.Table, heads: tuple[Head, ...]) -> Entries:
    """The inverse of `_table`; what is missing is zero."""
    entries = np.zeros(table.num_rows, entry_type(len(heads)))
    for name, kind, place, _ in _columns(heads):
        if pa.types.is_fixed_size_binary(kind):
            text = b"".join(value or NOTHING for value in table[name].to_pylist())
            entries[name] = np.frombuffer(text, np.uint8).reshape(-1, HASH_BYTES)
        else:
            entries[place[0]][place[1:]] = table[name].combine_chunks().fill_null(0).to_numpy(zero_copy_only=False)
    return entries


@dataclass(frozen=True, kw_only=True)
class SegmentFile:
    """A file of a segment by its footer: how many entries, the first and the last index, and the newest row's time."""

    path: Path
    rows: int
    first: int
    last: int
    newest_ms: int


def segment_files(folder: Path) -> tuple[list[SegmentFile], list[tuple[str, str]]]:
    """The files of a folder in the order of their first entries; and of each that is no segment its path there, and why."""
    files, damaged = [], []
    for path in sorted(path for name in ("rows_*.parquet", "lost_*.parquet") for path in folder.rglob(name)):
        try:
            files.append(_footer(path))
        except LedgerError as error:
            damaged.append((path.relative_to(folder).as_posix(), str(error)))
    return sorted(files, key=lambda file: file.first), damaged


def _files_of(hour: Path) -> list[SegmentFile]:
    """As `segment_files`, of a folder without a damaged one.

    Raises:
        LedgerError: where one is damaged.
    """
    files, damaged = segment_files(hour)
    if damaged:
        raise LedgerError(damaged[0][1])
    return files


def _footer(path: Path) -> SegmentFile:
    try:
        if _regular(path).stat().st_size > MAX_JOURNAL:
            raise ValueError(compose("it is too large"))
        about = pq.read_metadata(path)
        names = about.schema.to_arrow_schema().names
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        index, times = ([group.column(names.index(name)).statistics for group in groups] for name in ("index", "timestamp"))
        if about.num_rows > MAX_ENTRIES or sum(group.total_byte_size for group in groups) > MAX_JOURNAL:
            raise ValueError(compose("it is too large"))
        first, last, newest = min(one.min for one in index), max(one.max for one in index), max(one.max for one in times)
        return SegmentFile(path=path, rows=about.num_rows, first=int(first), last=int(last), newest_ms=int(newest))
    except PermissionError:
        raise
    except (pa.ArrowException, OSError, ValueError, AttributeError, TypeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> LedgerError:
    why = first_line(error)
    return LedgerError("{name} is no readable segment of a ledger: {reason}", name=path.name, reason=why)


def read_segment(file: SegmentFile, folder: Path, heads: tuple[Head, ...]) -> Entries:
    """The entries of a file.

    Raises:
        LedgerError: where it is damaged, holds something else, or lies where its entries do not belong.
    """
    name = "lost_{index:012d}" if file.path.name.startswith("lost_") else "rows_{timestamp}"
    try:
        parquet = pq.ParquetFile(file.path)
        # Before anything is read: of a text that repeats, each row is a few bits there and a whole text in memory.
        if not parquet.schema_arrow.equals(_schema(heads)):
            raise ValueError(compose("it has other columns than a ledger's of these heads"))
        entries = _entries(parquet.read(use_threads=False), heads)
        in_its_place = len(entries) == file.rows and _place(folder, entries, name) == file.path
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise _unreadable(file.path, error) from error
    if not in_its_place:
        raise LedgerError("{name} does not lie where its entries belong: it was moved, renamed or copied", name=file.path.name)
    return entries


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Some entries in the order of the chain, and the file of each: number `of` of `files`."""

    entries: Entries
    files: tuple[str, ...]
    of: NDArray[np.int64]


def pieces(folder: Path, files: list[SegmentFile], heads: tuple[Head, ...]) -> Iterator[Piece]:
    """The files of a market's folder, those together whose entries interleave.

    Raises:
        LedgerError: where one is damaged or more overlap than a segment has.
    """
    start = 0
    while start < len(files):
        end, last = start + 1, files[start].last
        while end < len(files) and files[end].first < last:
            last, end = max(last, files[end].last), end + 1
        group = files[start:end]
        if sum(file.rows for file in group) > MAX_ENTRIES:
            raise LedgerError("{name} overlaps others by more than an hour", name=group[0].path.name)
        parts = [read_segment(file, folder, heads) for file in group]
        entries, of = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        order = np.argsort(entries["index"], kind="stable")
        names = tuple(file.path.relative_to(folder).as_posix() for file in group)
        yield Piece(entries=entries[order], files=names, of=of[order])
        start = end


def newest_entry(folder: Path, heads: tuple[Head, ...]) -> Entries:
    """(1,) the last entry of a market's newest sealed hour, (0,) where none is sealed. Nothing is checked.

    Raises:
        LedgerError: where the hour is damaged.
    """
    hours = sorted((path for path in folder.glob("*/*") if path.is_dir()), reverse=True)  # times rise along the chain
    newest = np.zeros(0, entry_type(len(heads)))
    for piece in pieces(folder, next((files for hour in hours if (files := _files_of(hour))), []), heads):
        newest = piece.entries[-1:].copy()
    return newest


def newest_head(folder: Path) -> ChainHead:
    """The head of a market's folder as it is now. Nothing is checked.

    Raises:
        LedgerError: where it is damaged, or has no entry.
    """
    heads = read_header(folder).heads
    entries = read_journal(folder, len(heads)).entries
    if not len(entries) and not len(entries := newest_entry(folder, heads)):
        raise LedgerError("{folder} has no entry yet", folder=folder.name)
    return head_of(entries)


def read_header(folder: Path) -> LedgerHeader:
    """The header of a market's folder.

    Raises:
        OtherFormat: where it is of another format.
        LedgerError: where there is none, or it is damaged.
    """
    path = _regular(folder / HEADER)
    try:
        with path.open(encoding="utf-8") as file:
            return LedgerHeader.from_json(file.read(65_536), name=f"{folder.name}/{HEADER}")
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise LedgerError(
            "{name} has no readable {file}: it is not a market of a ledger", name=folder.name, file=HEADER
        ) from error
