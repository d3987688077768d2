"""Index of recordings: those that came with the app, and those of a folder, each with its span, gaps and a line of its mid.

A recording of a folder is a market's day of hourly segments, or a loose Parquet or CSV file of rows. Its numbers come from the
footers of files that this program wrote, and from three columns of others. They are kept until a file changes.
"""

import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from core.market.book import LEVELS, STEP_MS, BookError
from core.market.store.places import RecordingFile, files_at, files_below, library_folder
from core.market.store.writer import POINTS, FileSummary, footer_summary, summary_of
from core.market.times import UNKNOWN, milliseconds, plausible
from core.messages import BadValue, compose, first_line

FOLDER: Final = Path(__file__).resolve().parents[3] / "assets" / "recordings"
"""Folder of the recordings that come with the app."""
INDEX: Final = "recordings.json"
READERS: Final = 2
"""Threads that read recordings at once."""
NEEDED: Final = ("timestamp", "ask_price_1", "bid_price_1")

_SEGMENT: Final = re.compile(r"(?P<day>.*(?:^|/)\d{4}-\d{2}-\d{2})/\d{2}/rows_\d+(_\d+)?\.parquet$")
_OTHER: Final = re.compile(r"(trades|updates|events|depth|calls|predictions|lost)_\d+(_\d+)?\.parquet$")
_DATE: Final = re.compile(r"[_-]?(250ms|native\w*)?[_-]*\d{4}-?\d{2}-?\d{2}.*$")


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One recording: a market's day of the library, a loose file, or a bundled one.

    Attributes:
        name: unique in its folder; links hold that of a bundled one, so it must not change.
        market: ccxt's symbol, by which a checkpoint's card knows the market, or as much as the names tell.
        files: of rows, in order of their names.
        start_ms, end_ms: first and last row, milliseconds since the epoch. rows: their number. gaps: holes between them.
        size: bytes, with all that lies beside its rows. levels: a side, at most.
        mids: (48 or fewer) mid-prices at even steps, for a sparkline.
        bundled: whether it came with the app.
        problem: why its files cannot be read; "" where they can. The numbers are 0 then.
        venue, kind: of a bundled one "Binance", and "spot" or "perpetual".
    """

    name: str
    market: str
    files: tuple[str, ...]
    start_ms: int = 0
    end_ms: int = 0
    rows: int = 0
    gaps: int = 0
    size: int = 0
    levels: int = LEVELS
    mids: tuple[float, ...] = ()
    bundled: bool = False
    problem: str = ""
    venue: str = ""
    kind: str = "recorded"

    @property
    def paths(self) -> list[Path]:
        """Its files of rows."""
        return [Path(file) for file in self.files]

    @property
    def path(self) -> Path:
        """The first of them, of a bundled one the only one."""
        return self.paths[0]

    @property
    def seconds(self) -> float:
        """From the first row to the end of the last, seconds."""
        return (self.end_ms - self.start_ms + STEP_MS) / 1e3 if self.rows else 0.0


def recording_of(relative: str) -> str | None:
    """Name of the recording to which a file belongs, by its path below the library's folder; None for what holds no rows.

    An hour belongs to its market's day, `market/2024-08-08`; a loose file is a recording of its own, named without its ending.
    """
    path = PurePosixPath(relative)
    if path.suffix.lower() not in (".parquet", ".csv") or any(part.startswith(".") for part in path.parts):
        return None
    if segment := _SEGMENT.fullmatch(relative):
        return segment["day"]
    if _OTHER.fullmatch(path.name) or "trades" in path.parts[:-1]:
        return None
    return str(path.with_suffix(""))


def market_of(name: str) -> str:
    """A market's name as well as a recording's name tells it: the folder before the day, or the file's name before the date."""
    path = PurePosixPath(name)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.name):
        return path.parent.name or path.name
    return _DATE.sub("", path.name) or path.name


@cache
def recordings(folder: Path = FOLDER) -> tuple[Recording, ...]:
    """All recordings that come with the app, by their index; the first is the default.

    Raises:
        BookError: where the index cannot be read, or is none.
    """
    path = folder / INDEX
    try:
        return tuple(_of_index(entry, folder) for entry in json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or repr(error)
        raise BookError("{file} does not list the bundled recordings: {reason}", file=path, reason=why) from error


def _of_index(entry: dict[str, Any], folder: Path) -> Recording:
    file = folder / entry["file"]
    return Recording(
        name=file.stem,
        market=entry["symbol"],
        files=(str(file),),
        end_ms=entry["start_ms"] + round(entry["duration_s"] * 1e3) - STEP_MS,
        bundled=True,
        **{key: entry[key] for key in ("start_ms", "rows", "venue", "kind")},
    )


def bundled_recordings() -> list[Recording]:
    """The same, with the numbers of their files.

    Raises:
        BookError: where their index cannot be read.
    """
    files = {one: files_at(FOLDER, one.path, FOLDER / "trades" / one.path.name) for one in recordings()}
    return [_read(replace(one, size=sum(file.size for file in some)), some[:1]) for one, some in files.items()]


def find_recording(name: str) -> Recording:
    """The recording of that name, as links hold it: a bundled one, or one of the library's folder.

    Raises:
        BookError: where there is none, which lists the bundled ones, or its files cannot be read.
    """
    known = {one.name: one for one in recordings()}
    one = known.get(name) or entry_of(library_folder(), name)
    if one is None:
        raise BookError("there is no recording {name!r}: choose one of {names}", name=name, names=", ".join(known))
    if one.problem:
        raise BookError(one.problem)
    return one


def entry_of(folder: Path, name: str) -> Recording | None:
    """One recording of a folder, by its name; None where it has none of that name.

    Raises:
        BookError: where its files cannot be listed.
    """
    inside = folder.resolve()
    try:
        where = (inside / name).resolve()
        day = where.is_dir()
    except (OSError, ValueError):  # too long a name, or one with a character that no name has
        return None
    if inside not in where.parents:
        return None
    paths = sorted(where.glob("*/rows_*.parquet")) if day else []
    paths = paths or [path for ending in (".parquet", ".csv") if (path := where.with_name(where.name + ending)).is_file()][:1]
    files = files_at(inside, *paths)
    if not files or any(recording_of(file.relative) != name for file in files):
        return None
    return _read(Recording(name=name, market="", files=(), size=sum(file.size for file in files)), files)


def list_recordings(folder: Path, *, progress: Callable[[int, int], None] | None = None) -> list[Recording]:
    """The recordings of a folder, in order of their names.

    Args:
        progress: called with (recordings read, recordings in all).

    Raises:
        BookError: where the folder is not there or cannot be read.
    """
    groups: dict[str, list[RecordingFile]] = {}
    sizes: dict[str, int] = {}
    for file in files_below(folder):
        if (name := recording_of(file.relative)) is not None:
            groups.setdefault(name, []).append(file)
        above = re.sub(r"(trades/|\d{2}/)?[^/]*$", "", file.relative)
        for key in (above.rstrip("/"), file.relative.replace("trades/", "").rpartition(".")[0]):
            sizes[key] = sizes.get(key, 0) + file.size

    def read(name: str) -> Recording:
        return _read(Recording(name=name, market="", files=(), size=sizes.get(name, 0)), groups[name])

    listed: list[Recording] = []
    with ThreadPoolExecutor(READERS) as pool:
        for one in pool.map(read, sorted(groups)):
            listed.append(one)
            if progress:
                progress(len(listed), len(groups))
    return listed


def _read(one: Recording, files: list[RecordingFile]) -> Recording:
    """A recording with its files and the numbers that they hold."""
    files = sorted(files, key=lambda file: file.relative)
    one = replace(one, files=tuple(str(file.path) for file in files))
    try:
        parts = sorted(map(_summary, files), key=lambda part: part.start_ms)
    except Exception as error:  # Arrow raises a dozen kinds for a file that is not what its name says
        why = error.args[0] if isinstance(error, BadValue) else first_line(error)
        problem = compose("{file} cannot be read: {reason}", file=one.name, reason=why)
        return replace(one, market=one.market or market_of(one.name), problem=problem)
    mids = [mid for part in parts for mid in part.mids]
    return replace(
        one,
        market=one.market or next((part.market for part in parts if part.market), "") or market_of(one.name),
        start_ms=parts[0].start_ms,
        end_ms=max(part.end_ms for part in parts),
        rows=sum(part.rows for part in parts),
        gaps=sum(part.gaps for part in parts) + sum(b.start_ms - a.end_ms > STEP_MS for a, b in pairwise(parts)),
        levels=max(part.levels for part in parts),
        mids=tuple(mids[:: max(1, -(-len(mids) // POINTS))]),
    )


@lru_cache(4_096)
def _summary(file: RecordingFile) -> FileSummary:
    with file.path.open("rb") as opened:
        return _csv_summary(opened) if file.relative.lower().endswith(".csv") else _parquet_summary(opened)


def _csv_summary(opened: IO[bytes]) -> FileSummary:
    names = [name.strip().strip('"') for name in opened.readline().decode("utf-8-sig", errors="replace").split(",")]
    _need(names)
    wanted = csv.ConvertOptions(include_columns=NEEDED, column_types=dict.fromkeys(NEEDED[1:], pa.float64()))
    return _of_columns(names, csv.read_csv(opened, csv.ReadOptions(column_names=names), convert_options=wanted))


def _parquet_summary(opened: IO[bytes]) -> FileSummary:
    with pq.ParquetFile(opened) as parquet:
        known = footer_summary(parquet.metadata)
        if known is not None and plausible([known.start_ms, known.end_ms]).all():
            return known
        names = parquet.schema_arrow.names
        _need(names)
        return _of_columns(names, parquet.read(columns=list(NEEDED)))


def _need(names: Iterable[str]) -> None:
    if missing := sorted(set(NEEDED) - set(names)):
        raise BadValue("it lacks the column {column}", column=missing[0])


def _of_columns(names: list[str], table: pa.Table) -> FileSummary:
    """The numbers of a file of another program. Whole numbers are milliseconds here: the door knows other units (D40)."""
    ask, bid = (table[name].cast(pa.float64()).to_numpy() for name in NEEDED[1:])
    column, mid = table["timestamp"].to_pandas(), (ask + bid) / 2
    times, _unit = milliseconds(column, "ms")
    if (none := (times == UNKNOWN) & column.notna().to_numpy()).any():
        raise BadValue(
            "its timestamp {value!r} is no time in milliseconds between 1990 and tomorrow: "
            "a file in another unit is to be converted",
            value=str(column[none].iloc[0])[:40],
        )
    times = np.sort(times[times != UNKNOWN])
    if not len(times):
        raise ValueError(compose("it has no rows"))
    levels = sum(name.startswith("ask_price_") for name in names)
    return summary_of(times, mid[np.isfinite(mid)], levels=levels, market="")
