"""Finds a recording by its name: a bundled one, or one of the library's folder."""

from __future__ import annotations

from core.market import library
from core.market.library import LibraryError, Recording
from core.market.recordings.layout import library_folder
from core.market.recordings.listing import LibraryEntry, entry_of
from core.messages import compose


def find_recording(name: str) -> Recording:
    """The recording of that name, as links hold it.

    Raises:
        LibraryError: where there is none, or its files cannot be read.
    """
    if name in {one.name for one in library.recordings()}:
        return library.recording(name)
    entry = entry_of(library_folder(), name)
    if entry is None:
        return library.recording(name)  # says which names there are
    if entry.problem:
        raise LibraryError(entry.problem)
    return as_recording(entry)


def as_recording(entry: LibraryEntry) -> Recording:
    """An entry of the library's folder as the live page and the explorer know recordings."""
    return Recording(
        name=entry.name,
        path=entry.paths[0],
        symbol=entry.market,
        venue="",
        kind="recorded",
        start_ms=entry.start_ms,
        duration_s=entry.seconds,
        rows=entry.rows,
        trades=0,
        source=compose("recorded or converted here"),
        licence="",
        note="",
        sha256="",
        files=tuple(entry.paths),
    )
