"""Recordings as a visitor may change them: recorded, renamed, merged, deleted, exported, copied, inspected, converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from core.market.book import BookError
from core.market.formats import bounded, conversion
from core.market.formats.conversion import Inspection
from core.market.formats.protocol import FormatError
from core.market.session import MarketSession
from core.market.store import changes
from core.market.store.background_recorder import RecordingStatus, background_recorder
from core.market.store.index import Recording
from core.market.store.places import RecordingPlace, is_address, library_address, library_folder
from core.market.store.writer import FileSummary
from core.messages import compose
from core.service.access import Action, Visitor


def start(by: Visitor, key: str, begin: Callable[[], MarketSession]) -> None:
    """Record the feed `key`, started by `begin` where it does not run.

    Raises:
        NotAllowed: where the visitor may not. OSError, TooManyFeeds: as `BackgroundRecorder.start`.
    """
    by.require(Action.RECORD)
    background_recorder().start(key, begin)


def stop(by: Visitor, key: str) -> None:
    """End a recording.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.RECORD)
    background_recorder().stop(key)


def status(key: str) -> RecordingStatus | None:
    """A feed's recording, ended ones included; None where there was none."""
    return background_recorder().status(key)


def running(by: Visitor) -> list[str]:
    """Keys of the feeds that are being recorded; none for whom they are no business of."""
    return background_recorder().running() if by.may(Action.RECORD) else []


def place(by: Visitor, typed: str) -> RecordingPlace:
    """The library, or the folder below it or the address that was typed.

    Raises:
        NotAllowed: where something is typed, and the visitor may name no place. BookError: where it may not be asked.
    """
    if typed:
        by.require(Action.SERVER_FOLDER)
    if is_address(typed):
        return RecordingPlace(typed)
    if not typed and (library := library_address()):
        return RecordingPlace(library)
    root = library_folder().resolve()
    try:
        wanted = (root / typed).resolve()
    except (OSError, ValueError) as error:
        raise BookError(compose("{name} is no name of a folder.", name=repr(typed[:80]))) from error
    if wanted != root and root not in wanted.parents:
        raise BookError(compose("{name} lies outside of the library's folder: choose one below it.", name=typed))
    return RecordingPlace(str(wanted))


def rename(by: Visitor, folder: Path, entry: Recording, name: str) -> str:
    """As `changes.rename`.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.CHANGE)
    return changes.rename(folder, entry, name)


def delete(by: Visitor, folder: Path, entries: Sequence[Recording]) -> None:
    """As `changes.delete`, one after another.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.CHANGE)
    for entry in entries:
        changes.delete(folder, entry)


def merge(
    by: Visitor, folder: Path, entries: Sequence[Recording], name: str, *, progress: changes.Progress | None = None
) -> Path:
    """As `changes.merge`.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.CHANGE)
    return changes.merge(folder, entries, name, progress=progress)


def export(by: Visitor, entry: Recording, form: str = "parquet") -> bytes:
    """As `changes.export`; what came with the app is everybody's.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.WATCH if entry.bundled else Action.EXPORT)
    return changes.export(entry, form)


def fetch(by: Visitor, place: RecordingPlace, entry: Recording, *, progress: changes.Progress | None = None) -> None:
    """As `changes.fetch`, into the library.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.SERVER_FOLDER)
    changes.fetch(place, entry, library_folder(), progress=progress)


def inspect(by: Visitor, files: Mapping[str, Path], *, progress: conversion.Progress | None = None) -> Inspection:
    """As `conversion.inspect`, in a process whose time and memory are bounded.

    Raises:
        NotAllowed: where the visitor may not.
    """
    by.require(Action.CONVERT)
    return bounded.inspect(files, progress=progress)


def convert(
    by: Visitor,
    files: Mapping[str, Path],
    name: str,
    found: Inspection,
    *,
    market: str,
    progress: conversion.Progress | None = None,
) -> FileSummary:
    """As `conversion.convert`, into the library under a name, bounded as `inspect` is.

    Args:
        found: what `inspect` said of them.

    Raises:
        NotAllowed: where the visitor may not. FormatError: also for a name that is none.
    """
    by.require(Action.CONVERT)
    if not changes.NAME.fullmatch(name):
        raise FormatError(compose("{name} is no name: letters, digits, - and _ are right, and / between folders.", name=name))
    path = library_folder() / f"{name}.parquet"
    return bounded.convert(files, path, found, market=market, progress=progress)
