"""Reads files in a process of its own, whose memory and time are bounded: a small file can be made to take hours or gigabytes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from core.market.formats import conversion
from core.market.formats.conversion import Inspection, Progress, RowProblem
from core.market.formats.tables import FormatError
from core.market.store.segments import remove_leftovers
from core.market.store.writer import FileSummary
from core.workers import Budget, Pool, Stopped

MAX_AT_ONCE: Final = 2
MIB: Final = 2_048
"""Of memory beside what the process takes to start."""
_pool: Final = Pool(MAX_AT_ONCE, "core.market.formats.bounded", nice=5)


def limits_for(files: Mapping[str, Path]) -> Budget:
    """More time for larger files."""
    size = sum(path.stat().st_size for path in files.values() if path.is_file())
    return Budget(seconds=min(900, 20 + 5 * (size >> 20)), mib=MIB)


def inspect(files: Mapping[str, Path], *, progress: Progress | None = None) -> Inspection:
    """As `conversion.inspect`, within limits by the files' size.

    The process ends with this call, also where `progress` raises.

    Raises:
        FormatError: also where a limit is reached, or enough files are being read already.
    """
    seen = _run(inspect_here, files, {}, limits_for(files), progress)
    return Inspection(**seen | {"problems": tuple(RowProblem(**one) for one in seen["problems"])})


def convert(
    files: Mapping[str, Path], path: Path, seen: Inspection, *, market: str, progress: Progress | None = None
) -> FileSummary:
    """As `conversion.convert`, in twice an inspection's time, as rows are written too; a process that is ended leaves nothing.

    Args:
        seen: what `inspect` said of the files.

    Raises:
        FormatError: as of `inspect`, and where the disk refuses.
    """
    limits = limits_for(files)
    options = {"path": str(path.resolve()), "market": market, "seen": vars(seen) | {"problems": (), "notes": ()}}
    try:
        return FileSummary(**_run(convert_here, files, options, replace(limits, seconds=2 * limits.seconds), progress))
    finally:
        remove_leftovers(path.parent, f".*.{path.name}.part")


def _run(
    function: Callable[..., Any], files: Mapping[str, Path], options: dict[str, Any], limits: Budget, progress: Progress | None
) -> dict[str, Any]:
    """Fields of what a function of this module makes of the files, where one of the places for them is free."""

    def wait(place: int) -> None:
        if place:
            raise FormatError("{count} files are being read on this server already: try again later", count=MAX_AT_ONCE)

    def share(done: float) -> None:
        if progress:
            progress(done)

    options |= {"files": {name: str(path.resolve()) for name, path in files.items()}}
    about = {"files": ", ".join(files), "count": limits.seconds}
    try:
        made: dict[str, Any] = _pool.run(function, b"", options, limits, report=wait, progress=("progress", share))
        return made
    except Stopped as stopped:
        if stopped.reason == "refused":
            raise FormatError(*stopped.args) from stopped
        if stopped.reason == "time":
            raise FormatError("reading {files} takes more than {count} s of the processor: split it", **about) from stopped
        raise FormatError("reading {files} ended early: it is damaged, or takes more memory than it may", **about) from stopped
    finally:
        _pool.rest()


def inspect_here(_data: bytes, *, files: Mapping[str, str], progress: Progress) -> Inspection:
    """`conversion.inspect` in the process."""
    return conversion.inspect({name: Path(path) for name, path in files.items()}, progress=progress)


def convert_here(
    _data: bytes, *, files: Mapping[str, str], path: str, market: str, seen: dict[str, Any], progress: Progress
) -> FileSummary:
    """`conversion.convert` in the process."""
    inside = {name: Path(one) for name, one in files.items()}
    return conversion.convert(inside, Path(path), market=market, seen=Inspection(**seen), progress=progress)
