"""The recordings that come with the app, as listed in `assets/recordings/recordings.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from core.messages import compose

FOLDER: Final = Path(__file__).resolve().parents[2] / "assets" / "recordings"
INDEX: Final = "recordings.json"
_JSON_KINDS: Final[dict[str, type | tuple[type, ...]]] = {"str": str, "int": int, "float": (int, float)}


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One bundled recording.

    Attributes:
        name: the file without its ending; links hold it, so it must not change.
        symbol: ccxt's, by which `RecordingFeed` and a checkpoint's card know the market.
        venue, kind: "Binance"; "spot" or "perpetual".
        start_ms: milliseconds since the epoch. duration_s: seconds.
        rows, trades: their numbers.
        source, licence: its origin and terms.
        note: a sentence or two for a person, English.
        sha256: of the book file.
        files: of a recording of several files, all of them.
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
    files: tuple[Path, ...] = ()

    @property
    def paths(self) -> list[Path]:
        """Its files of rows."""
        return list(self.files or (self.path,))

    @classmethod
    def from_dict(cls, entry: dict[str, Any], folder: Path) -> Recording:
        """From an entry of the index.

        Raises:
            ValueError: where a value is missing or of another kind.
        """
        given = [field for field in fields(cls) if field.name not in ("name", "path", "files")]
        wanted = {"file": "str"} | {field.name: str(field.type) for field in given}
        for key, kind in wanted.items():
            value = entry.get(key)
            if not isinstance(value, _JSON_KINDS[kind]) or isinstance(value, bool):
                raise ValueError(compose("{key} is not given, or not of the kind {kind}", key=key, kind=kind))
        file = entry["file"]
        return cls(name=Path(file).stem, path=folder / file, **{key: entry[key] for key in wanted if key != "file"})


class LibraryError(ValueError):
    """The index or a recording is missing or malformed; the message says which."""


@cache
def recordings(folder: Path = FOLDER) -> tuple[Recording, ...]:
    """All bundled recordings; the first is the default.

    Raises:
        LibraryError: where the index cannot be read, or an entry is malformed.
    """
    path = folder / INDEX
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or compose("it is no JSON")
        raise LibraryError(compose("{file} does not list the bundled recordings: {reason}", file=path, reason=reason)) from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        reason = compose("a list of one object per recording is needed")
        raise LibraryError(compose("{file} does not list the bundled recordings: {reason}", file=path, reason=reason))
    found: list[Recording] = []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(Recording.from_dict(entry, folder))
        except ValueError as error:
            raise LibraryError(compose("entry {number} of {file}: {reason}", number=number, file=path, reason=error)) from error
    return tuple(found)


def recording(name: str) -> Recording:
    """The recording of that name.

    Raises:
        LibraryError: where there is none; the message lists the names.
    """
    known = {entry.name: entry for entry in recordings()}
    if name not in known:
        raise LibraryError(compose("there is no recording {name!r}: choose one of {names}", name=name, names=", ".join(known)))
    return known[name]
