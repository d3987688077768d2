"""Names of recordings: a market's day of hourly segments, or a loose Parquet or CSV file of rows."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final

from core.market.recordings.stores import below_cache, is_store

FOLDER_VARIABLE: Final = "OBSERVATORY_RECORDINGS"
"""Environment variable: the folder or the store of the library, where the app records and converts to."""
DEFAULT_FOLDER: Final = Path("recordings")

_SEGMENT: Final = re.compile(r"(?P<day>.*(?:^|/)\d{4}-\d{2}-\d{2})/\d{2}/rows_\d+(_\d+)?\.parquet$")
_OTHER: Final = re.compile(r"(trades|updates|events|predictions|lost)_\d+(_\d+)?\.parquet$")
_DATE: Final = re.compile(r"[_-]?(250ms|native\w*)?[_-]*\d{4}-?\d{2}-?\d{2}.*$")


def library_folder() -> Path:
    """The library's folder by the environment; of a library in a store, this machine's folder for what is fetched from there."""
    address = library_address()
    return below_cache("library", address) if address else Path(os.environ.get(FOLDER_VARIABLE, "").strip() or DEFAULT_FOLDER)


def library_address() -> str | None:
    """Address of the store that is the library by the environment; None for a folder."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip().rstrip("/")
    return named if is_store(named) else None


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
