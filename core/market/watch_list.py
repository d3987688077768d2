"""The live markets that are recorded whenever the app runs, and how much the library may hold: a file of its folder."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from core.files import write_bytes
from core.market.store import written

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

    An hour is what the program's own index says that it wrote (D48): nothing else is counted or deleted.

    Raises:
        OSError: where the disk refuses.
    """
    most = read(folder).most_bytes
    if not most:
        return []
    hours, deleted = written.hours(folder), list[Path]()
    total = sum(hour.size for hour in hours)
    for hour in hours:
        if total <= most:
            break
        written.delete(folder, hour)
        deleted.append(hour.rows)
        total -= hour.size
    return deleted


def _write(folder: Path, wanted: WatchList) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if wanted != read(folder):
        content: dict[str, Any] = asdict(wanted)
        write_bytes(folder / FILE, json.dumps(content, indent=1).encode())
