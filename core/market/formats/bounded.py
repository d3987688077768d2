"""Reads files in a process of its own, whose memory and time are bounded: a small file can be made to take hours or gigabytes.

    python -m core.market.formats.bounded

The process reads one line of JSON (files by name, limits, and what a recording of them is to be), and writes lines of JSON:
shares read, then what it saw or wrote, or why not.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.market.formats import conversion
from core.market.formats.conversion import Inspection, Progress, RowProblem
from core.market.formats.tables import FormatError
from core.market.store.segments import remove_leftovers
from core.market.store.writer import FileSummary
from core.messages import compose, packed, unpacked

ROOT: Final = Path(__file__).resolve().parents[3]
MAX_AT_ONCE: Final = 2
WALL: Final = 5
"""Seconds by the wall for each of the processor's: a busy machine is no reason to give up."""
MIN_WALL_S: Final = 120.0
OUT_OF_TIME: Final = (-int(getattr(signal, "SIGXCPU", 0)), -int(getattr(signal, "SIGKILL", 0)))
_places: Final = threading.BoundedSemaphore(MAX_AT_ONCE)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits beside what the process takes to start: seconds of the processor, MiB of memory."""

    seconds: int
    mib: int = 2_048


def limits_for(files: Mapping[str, Path]) -> Limits:
    """More for larger files."""
    size = sum(path.stat().st_size for path in files.values() if path.is_file())
    return Limits(seconds=min(900, 20 + 5 * (size >> 20)))


def inspect(files: Mapping[str, Path], *, progress: Progress | None = None, limits: Limits | None = None) -> Inspection:
    """As `conversion.inspect`, within limits, by the files' size where None.

    The process ends with this call, also where `progress` raises.

    Raises:
        FormatError: also where a limit is reached, or enough files are being read already.
    """
    return _inspection(_answer({}, files, limits or limits_for(files), progress))


def convert(
    files: Mapping[str, Path],
    path: Path,
    seen: Inspection,
    *,
    market: str,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> FileSummary:
    """As `conversion.convert`, within limits and ended as `inspect` is; a process that is ended leaves nothing.

    Args:
        seen: what `inspect` said of the files. limits: twice an inspection's where None, as rows are written too.

    Raises:
        FormatError: as of `inspect`, and where the disk refuses.
    """
    limits = limits or Limits(seconds=2 * limits_for(files).seconds)
    try:
        answer = _answer({"path": str(path.resolve()), "market": market, "seen": _as_json(seen)}, files, limits, progress)
    finally:
        remove_leftovers(path.parent, f".*.{path.name}.part")
    return FileSummary(**answer | {"mids": tuple(answer["mids"])})


def _answer(order: dict[str, Any], files: Mapping[str, Path], limits: Limits, progress: Progress | None) -> dict[str, Any]:
    """The answer of a process to an order, where one of the places for them is free."""
    if not _places.acquire(blocking=False):
        raise FormatError("{count} files are being read on this server already: try again later", count=MAX_AT_ONCE)
    order |= vars(limits) | {"files": {name: str(path.resolve()) for name, path in files.items()}}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name if __spec__ else __name__],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        late = threading.Timer(max(MIN_WALL_S, WALL * limits.seconds), process.kill)
        late.start()
        try:
            return _last_word(process, order, progress)
        finally:
            late.cancel()
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    finally:
        _places.release()


def _last_word(process: subprocess.Popen[str], order: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as order_in:
        order_in.write(json.dumps(order, default=_plain))
    for line in process.stdout:
        answer = json.loads(line)
        if "result" in answer:
            return dict(answer["result"])
        if "refused" in answer:
            raise FormatError(unpacked(answer["refused"]))
        if progress:
            progress(answer["done"])
    about = {"files": ", ".join(order["files"]), "count": order["seconds"]}
    if process.wait() in OUT_OF_TIME:
        raise FormatError("reading {files} takes more than {count} s of the processor: split it", **about)
    raise FormatError("reading {files} ended early: it is damaged, or takes more memory than it may", **about)


def _as_json(seen: Inspection) -> dict[str, Any]:
    problems, notes = [(one.row, packed(one.what)) for one in seen.problems], [packed(one) for one in seen.notes]
    return vars(seen) | {"problems": problems, "notes": notes}


def _inspection(answer: dict[str, Any]) -> Inspection:
    """The inverse of `_as_json`."""
    problems = tuple(RowProblem(row=row, what=unpacked(what)) for row, what in answer["problems"])
    return Inspection(**answer | {"problems": problems, "notes": tuple(map(unpacked, answer["notes"]))})


def main() -> None:
    """Inspect or convert what standard input names, within its limits."""
    order = json.loads(sys.stdin.readline())
    files = {name: Path(path) for name, path in order["files"].items()}
    _limit(order["seconds"], order["mib"] << 20)
    said = 0.0

    def say_done(share: float) -> None:
        nonlocal said
        if share >= said + 0.01:
            said = share
            _say({"done": share})

    try:
        if "path" in order:
            seen, path = _inspection(order["seen"]), Path(order["path"])
            written = conversion.convert(files, path, market=order["market"], seen=seen, progress=say_done)
            _say({"result": vars(written)})
        else:
            _say({"result": _as_json(conversion.inspect(files, progress=say_done))})
    except FormatError as error:
        _say({"refused": packed(error.args[0])})
    except OSError as error:
        _say({"refused": str(error)})
    except MemoryError:
        about = {"files": ", ".join(files), "most": order["mib"]}
        _say({"refused": packed(compose("reading {files} takes more than {most} MiB of memory: split it", **about))})


def _limit(seconds: int, memory: int) -> None:
    """Bound this process's processor time and memory from here on, where the operating system can, and give way to others."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        os.nice(5)
        used = math.ceil(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 1))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer, default=_plain) + "\n")
    sys.stdout.flush()


def _plain(one: Any) -> Any:
    return one.item() if hasattr(one, "item") else str(one)


if __name__ == "__main__":
    main()
