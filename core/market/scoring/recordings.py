"""The recordings of a folder: its order-book files, grouped by market and day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core import checkpoints
from core.market.book import BookError, read_market
from core.market.store.index import market_of, recording_of
from core.market.store.segments import is_segment
from core.market.windows import FrozenWindow, cut
from core.messages import compose

SUFFIXES: Final = (".parquet", ".csv")


@dataclass(frozen=True, kw_only=True)
class RecordedDay:
    """One market's files of one day, or one loose file (`core.market.store.index`).

    Attributes:
        name: of the recording, by which a card knows its market. market: as the name tells it.
        files: by their paths relative to the folder that was named, in any order.
    """

    name: str
    market: str
    files: dict[str, Path]

    @property
    def paths(self) -> list[Path]:
        """Paths of the files."""
        return list(self.files.values())

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file by its relative path."""
        return {name: checkpoints.sha256(path) for name, path in self.files.items()}


def find_recordings(places: Iterable[Path]) -> list[RecordedDay]:
    """The recordings in these folders, at any depth, and these files; in order of their names.

    Trades beside the books, hidden files and tables without a book's columns are passed over in folders.

    Raises:
        BookError: where a place is not there, or nothing is found.
    """
    groups: dict[str, dict[str, Path]] = {}
    places = list(places)
    for place in places:
        if not place.exists():
            raise BookError(compose("{place} is not there: name a folder of recordings, or order-book files", place=place.name))
        inside = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in SUFFIXES)
        for path in inside:
            relative = path.relative_to(place) if place.is_dir() else _named(path)
            name = recording_of(relative.as_posix())
            if place.is_dir() and (name is None or not _holds_books(path)):
                continue
            files = groups.setdefault(name or path.stem, {})
            if files.setdefault(relative.as_posix(), path).resolve() != path.resolve():
                raise BookError(
                    compose(
                        "two folders hold a file {name}: name the folder above them, or one of them", name=relative.as_posix()
                    )
                )
    if not groups:
        names = ", ".join(place.name for place in places)
        raise BookError(
            compose(
                "{names} holds no order-book file: Parquet or CSV with timestamp, ask_price_1 and so on is right", names=names
            )
        )
    return [RecordedDay(name=name, market=market_of(name), files=files) for name, files in sorted(groups.items())]


def _named(file: Path) -> Path:
    """A file that is named by itself, as it lies below a library: an hour of its market's day, or a recording of its own."""
    return Path(*file.resolve().parts[-4:]) if is_segment(file) else Path(file.name)


def trained_on(card: dict[str, object], hashes: Sequence[str]) -> bool:
    """Tells whether a checkpoint learned from one of the files."""
    data = card["data"]
    known = {row["sha256"] for row in data if "sha256" in row} if isinstance(data, list) else set()
    return not known.isdisjoint(hashes)


def _holds_books(path: Path) -> bool:
    """Tells whether a table has a book's columns; a file that cannot be read is left for the reader to complain about."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", errors="replace") as file:
            return "ask_price_1" in file.readline()
    try:
        return "ask_price_1" in pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        return True


def cut_window(places: Iterable[str], recording: str, timestamp: int, steps: int, *, predictor: str) -> FrozenWindow:
    """The window of a recording that ends at a moment, to look into.

    Args:
        places: as for `find_recordings`. timestamp: milliseconds. steps: rows.

    Raises:
        BookError, WindowError: where the recording is not there any more, or has no whole window there.
    """
    day = next((one for one in find_recordings(map(Path, places)) if one.name == recording), None)
    if day is None:
        raise BookError(compose("the recording {name} is not there any more", name=recording))
    rows = read_market(day.paths)
    end = int(np.searchsorted(rows.timestamps, timestamp))
    return cut(rows, end, steps, market=f"recording/{recording} {day.market}", predictor=predictor)
