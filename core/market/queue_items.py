"""Items that a session's loop hands to its worker thread, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.market.book import LEVELS
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.ledger.writer import LedgerItem, LedgerRow
from core.market.predictor import Predictions


@dataclass(frozen=True)
class ProvisionalRow:
    """A row that is not confirmed yet, and its prediction: row `which` of `predictions`; `stalled` as by `core.market.grid`."""

    timestamp: int
    mid: float
    predictions: Predictions | None
    which: int
    spread: float
    stalled: bool


def ends_window(batch: Sequence[GridItem], lengths: Sequence[int], span: int) -> list[bool]:
    """For each item whether it is a row that ends a whole window, `lengths` and `span` as in `ledger_items`."""
    return [isinstance(item, Row) and length >= span for item, length in zip(batch, lengths, strict=True)]


def ledger_items(
    batch: Sequence[GridItem], lengths: Sequence[int], predictions: Predictions | None, *, span: int
) -> Iterator[LedgerItem]:
    """Yields the items that a ledger takes of a batch, in order.

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
