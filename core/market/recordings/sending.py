"""Sends recordings to a store: what waits on this disk is sent file by file, and stays until the store has it whole.

The queue is the folder itself, so that it outlives the process: the next recording to the same address sends what is left.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from core.market.book import BookError
from core.market.recordings.stores import Store, below_cache
from core.market.store.segments import ROWS
from core.messages import Message, compose

LOOK_S: Final = 1.0
"""Seconds between two looks for files to send."""
RETRY_S: Final = (1.0, 30.0)
"""Shortest and longest wait after a store refused; it doubles in between."""

log = logging.getLogger(__name__)


class SegmentSender:
    """A thread that sends whole files of a folder to a store, and deletes them here once they are there.

    Of an hour the rows come last: whoever finds them finds what lies beside them. No file of the store is overwritten.

    Args:
        address: of the store's folder. folder: where the files wait; `waiting_folder` where None.

    Attributes:
        sent: addresses of the files sent. problem: why the last one could not be, "" where it could.
    """

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self.address, self.folder = address.strip().rstrip("/"), folder or waiting_folder(address)
        self.sent: list[str] = []
        self.problem: Message | str = ""
        self._store: Store | None = None
        self._ending, self._thread = threading.Event(), threading.Thread(target=self._run, name="sender", daemon=True)
        self._work = threading.Lock()

    def start(self) -> SegmentSender:
        """Begin to send."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def stop(self, *, timeout: float = 20.0) -> int:
        """Send what is left, for `timeout` seconds at most; returns how many files still wait."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        end = time.monotonic() + timeout
        while self.waiting() and time.monotonic() < end and self.send_waiting():
            pass
        return len(self.waiting())

    def waiting(self) -> list[Path]:
        """The files that wait, rows last within their folder."""
        found = [path for path in self.folder.rglob("*.parquet") if not any(part.startswith(".") for part in path.parts[-4:])]
        return sorted(found, key=lambda path: (path.parent, path.name.startswith(ROWS), path.name))

    def send_waiting(self) -> bool:
        """Send all files that wait; returns whether the store took them."""
        with self._work:
            for path in self.waiting():
                try:
                    self._send(path)
                except FileNotFoundError:  # another process has sent it
                    continue
                except (OSError, BookError) as error:
                    self.problem = compose("{place} does not take recordings: {reason}", place=self.address, reason=_first(error))
                    log.info("%s waits: %r", path.name, error)
                    return False
            self.problem = ""
            return True

    def _send(self, path: Path) -> None:
        if self._store is None:
            self._store = Store(self.address)
        relative = path.relative_to(self.folder).as_posix()
        data = path.read_bytes()
        there = self._store.size_of(relative)
        if there is not None and there != len(data):
            raise OSError(compose("it has another file {name} already", name=relative))
        if there is None:
            self._store.put(relative, data)
            if self._store.size_of(relative) != len(data):
                raise OSError(compose("{name} did not arrive whole", name=relative))
        path.unlink(missing_ok=True)
        self.sent.append(f"{self.address}/{relative}")

    def _run(self) -> None:
        wait = RETRY_S[0]
        while not self._ending.wait(LOOK_S):
            if self.send_waiting():
                wait = RETRY_S[0]
            else:
                self._ending.wait(wait)
                wait = min(2 * wait, RETRY_S[1])

    def __enter__(self) -> SegmentSender:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def waiting_folder(address: str) -> Path:
    """Folder of the recordings that are to be sent to an address."""
    return below_cache("waiting", address)


_senders: dict[str, SegmentSender] = {}
_senders_lock = threading.Lock()


def sender(address: str) -> SegmentSender:
    """The process's one sender to an address, at work."""
    with _senders_lock:
        if address not in _senders:
            _senders[address] = SegmentSender(address).start()
        return _senders[address]


def _first(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
