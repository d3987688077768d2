"""Writing the ledger: a journal that is on disk after every step, sealed into Parquet once an hour."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from core.market.book import STEP_MS, FloatArray
from core.market.journal import lock
from core.market.ledger.records import (
    HEADER,
    JOURNAL,
    LedgerError,
    LedgerHeader,
    PredictionRecord,
    folder_name,
    window_hash,
)
from core.market.ledger.segments import (
    HOUR_MS,
    JournalLine,
    prediction_files,
    read_header,
    read_journal,
    read_predictions,
    write_segment,
)
from core.market.whole_files import write_bytes
from core.messages import compose

SIZE_LIMIT = 8 * 2**30
"""Bytes a ledger's folder may take by default; about two months of one market."""
FREE_SPACE = 256 * 2**20
"""Bytes left free on the disk, at least."""
CHECK_EVERY = 400
"""Rows between two looks at the disk."""
LOCK = ".lock"
"""File of a market's folder that its writer holds a lock on, which the system releases when the process ends."""
MOST_FOLDERS = 64
"""Folders of one market, at most: one for each server that writes at once and each change of the heads."""


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """One step of a session on its way to the ledger.

    Attributes:
        timestamp: milliseconds UTC, on the grid. levels: (40,).
        window: (window, 40) rows the prediction read, ending with `levels`; None where there is no prediction.
        probabilities, calls: (heads, 3) and (heads,) of the prediction; None likewise.
    """

    timestamp: int
    levels: FloatArray
    window: FloatArray | None = None
    probabilities: NDArray[np.float32] | None = None
    calls: NDArray[np.int8] | None = None


class LedgerWriter:
    """Continues, or begins, the ledger of one market. Safe to call from one thread at a time.

    Args:
        root: folder of all markets' ledgers.
        header: market, heads and window. A market whose heads have changed, or that another process is writing, gets a folder
            of its own with a number behind its name, so that no chain has two writers.
        weights, card: SHA-256 of the checkpoint's files, hexadecimal.
        size_limit: bytes the whole of `root` may take.
        clock_ms: milliseconds since the epoch.

    Attributes:
        folder: of this market. head: the newest hash, the one to publish. count: predictions written, ever.
        recovered: one sentence where the journal of an earlier run had a broken tail that was cut off, else None.

    Raises:
        LedgerError: where what is there is damaged, or no folder can be locked.
        OSError: where the disk refuses.
    """

    def __init__(
        self,
        root: Path,
        header: LedgerHeader,
        *,
        weights: str,
        card: str,
        size_limit: int = SIZE_LIMIT,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.root, self.header = root, header
        self.folder, self._held = _folder_for(root, header)
        self._weights, self._card, self._size_limit, self._clock_ms = weights, card, size_limit, clock_ms
        self._lock = threading.Lock()
        self._lines: list[JournalLine] = []
        self._since_check = CHECK_EVERY
        self.recovered: str | None = None
        self.head, self.count = header.genesis, 0
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise

    def _open(self) -> None:
        for part in self.folder.rglob(".*.part"):
            part.unlink(missing_ok=True)
        if not (self.folder / HEADER).exists():
            write_bytes(self.folder / HEADER, self.header.to_json().encode())
        files = prediction_files(self.folder)
        if files:
            about, _ = read_predictions(files[-1], self.header.heads)
            self.head, self.count = str(about["head"]), int(about["first"]) + int(about["count"])
        lines, broken = read_journal(self.folder / JOURNAL)
        if broken:
            self.recovered = f"the journal ended in {broken} broken bytes, which were cut off"
        # A run that ended between sealing an hour and emptying the journal left lines that are already in a segment.
        sealed = [line.record is not None and line.record.index < self.count for line in lines]
        first_open = len(sealed) - sealed[::-1].index(True) if True in sealed else 0
        self._lines = lines[first_open:]
        self._previous = self.head
        for line in self._lines:
            if line.record is not None and line.hash is not None:
                self.head, self.count = line.hash, line.record.index + 1
        if broken or first_open:
            write_bytes(self.folder / JOURNAL, b"".join(line.to_json() for line in self._lines))
        self._journal = (self.folder / JOURNAL).open("ab")

    def write(self, rows: Sequence[LedgerRow]) -> None:
        """Append rows and predictions; on return they are on disk.

        Raises:
            LedgerError: where the size limit or the free space is reached.
            OSError: where the disk refuses.
        """
        with self._lock:
            self._check_space(len(rows))
            new = b""
            for row in rows:
                if self._lines and row.timestamp // HOUR_MS != self._lines[-1].timestamp // HOUR_MS:
                    self._sync(new)
                    new = b""
                    self._seal()
                line = self._line(row)
                self._lines.append(line)
                new += line.to_json()
            self._sync(new)

    def lose(self, from_ms: int) -> None:
        """Note that the rows from this time on were never confirmed; on return the note is on disk.

        Raises:
            OSError: where the disk refuses.
        """
        with self._lock:
            line = JournalLine(timestamp=from_ms, levels=None)
            self._lines.append(line)
            self._sync(line.to_json())

    def _line(self, row: LedgerRow) -> JournalLine:
        if row.window is None or row.probabilities is None or row.calls is None:
            return JournalLine(timestamp=row.timestamp, levels=row.levels)
        times = row.timestamp + STEP_MS * np.arange(1 - len(row.window), 1, dtype=np.int64)
        now = self._clock_ms()
        record = PredictionRecord(
            index=self.count,
            timestamp=row.timestamp,
            written_ms=now,
            late=now > row.timestamp + STEP_MS,
            weights=self._weights,
            card=self._card,
            window=window_hash(times, row.window),
            probabilities=row.probabilities,
            calls=row.calls,
        )
        self.head, self.count = record.chained(self.head), self.count + 1
        return JournalLine(timestamp=row.timestamp, levels=row.levels, record=record, hash=self.head)

    def _sync(self, data: bytes) -> None:
        if data:
            self._journal.write(data)
            self._journal.flush()
            os.fsync(self._journal.fileno())

    def _seal(self) -> None:
        """Turn the journal into a segment and empty it."""
        if not self._lines:
            return
        write_segment(self.folder, self.header.heads, self._lines, self._previous)
        self._journal.close()
        write_bytes(self.folder / JOURNAL, b"")
        self._journal = (self.folder / JOURNAL).open("ab")
        self._lines, self._previous = [], self.head

    def _check_space(self, rows: int) -> None:
        self._since_check += rows
        if self._since_check < CHECK_EVERY:
            return
        self._since_check = 0
        used = sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file())
        if used > self._size_limit:
            raise LedgerError(
                compose(
                    "the ledger takes {used:.1f} GiB, its limit: move old markets away, or raise OBSERVATORY_LEDGER_LIMIT",
                    used=used / 2**30,
                )
            )
        if shutil.disk_usage(self.root).free < FREE_SPACE:
            raise LedgerError(
                compose("the disk has less than {free} MiB left: make room for the ledger", free=FREE_SPACE // 2**20)
            )

    def close(self) -> None:
        """Seal what is open. What was written before is on disk either way."""
        with self._lock:
            try:
                if not self._journal.closed:
                    self._seal()
                    self._journal.close()
            finally:
                self._held.close()

    def __enter__(self) -> LedgerWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _folder_for(root: Path, header: LedgerHeader) -> tuple[Path, IO[bytes]]:
    """The first folder with this header, or with none, that no other writer holds; and the file by which it is held now."""
    name = folder_name(header.market)
    for number in range(1, MOST_FOLDERS + 1):
        folder = root / (name if number == 1 else f"{name}_{number}")
        if (folder / HEADER).exists() and read_header(folder) != header:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / LOCK).open("ab")
        # Read once more: another server may have begun the folder in between.
        if lock(held) and (not (folder / HEADER).exists() or read_header(folder) == header):
            return folder, held
        held.close()
    raise LedgerError(
        compose(
            "no folder of {market} in {folder} can be locked: give each server a ledger of its own by OBSERVATORY_LEDGER",
            market=header.market,
            folder=root.name,
        )
    )
