"""A session's ledger: opened with the first row, and never a reason for the session to stop."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from core.checkpoints import FOLDER, sha256
from core.market.ledger.records import LedgerError, LedgerHeader
from core.market.ledger.writer import SIZE_LIMIT, LedgerRow, LedgerWriter
from core.market.predictor import Predictor
from core.messages import Message, compose

FOLDER_VARIABLE = "OBSERVATORY_LEDGER"
"""Environment variable: the ledger's folder, or "off"."""
LIMIT_VARIABLE = "OBSERVATORY_LEDGER_LIMIT"
"""Environment variable: GiB the ledger may take."""
DEFAULT_FOLDER = Path("recordings") / "ledger"

log = logging.getLogger(__name__)


def ledger_folder() -> Path | None:
    """Where ledgers go by the environment; None where they are switched off."""
    wanted = os.environ.get(FOLDER_VARIABLE, "").strip()
    return None if wanted.lower() == "off" else Path(wanted) if wanted else DEFAULT_FOLDER


def size_limit() -> int:
    """Bytes that all ledgers may take, by the environment."""
    try:
        return int(float(os.environ[LIMIT_VARIABLE]) * 2**30)
    except (KeyError, ValueError, OverflowError):
        return SIZE_LIMIT


LedgerItem = LedgerRow | int | None
"""A row; the time up to which rows are confirmed (D27), milliseconds; or a gap, which loses the rows not confirmed by then."""


class LedgerKeeper:
    """Writes one session's rows and predictions, for as long as the disk allows it. `close` may be called from another thread.

    Args:
        root: the ledger's folder.
        market: the feed's key.
        predictor: whose checkpoint files are named by their hashes.
        checkpoints: folder of those files.

    Attributes:
        head: the newest hash, the one to publish; None before the first prediction.
        count: predictions in this market's chain.
        problem: why nothing is written any more; None while all is well.
    """

    def __init__(self, root: Path, market: str, predictor: Predictor, *, checkpoints: Path = FOLDER) -> None:
        self._root, self._predictor = root, predictor
        self._header = LedgerHeader(market=market, heads=predictor.heads, window=predictor.window)
        name = str(predictor.card["name"])
        self._files = (checkpoints / f"{name}.safetensors", checkpoints / f"{name}.json")
        self._lock = threading.Lock()
        self._writer: LedgerWriter | None = None
        self._unconfirmed: deque[int] = deque()  # timestamps of rows written but not confirmed, rising
        self._confirmed_ms = 0
        self.head: str | None = None
        self.count = 0
        self.problem: Message | None = None

    def take(self, items: Iterable[LedgerItem]) -> None:
        """Write down what a session has processed, in its order; a failure is kept in `problem`, and ends the writing."""
        with self._lock:
            rows: list[LedgerRow] = []
            try:
                for item in items:
                    if isinstance(item, LedgerRow):
                        rows.append(item)
                    elif item is None:
                        self._write(rows)
                        rows = []
                        self._lose_unconfirmed()
                    else:
                        self._confirm(item)
                self._write(rows)
            except (LedgerError, OSError) as error:
                self._give_up(error)

    def _write(self, rows: list[LedgerRow]) -> None:
        if self.problem is not None or not rows:
            return
        if self._writer is None:
            self._writer = self._open()
        self._writer.write(rows)
        self.head, self.count = self._writer.head, self._writer.count
        self._unconfirmed.extend(row.timestamp for row in rows if row.timestamp > self._confirmed_ms)

    def _confirm(self, until_ms: int) -> None:
        self._confirmed_ms = until_ms
        while self._unconfirmed and self._unconfirmed[0] <= until_ms:
            self._unconfirmed.popleft()

    def _lose_unconfirmed(self) -> None:
        if self._unconfirmed and self._writer is not None and self.problem is None:
            self._writer.lose(self._unconfirmed[0])
        self._unconfirmed.clear()

    def close(self) -> None:
        """Seal what is open. A later `write` continues the chain."""
        with self._lock:
            if self._writer is not None and self.problem is None:
                try:
                    self._writer.close()
                except OSError as error:
                    self._give_up(error)
            self._writer = None

    def _open(self) -> LedgerWriter:
        if self._root.parts[:1] and self._root.parts[0].endswith(":"):  # a store's URL: it cannot append, nor hold a lock
            raise LedgerError(
                compose(
                    "{folder} is no folder of this machine: a ledger is written line by line, name a folder", folder=self._root
                )
            )
        weights, card = (sha256(path) for path in self._files)
        return LedgerWriter(self._root, self._header, weights=weights, card=card, size_limit=size_limit())

    def _give_up(self, error: Exception) -> None:
        log.warning("the ledger of %s stops: %s", self._header.market, error)
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = compose("Predictions are not written down any more: {reason}.", reason=why)
