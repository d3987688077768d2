"""Recordings as a visitor may change them: recorded, deleted, exported, inspected, converted.

Each raises `NotAllowed` where the visitor may not, and else what the function below it raises.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from core.market import watch_list
from core.market.background_recorder import RECORDER
from core.market.formats import bounded
from core.market.formats.conversion import Inspection, Progress
from core.market.formats.tables import FormatError
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from core.market.store import changes
from core.market.store.index import Recording
from core.market.store.places import library_folder
from core.market.store.writer import FileSummary
from core.service.access import Action, Visitor, closed

LONGEST_NAME: Final = 200
"""Bytes of a recording's name: with what is added beside it, a disk keeps 255 of a file's."""

start: Final = closed(Action.RECORD)(RECORDER.start)
stop: Final = closed(Action.RECORD)(RECORDER.stop)
status: Final = RECORDER.status
inspect: Final = closed(Action.CONVERT)(bounded.inspect)


def running(by: Visitor) -> list[str]:
    """Keys of the feeds that are being recorded; none for whom they are no business of."""
    return RECORDER.running() if by.may(Action.RECORD) else []


def record_again() -> None:
    """Record the markets of the library's watch list, as before the app was started anew."""
    RECORDER.resume(lambda key: MarketSession(MarketSource(kind="live", name=key.removeprefix("live/")).feed(), load_predictor()))


@closed(Action.CHANGE)
def limit(most_bytes: int) -> list[Path]:
    """Let the library's hours take so many bytes, 0 for any number; returns the oldest, which were deleted for it."""
    watch_list.limit(library_folder(), most_bytes)
    return watch_list.make_room(library_folder())


@closed(Action.CHANGE)
def delete(entries: Sequence[Recording]) -> None:
    """As `changes.delete` from the library, one after another."""
    for entry in entries:
        changes.delete(library_folder(), entry)


def export(by: Visitor, entry: Recording, form: str = "parquet") -> bytes:
    """As `changes.export`; what came with the app is everybody's."""
    by.require(Action.WATCH if entry.bundled else Action.EXPORT)
    return changes.export(entry, form)


@closed(Action.CONVERT)
def convert(
    files: Mapping[str, Path], name: str, seen: Inspection, *, market: str, progress: Progress | None = None
) -> FileSummary:
    """As `bounded.convert`, into the library under a name.

    Raises:
        FormatError: also for a name that is none, or longer than a disk keeps.
    """
    if not changes.NAME.fullmatch(name):
        raise FormatError("{name} is no name: letters, digits, - and _ are right, and / between folders.", name=name)
    if len(name.encode()) > LONGEST_NAME:
        raise FormatError("the name has more than {most} bytes: choose a shorter one", most=LONGEST_NAME)
    return bounded.convert(files, library_folder() / f"{name}.parquet", seen, market=market, progress=progress)
