"""The live markets that are recorded whenever the app runs, and how much the library may hold: a file of its folder."""

import json
import threading
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.files import write_bytes
from core.market.store.segments import KINDS, below_library, is_segment, segment_path
from core.market.store.writer import footer_summary

FILE: Final = ".watch_list.json"
_changing = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class WatchList:
    """Keys of the live feeds that are recorded, and the bytes that the library's hours may take; 0 for any number."""

    markets: tuple[str, ...] = ()
    most_bytes: int = 0


def read(folder: Path) -> WatchList:
    """The library's list; an empty one where there is none, or where its file holds none."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        markets = tuple(key for key in found["markets"] if isinstance(key, str) and is_watched(key))
        return WatchList(markets=markets, most_bytes=max(0, int(found["most_bytes"])))
    except (OSError, ValueError, KeyError, TypeError):
        return WatchList()


def is_watched(key: str) -> bool:
    """Tells whether a feed may be on the list: a live market with the checkpoint that comes with the app."""
    return key.startswith("live/") and key.count("/") >= 2 and "~" not in key


def watch(folder: Path, key: str, *, on: bool) -> None:
    """Put a feed on the list, or take it off; one that may not be there is left out.

    Raises:
        OSError: where the disk refuses.
    """
    with _changing:
        now = read(folder)
        others = tuple(one for one in now.markets if one != key)
        if is_watched(key):
            _write(folder, replace(now, markets=(*others, key) if on else others))


def limit(folder: Path, most_bytes: int) -> None:
    """Set how much the library's hours may take; 0 for any number.

    Raises:
        OSError: where the disk refuses.
    """
    with _changing:
        _write(folder, replace(read(folder), most_bytes=most_bytes))


def make_room(folder: Path) -> list[Path]:
    """Delete the oldest hours of the library, of all markets, until the rest is within the limit; returns their files of rows.

    An hour is what a recorder wrote and says so in its footer, with its place in the library (D48): nothing else is counted or
    deleted, and what a person moved or put there is none.

    Raises:
        OSError: where the disk refuses.
    """
    most = read(folder).most_bytes
    if not most:
        return []
    named = {path: path.stat() for path in folder.glob("*/*/*/rows_*.parquet") if is_segment(path)}
    hours = [path for path, state in named.items() if _was_written_here(path, state.st_size, state.st_mtime_ns)]
    files = {path: [one for kind in KINDS if (one := segment_path(path, kind)).exists()] for path in hours}
    sizes = {path: sum(one.stat().st_size for one in some) for path, some in files.items()}
    deleted, total = [], sum(sizes.values())
    for path in sorted(hours, key=lambda path: (int(path.stem.split("_")[1]), path)):
        if total <= most:
            break
        for one in files[path]:
            one.unlink(missing_ok=True)
        deleted.append(path)
        total -= sizes[path]
    return deleted


@lru_cache(2**16)
def _was_written_here(path: Path, _size: int, _changed_ns: int) -> bool:
    """Tells whether a file of rows says that a recorder wrote it at this place; read once for each state of the file."""
    try:
        found = footer_summary(pq.read_metadata(path))
    except (pa.ArrowException, OSError):
        return False
    return found is not None and found.place == below_library(path)


def _write(folder: Path, wanted: WatchList) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if wanted != read(folder):
        write_bytes(folder / FILE, json.dumps(asdict(wanted), indent=1).encode())
