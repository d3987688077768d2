"""Ledgers for tests: honest ones, and what somebody could make of them who knows the format."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.market.book import BookRows, FloatArray
from core.market.grid import Confirmed, Gap, Row
from core.market.ledger.chain import (
    HEADER,
    JOURNAL,
    PREDICTION,
    Entries,
    LedgerHeader,
    chained,
    entry_type,
    hashed_sizes,
    pieces,
    read_header,
    read_journal,
    segment,
    segment_files,
)
from core.market.ledger.verification import Verification, known_predictors, verify
from core.market.ledger.writer import LedgerItem, LedgerWriter
from core.market.predictor import Predictor, identity, windows_of
from core.market.store.segments import HOUR_MS, write_table

MARKET = "live/testville/ABC/USDT"
NAME = "testville-ABC-USDT"
DAYS = ("2023-11-14", "2023-11-15", "2023-11-16")
NOON_MS = 1_699_963_200_000
"""2023-11-14 12:00 UTC."""


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """A row that nothing has confirmed yet, and what was predicted there."""

    timestamp: int
    levels: FloatArray
    probabilities: NDArray[np.float32] | None = None
    calls: NDArray[np.int8] | None = None


def items(lines: Iterable[LedgerRow | int | None]) -> Iterator[LedgerItem]:
    """Rows, the time up to which they are confirmed, and gaps (None), as a writer takes them."""
    for line in lines:
        if isinstance(line, LedgerRow):
            answer = None if line.probabilities is None or line.calls is None else (line.probabilities, line.calls)
            yield Row(line.timestamp, line.levels, provisional=True), answer
        else:
            yield Gap() if line is None else Confirmed(line), None


def writer_for(root: Path, predictor: Predictor, **options: Any) -> LedgerWriter:
    header = LedgerHeader(market=MARKET, heads=predictor.heads, window=predictor.window, model=identity(predictor.card))
    return LedgerWriter(root, header, **options)


def steps(rows: BookRows, predictor: Predictor, market: str = MARKET) -> list[LedgerRow]:
    """Every row, with a prediction from the first whole window on."""
    window = predictor.window
    ends = np.arange(window - 1, len(rows))
    answer = predictor.predict(windows_of(rows.levels, ends, window), predictor.market(market))
    lines = [LedgerRow(timestamp=int(rows.timestamps[i]), levels=rows.levels[i]) for i in range(window - 1)]
    return lines + [
        LedgerRow(
            timestamp=int(rows.timestamps[end]),
            levels=rows.levels[end],
            probabilities=answer.probabilities[i],
            calls=answer.calls[i],
        )
        for i, end in enumerate(ends)
    ]


def write_all(
    root: Path, lines: Iterable[LedgerRow | None], predictor: Predictor, *, after_ms: int = 20, **options: Any
) -> LedgerWriter:
    """A ledger of these steps, each written `after_ms` after its row, which is confirmed by then; None is a gap."""
    now = [0]

    def told() -> Iterator[LedgerRow | int | None]:
        for step in lines:
            if step is not None:
                now[0] = step.timestamp + after_ms
                yield step.timestamp
            yield step

    with writer_for(root, predictor, clock_ms=lambda: now[0], **options) as writer:
        writer.write(items(told()))
    return writer


def three_days(predictor: Predictor, rows: BookRows, market: str = MARKET) -> list[LedgerRow | None]:
    """Steps about noon of 14, 15 and 16 November 2023, a third of the rows each, with gaps between."""
    lines: list[LedgerRow | None] = []
    for day, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        times = NOON_MS + 86_400_000 * day + 250 * np.arange(len(part))
        lines += [*steps(BookRows(timestamps=times, levels=rows.levels[part]), predictor, market), None]
    return lines


_known = cache(known_predictors)  # so that a folder's checkpoints are loaded once


def checked(ledger: Path, checkpoints: Path, *heads: str, hours: int | None = None) -> Verification:
    return verify(ledger, _known(checkpoints), heads=heads, hours=hours)


def entries_of(folder: Path) -> Entries:
    """All entries of a market's folder, in the order of the chain."""
    heads = read_header(folder).heads
    sealed = [piece.entries for piece in pieces(folder, segment_files(folder)[0], heads)]
    journal = read_journal(folder, len(heads)).entries
    return np.concatenate([np.zeros(0, entry_type(len(heads))), *sealed, journal])


def rehashed(entries: Entries, header: LedgerHeader) -> Entries:
    """The entries numbered and chained anew, as somebody does who can write the files."""
    entries, head = entries.copy(), header.genesis
    entries["index"] = np.arange(len(entries))
    entries["predictions"] = np.cumsum(entries["kind"] == PREDICTION)
    entries["previous"] = 0
    sizes = hashed_sizes(entries.dtype)
    for i in range(len(entries)):
        head = chained(head, entries[i].tobytes()[: sizes[entries["kind"][i]]])
        entries["hash"][i] = np.frombuffer(head, np.uint8)
    return entries


def written(folder: Path, header: LedgerHeader, entries: Entries) -> str:
    """A market's folder that holds these entries and nothing else; returns the newest head."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / HEADER).write_text(header.to_json())
    hours, previous = entries["timestamp"] // HOUR_MS, header.genesis
    for part in np.split(entries, np.flatnonzero(np.diff(hours)) + 1):
        for path, table in segment(folder, header.heads, part.copy(), previous, int(entries["confirmed_ms"].max())):
            write_table(path, table)
        previous = part["hash"][-1].tobytes()
    (folder / JOURNAL).write_bytes(previous)
    return previous.hex()


def forged(
    ledger: Path, change: Callable[[Entries], Entries | None] = lambda entries: None, *, naming: tuple[str, str] | None = None
) -> str:
    """The ledger with its entries changed and everything hashed again; returns the forger's head.

    Args:
        naming: other weights and another card for its header.
    """
    folder = ledger / NAME
    header, entries = read_header(folder), entries_of(folder).copy()
    if naming is not None:
        header = replace(header, model=naming)
    changed = change(entries)
    return written(folder, header, rehashed(entries if changed is None else changed, header))


def predictions(entries: Entries) -> np.ndarray:
    """Where the predictions are."""
    return np.flatnonzero(entries["kind"] == PREDICTION)


def reasons(result: Verification) -> str:
    """All that is missing for `verified`."""
    return "; ".join(f"{market} {why}" for market, why in result.reasons())


def why(result: Verification) -> str:
    """What is wrong with a broken ledger."""
    assert result.state == "broken" and result.difference is not None
    return result.difference.why


def files(ledger: Path) -> list[Path]:
    """Its files of rows, in time order."""
    return sorted((ledger / NAME).rglob("rows_*.parquet"))
