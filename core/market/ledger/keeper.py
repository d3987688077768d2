"""A session's ledger: opened with the first row, and never a reason for the session to stop."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from core.market.book import LEVELS
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.ledger.anchors import anchorer
from core.market.ledger.chain import LedgerError, LedgerHeader
from core.market.ledger.writer import SIZE_LIMIT, LedgerItem, LedgerRow, LedgerWriter
from core.market.predictor import Predictions, Predictor, identity
from core.messages import Message, compose

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
        self._header = LedgerHeader(market=market, heads=predictor.heads, window=predictor.window, model=model)
        self._lock = threading.Lock()
        self._writer: LedgerWriter | None = None
        self.head: str | None = None
        self.count = self.late = 0
        self.problem: Message | None = None

    def take(self, items: Iterable[LedgerItem]) -> None:
        """Write down what a session has processed, in its order; a failure is kept in `problem`, and ends the writing."""
        with self._lock:
            batch = list(items)
            if self.problem is not None or (self._writer is None and not any(isinstance(item, LedgerRow) for item in batch)):
                return
            try:
                self._writer = self._writer or self._open()
                self._writer.write(batch)
                self.head, self.count, self.late = self._writer.head, self._writer.count, self._writer.late
                self._anchor(self._writer)
            except (LedgerError, OSError, MemoryError) as error:
                self._give_up(error)

    def close(self) -> None:
        """Seal what is open. A later `take` continues the chain."""
        with self._lock:
            if self._writer is not None and self.problem is None:
                try:
                    self._writer.close()
                    self._anchor(self._writer, last=True)
                except (LedgerError, OSError, MemoryError) as error:
                    self._give_up(error)
            self._writer = None

    def _anchor(self, writer: LedgerWriter, *, last: bool = False) -> None:
        """Have the newest head put down elsewhere, once an hour and at the end."""
        if (anchors := anchorer()) is not None:
            anchors.note(writer.folder, self._header.market, writer.newest, last=last)

    def _open(self) -> LedgerWriter:
        if self._root.parts[:1] and self._root.parts[0].endswith(":"):  # a store's URL: it cannot append, nor hold a lock
            raise LedgerError(
                compose(
                    "{folder} is no folder of this machine: a ledger is written line by line, name a folder", folder=self._root
                )
            )
        return LedgerWriter(self._root, self._header, size_limit=size_limit())

    def _give_up(self, error: Exception) -> None:
        log.warning("the ledger of %s stops: %s", self._header.market, error)
        if self._writer is not None:
            self._writer.release()
            self._writer = None
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = compose("Predictions are not written down any more: {reason}.", reason=why)


def ledger_items(
    batch: Sequence[GridItem], lengths: Sequence[int], predictions: Predictions | None, *, span: int
) -> Iterator[LedgerItem]:
    """Yields what a ledger takes of a batch of the grid's items, in order.

    Args:
        lengths: after each item, rows since the last gap. span: rows of a window.
        predictions: of the rows that end a whole window, in order.
    """
    used = 0
    for item, length in zip(batch, lengths, strict=True):
        if isinstance(item, Gap):
            yield None
        elif isinstance(item, Confirmed):
            yield item.until_ms
        if isinstance(item, Row) and not item.provisional:
            yield item.timestamp
        if isinstance(item, Row) and predictions is not None and length >= span:
            answer = {"probabilities": predictions.probabilities[used], "calls": predictions.calls[used]}
            yield LedgerRow(timestamp=item.timestamp, levels=item.levels[: 4 * LEVELS], **answer)
            used += 1
        elif isinstance(item, Row):
            yield LedgerRow(timestamp=item.timestamp, levels=item.levels[: 4 * LEVELS])
