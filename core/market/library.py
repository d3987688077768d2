"""The recordings that come with the app: `assets/recordings/recordings.json` says what each is and where it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.messages import compose

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "recordings"
INDEX = "recordings.json"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One bundled recording.

    Attributes:
        name: the file without its ending; stays as it is, for links.
        symbol: ccxt's, as `RecordingFeed` and a checkpoint's card know the market.
        venue, kind: "Binance"; "spot" or "perpetual".
        start_ms: milliseconds since the epoch. duration_s: seconds.
        rows, trades: how many there are.
        source, licence: where it was taken from, and on what terms.
        note: a sentence or two for a person, English.
        sha256: of the book file.
    """

    name: str
    path: Path
    symbol: str
    venue: str
    kind: str
    start_ms: int
    duration_s: float
    rows: int
    trades: int
    source: str
    licence: str
    note: str
    sha256: str

    @classmethod
    def from_dict(cls, entry: dict[str, Any], folder: Path) -> Recording:
        """From the index."""
        values = {key: value for key, value in entry.items() if key != "file"}
        return cls(name=Path(entry["file"]).stem, path=folder / entry["file"], **values)


class LibraryError(ValueError):
    """The index or a recording is missing or not what it should be; the message says which."""


@cache
def recordings(folder: Path = FOLDER) -> tuple[Recording, ...]:
    """All bundled recordings, the one to begin with first.

    Raises:
        LibraryError: where the index cannot be read.
    """
    try:
        entries = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        return tuple(Recording.from_dict(entry, folder) for entry in entries)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LibraryError(
            compose("{file} does not list the bundled recordings: {reason}", file=folder / INDEX, reason=error)
        ) from error


def recording(name: str) -> Recording:
    """The recording of that name.

    Raises:
        LibraryError: naming those there are.
    """
    found = {one.name: one for one in recordings()}
    if name not in found:
        raise LibraryError(compose("there is no recording {name!r}: choose one of {names}", name=name, names=", ".join(found)))
    return found[name]
