"""Writing the ledger: a stream whose journal is on disk after every step, and whose entries are chained; never a reason to stop.

`LedgerKeeper` is a session's, opened with the first row.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from core.files import lock, write_bytes
from core.market.book import LEVELS, STEP_MS
from core.market.feeds.clock import CLOCK
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.ledger import chain
from core.market.ledger.anchors import anchorer
from core.market.predictor import Predictor, identity
from core.market.store.segments import FREE_SPACE, HOUR_MS, Journal, StreamWriter, is_full, remove_leftovers, write_table
from core.messages import Message, compose

SIZE_LIMIT: Final = 8 * 2**30
"""Bytes a ledger's folder may take by default; about two months of one market."""
CHECK_EVERY: Final = 400
"""Writes between two looks at the disk."""
LOCK: Final = ".lock"
"""File of a market's folder that its writer holds a lock on, which the system releases when the process ends."""
MAX_FOLDERS: Final = 64
"""Folders of one market, at most: one for each server that writes at once and each change of the heads or the checkpoint."""


Answer = tuple[NDArray[np.float32], NDArray[np.int8]]
"""Probabilities (heads, 3) and calls (heads,) of the prediction on the window that a row ends."""
LedgerItem = tuple[GridItem, Answer | None]
"""An event of the grid, and for a row the prediction there, if there is one. A gap loses the rows not confirmed by then (D27)."""


class LedgerWriter(StreamWriter):
    """Continues, or begins, the ledger of one market. Safe to call from one thread at a time.

    Args:
        root: folder of all markets' ledgers.
        header: market, heads, window and what predicts. A market whose heads or checkpoint have changed, whose ledger is of an
            earlier format, or that another process is writing, gets a folder of its own with a number behind its name, so that
            no chain has two writers, or two models.
        size_limit: bytes the whole of `root` may take.
        clock_ms: milliseconds since the epoch, by the clock that the rows' times are of.

    Attributes:
        folder: of this market. count: predictions in the chain. late: of them, those this writer wrote too late (D28).

    Raises:
        LedgerError: where what is there is damaged, or no folder can be locked.
        OSError: where the disk refuses.
    """

    _journal: Journal

    def __init__(
        self, root: Path, header: chain.LedgerHeader, *, size_limit: int = SIZE_LIMIT, clock_ms: Callable[[], int] = CLOCK.now_ms
    ) -> None:
        self.root, self.header = root, header
        self.folder, self._held = _folder_for(root, header)
        self._model = [np.frombuffer(bytes.fromhex(digest), np.uint8) for digest in header.model]
        self._size_limit, self._clock_ms = size_limit, clock_ms
        self._lock = threading.Lock()
        self._type = chain.entry_type(len(header.heads))
        self._newest = np.zeros(1, self._type)  # before the first entry, as if a gap had the header's hash
        self._newest["index"], self._newest["hash"] = -1, np.frombuffer(header.genesis, np.uint8)
        self._entries: list[chain.Entries] = []  # of the journal
        self._sealed = header.genesis  # the hash before them
        self._turn = 0  # of them, those of the hour that is over; 0 while that of the first is not
        self._confirmed_ms = self.late = 0
        self._gap_due = True  # what came since the run before is not known
        self._since_check = CHECK_EVERY
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise

    def _open(self) -> None:
        remove_leftovers(self.folder, ".*.part")
        if not (self.folder / chain.HEADER).exists():
            write_bytes(self.folder / chain.HEADER, self.header.to_json().encode())
        heads = self.header.heads
        journal, newest = chain.read_journal(self.folder, len(heads)), chain.newest_entry(self.folder, heads)
        self._newest = newest if len(newest) else self._newest
        follows, due = self._newest["hash"].tobytes(), int(self._newest["index"][0]) + 1
        if not (len(journal.entries) and journal.entries["index"][0] <= due) and journal.follows not in (b"", follows):
            raise chain.LedgerError(
                "the newest segments of {folder} are missing: the ledger is not continued", folder=self.folder.name
            )
        self._journal = Journal(self.folder / chain.JOURNAL, durable=True)
        if len(journal.entries):  # a run ended before it made files of them, or in the middle of that
            self._newest = journal.entries[-1:] if journal.entries["index"][-1] >= due else self._newest
            self._entries, self._turn, self._sealed, self._again = [journal.entries], 1, journal.follows, True
        self._confirmed_ms = int(self._newest["confirmed_ms"][0])
        self._seal()

    def _files(self, journal: Journal, *, again: bool) -> Iterator[tuple[Path, Callable[[Path], object]]]:
        if self._turn:
            entries, heads = np.concatenate(self._entries[: self._turn]), self.header.heads
            sealed = chain.sealed_entries(self.folder, heads, entries) if again else None
            for path, table in chain.segment(self.folder, heads, entries, self._sealed, self._confirmed_ms, sealed=sealed):
                yield path, partial(write_table, table=table)

    def _renew(self, journal: Journal) -> Journal:
        """The journal with what is not sealed."""
        left = self._entries[self._turn :]
        self._sealed = (self._entries[self._turn - 1] if left else self._newest)["hash"][-1].tobytes()
        self._entries, self._turn = left, 0
        journal.close()
        write_bytes(journal.path, self._sealed + b"".join(map(chain.journal_entry, self._entries)))
        return Journal(journal.path, durable=True)

    @property
    def head(self) -> str:
        """The newest hash, hexadecimal: the one to note elsewhere."""
        return self.newest.hash

    @property
    def newest(self) -> chain.ChainHead:
        """The newest entry."""
        return chain.head_of(self._newest)

    @property
    def count(self) -> int:
        """Predictions in the chain."""
        return int(self._newest["predictions"][0])

    def write(self, items: Iterable[LedgerItem]) -> None:
        """Append rows, predictions and gaps, in their order; on return they are on disk.

        Raises:
            LedgerError: where the size limit or the free space is reached, or a row is not later than the one before.
            OSError: where the disk refuses.
        """
        with self._lock:
            self._check_space()
            new = self._gap() if self._gap_due else b""
            for item, answer in items:
                if isinstance(item, Confirmed):
                    self._confirmed_ms = max(self._confirmed_ms, item.until_ms)
                if not isinstance(item, Row | Gap):
                    continue
                if isinstance(item, Row) and not item.provisional:
                    self._confirmed_ms = max(self._confirmed_ms, item.timestamp)
                new += self._row(item, answer) if isinstance(item, Row) else self._gap()
                if self._hour_is_over():
                    self._journal.append(new)
                    new = b""
                    self._seal()
            if new:
                self._journal.append(new)

    def _gap(self) -> bytes:
        """A gap, unless nothing came since the one before."""
        self._gap_due = False
        return b"" if self._newest["kind"] == chain.GAP else self._chain(chain.GAP, int(self._newest["timestamp"][0]))

    def _row(self, row: Row, answer: Answer | None) -> bytes:
        newest = self._newest
        back = self._clock_ms() < newest["written_ms"] - chain.CLOCK_MS
        if back or row.timestamp < newest["timestamp"] + (0 if newest["kind"] == chain.GAP else STEP_MS):
            raise chain.LedgerError(
                "the clock stands before the newest row of the ledger {folder}: it was set back", folder=self.folder.name
            )
        if self._entries and not self._turn and row.timestamp // HOUR_MS > int(self._entries[0]["timestamp"][0]) // HOUR_MS:
            self._turn = len(self._entries)
        return self._chain(chain.ROW if answer is None else chain.PREDICTION, row.timestamp, row, answer)

    def _chain(self, kind: int, timestamp: int, row: Row | None = None, answer: Answer | None = None) -> bytes:
        """Chain an entry; returns it as the journal holds it."""
        entry, newest = np.zeros(1, self._type), self._newest
        entry["kind"], entry["index"], entry["predictions"] = kind, newest["index"] + 1, newest["predictions"]
        entry["timestamp"], entry["written_ms"], entry["confirmed_ms"] = timestamp, self._clock_ms(), self._confirmed_ms
        if row is not None:
            entry["levels"] = row.levels[: 4 * LEVELS]
        if answer is not None:
            entry["predictions"] += 1
            entry["weights"], entry["card"] = self._model
            entry["probabilities"], entry["calls"] = answer
            self.late += int(entry["written_ms"][0] > timestamp + STEP_MS)
        digest = chain.chained(newest["hash"].tobytes(), entry.tobytes()[: chain.hashed_sizes(self._type)[kind]])
        entry["hash"] = np.frombuffer(digest, np.uint8)
        self._entries.append(entry)
        self._newest = entry
        return chain.journal_entry(entry)

    def _hour_is_over(self) -> bool:
        """Tells whether another hour began in the journal, and the last row before it is confirmed or lost."""
        if not self._turn:
            return False
        last = self._entries[self._turn - 1]
        return self._confirmed_ms >= int(last["timestamp"][0]) or chain.GAP in (last["kind"][0], self._newest["kind"][0])

    def _check_space(self) -> None:
        self._since_check += 1
        if self._since_check < CHECK_EVERY:
            return
        self._since_check = 0
        used = sum(map(_size, self.root.rglob("*")))
        if used > self._size_limit:
            raise chain.LedgerError(
                "the ledger takes {used:.1f} GiB, its limit: move old markets away, or raise OBSERVATORY_LEDGER_LIMIT",
                used=used / 2**30,
            )
        if is_full(self.root):
            raise chain.LedgerError("the disk has less than {free} MiB left: make room for the ledger", free=FREE_SPACE // 2**20)

    def close(self) -> None:
        """Seal what is open. What was written before is on disk either way."""
        with self._lock:
            try:
                self._turn = len(self._entries)
                if self._turn:
                    self._seal()
            finally:
                self.release()

    def release(self) -> None:
        """Leave the folder to others as it is: what was written stays in the journal, where the next writer finds it."""
        self._journal.close()
        self._held.close()


def _size(path: Path) -> int:
    """Bytes of a file; 0 of anything else, and of another market's part that has got its name since it was listed."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0


def _folder_for(root: Path, header: chain.LedgerHeader) -> tuple[Path, IO[bytes]]:
    """The first folder with this header, or with none, that no other writer holds; and the file by which it is held now."""
    name = chain.folder_name(header.market)
    for number in range(1, MAX_FOLDERS + 1):
        folder = root / (name if number == 1 else f"{name}_{number}")
        if not _is_of(folder, header):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / LOCK).open("ab")
        # Read once more: another server may have begun the folder in between.
        if lock(held) and _is_of(folder, header):
            return folder, held
        held.close()
    raise chain.LedgerError(
        "no folder of {market} in {folder} can be locked: give each server a ledger of its own by OBSERVATORY_LEDGER",
        market=header.market,
        folder=root.name,
    )


def _is_of(folder: Path, header: chain.LedgerHeader) -> bool:
    """Tells whether the folder has this header, or none yet."""
    try:
        return not (folder / chain.HEADER).exists() or chain.read_header(folder) == header
    except chain.OtherFormat:
        return False


FOLDER_VARIABLE = "OBSERVATORY_LEDGER"
"""Environment variable: the ledger's folder, or "off"."""
LIMIT_VARIABLE = "OBSERVATORY_LEDGER_LIMIT"
"""Environment variable: GiB the ledger may take."""
DEFAULT_FOLDER = Path("recordings") / "ledger"

log = logging.getLogger(__name__)


def ledger_folder() -> Path | None:
    """Folder of the ledgers by the environment; None where they are switched off."""
    wanted = os.environ.get(FOLDER_VARIABLE, "").strip()
    return None if wanted.lower() == "off" else Path(wanted) if wanted else DEFAULT_FOLDER


def size_limit() -> int:
    """Bytes that all ledgers may take, by the environment."""
    try:
        return int(float(os.environ[LIMIT_VARIABLE]) * 2**30)
    except (KeyError, ValueError, OverflowError):
        return SIZE_LIMIT


class LedgerKeeper:
    """Writes one session's rows and predictions, for as long as the disk allows it. `close` may be called from another thread.

    Args:
        root: the ledger's folder.
        market: the feed's key.
        predictor: what predicts; its heads, its window and the hashes of its weights and card are written down.

    Attributes:
        head: the newest hash, the one to note elsewhere; None before the first row.
        count: predictions in this market's chain. late: of them, those written too late (D28) since the session began.
        problem: why nothing is written any more; None while all is well.
    """

    def __init__(self, root: Path, market: str, predictor: Predictor) -> None:
        self._root, model = root, identity(predictor.card)
        self._header = chain.LedgerHeader(market=market, heads=predictor.heads, window=predictor.window, model=model)
        self._lock = threading.Lock()
        self._writer: LedgerWriter | None = None
        self.head: str | None = None
        self.count = self.late = 0
        self.problem: Message | None = None

    def take(self, items: Iterable[LedgerItem]) -> None:
        """Write down what a session has processed, in its order; a failure is kept in `problem`, and ends the writing."""
        with self._lock:
            batch = list(items)
            if self.problem is not None or (self._writer is None and not any(isinstance(item, Row) for item, _ in batch)):
                return
            try:
                self._writer = self._writer or self._open()
                self._writer.write(batch)
                self.head, self.count, self.late = self._writer.head, self._writer.count, self._writer.late
                self._anchor(self._writer)
            except (chain.LedgerError, OSError, MemoryError) as error:
                self._give_up(error)

    def close(self) -> None:
        """Seal what is open. A later `take` continues the chain."""
        with self._lock:
            if self._writer is not None and self.problem is None:
                try:
                    self._writer.close()
                    self._anchor(self._writer, last=True)
                except (chain.LedgerError, OSError, MemoryError) as error:
                    self._give_up(error)
            self._writer = None

    def _anchor(self, writer: LedgerWriter, *, last: bool = False) -> None:
        """Have the newest head put down elsewhere, once an hour and at the end."""
        if (anchors := anchorer()) is not None:
            anchors.note(writer.folder, self._header.market, writer.newest, last=last)

    def _open(self) -> LedgerWriter:
        if self._root.parts[:1] and self._root.parts[0].endswith(":"):  # a store's URL: it cannot append, nor hold a lock
            raise chain.LedgerError(
                "{folder} is no folder of this machine: a ledger is written line by line, name a folder", folder=self._root
            )
        return LedgerWriter(self._root, self._header, size_limit=size_limit())

    def _give_up(self, error: Exception) -> None:
        log.warning("the ledger of %s stops: %s", self._header.market, error)
        if self._writer is not None:
            self._writer.release()
            self._writer = None
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = compose("Predictions are not written down any more: {reason}.", reason=why)
