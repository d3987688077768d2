"""Changes to the library's recordings: rename, delete, export, merge, and fetch one from a URL."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import BookError
from core.market.depth import depth_path
from core.market.feeds.trades import TradeColumns, trades_path, trades_table
from core.market.store.index import Recording
from core.market.store.places import RecordingPlace
from core.market.store.rows import RecordedRows
from core.market.store.segments import is_segment, segment_path, write_table
from core.market.store.writer import GROUP_ROWS, RowBlock, write_rows

NAME: Final = re.compile(r"\w[\w+-]*(\.[\w+-]+)*(/\w[\w+-]*(\.[\w+-]+)*)*")
TRADES_AT_ONCE: Final = 100_000

Progress = Callable[[int, int], None]


def rename(folder: Path, entry: Recording, name: str) -> str:
    """Give a recording another name; of a market's day the market's folder, as the day stays. Returns the whole new name.

    Raises:
        BookError: for a name that is taken or is none, and for what is not the library's own.
    """
    _own(entry)
    name = _checked(name)
    day = is_segment(entry.paths[0])
    new = f"{name}/{Path(entry.name).name}" if day else name
    target = folder / new if day else (folder / new).with_suffix("").with_name(Path(new).name + entry.paths[0].suffix)
    source = entry.paths[0].parent.parent if day else entry.paths[0]
    if target.exists():
        raise BookError("there is a recording {name} already: choose another name", name=new)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = [] if day else [(path(source), path(target)) for path in (trades_path, depth_path)]
    source.rename(target)
    for before, after in beside:
        if before.exists():
            after.parent.mkdir(exist_ok=True)
            before.rename(after)
    _remove_empty(source.parent, folder)
    return new


def delete(folder: Path, entry: Recording) -> None:
    """Remove a recording with all that lies beside its rows.

    Raises:
        BookError: for what is not the library's own. OSError: where the disk refuses.
    """
    _own(entry)
    for path in entry.paths:
        if is_segment(path):
            for beside in path.parent.glob(segment_path(path, "*").name):
                beside.unlink(missing_ok=True)
        else:
            trades_path(path).unlink(missing_ok=True)
            depth_path(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        _remove_empty(path.parent, folder)


def merge(folder: Path, entries: Sequence[Recording], name: str, *, progress: Progress | None = None) -> Path:
    """One file of several recordings of a market, in time order, their trades beside it; what is merged stays.

    Args:
        progress: called with (rows written, rows in all).

    Raises:
        BookError: for recordings of several markets, or a name that is taken or is none.
    """
    markets = sorted({entry.market for entry in entries})
    if len(markets) != 1:
        raise BookError("recordings of one market can be merged: these are of {markets}", markets=", ".join(markets))
    path = folder / f"{_checked(name)}.parquet"
    if path.exists():
        raise BookError("there is a recording {name} already: choose another name", name=_checked(name))
    files = [file for entry in entries for file in entry.paths]
    write_merged(path, files, market=markets[0], progress=progress)
    trades = TradeColumns(files)
    if len(trades.times):
        starts = range(0, len(trades.times), TRADES_AT_ONCE)
        parts = [trades_table(trades.between(first, first + TRADES_AT_ONCE)) for first in starts]
        write_table(trades_path(path), pa.concat_tables(parts))
    return path


def write_merged(path: Path, files: Sequence[Path], *, market: str, progress: Progress | None = None) -> None:
    """The rows of several files as one file, all levels."""
    rows = RecordedRows(files)

    def blocks() -> Iterator[RowBlock]:
        for first in range(0, len(rows), GROUP_ROWS // 4):
            part = rows.block(first, first + GROUP_ROWS // 4, deep=True)
            yield part.timestamps, part.levels if part.deep is None else np.concatenate([part.levels, part.deep], axis=1)
            if progress:
                progress(min(len(rows), first + GROUP_ROWS // 4), len(rows))

    write_rows(path, blocks(), levels=rows.levels, market=market)


def export(entry: Recording, form: str = "parquet") -> bytes:
    """A recording's rows as one file, "parquet" or "csv".

    Raises:
        BookError: where its files cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.parquet"
        write_merged(path, entry.paths, market=entry.market)
        if form == "csv":
            import pyarrow.csv as csv

            csv.write_csv(pq.read_table(path), Path(folder) / "export.csv")
            path = path.with_suffix(".csv")
        return path.read_bytes()


def fetch(place: RecordingPlace, entry: Recording, folder: Path, *, progress: Progress | None = None) -> None:
    """Copy a recording of a URL into the library, with what lies beside its rows.

    Raises:
        BookError: where one of that name is there already, or the place does not answer.
    """
    parent, _, stem = entry.name.rpartition("/")
    day, trades = f"{entry.name}/", f"{parent}/trades/{stem}.parquet".lstrip("/")
    wanted = [
        file for file in place.files() if file.address in entry.files or f"{file.relative}/".startswith((day, f"{trades}/"))
    ]
    for done, file in enumerate(wanted, 1):
        if (folder / file.relative).exists():
            raise BookError("there is a recording {name} already: choose another name", name=entry.name)
        place.fetch(file, folder)
        if progress:
            progress(done, len(wanted))


def _checked(name: str) -> str:
    """A name that was typed, without what surrounds it.

    Raises:
        BookError: for what is no name.
    """
    name = name.strip().strip("/")
    if not NAME.fullmatch(name):
        raise BookError("{name!r} is no name: letters, digits, - and _ are right, and / between folders", name=name)
    return name


def _own(entry: Recording) -> None:
    if entry.bundled:
        raise BookError("{name} came with the app: it can be neither renamed nor deleted", name=entry.name)


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and root in folder.parents and not any(folder.iterdir()):
        shutil.rmtree(folder)
        folder = folder.parent
