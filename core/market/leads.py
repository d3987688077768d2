"""Leads of a checkpoint in a market: how it stands beside the naive rules since its journal there began (D43, D44).

They lie at the end of each hour's file of calls: what the journal began with, and what it has added since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.market.answers.ahead import Lead
from core.market.answers.one_answer import RIVALS
from core.market.book import BookError
from core.market.store.call_columns import CalledBy, read_leads
from core.market.store.segments import CALLS, is_segment, segment_path
from core.market.store.writer import footer_summary


def leads_of(told: Mapping[str, Any]) -> tuple[list[Lead], list[Lead]]:
    """Leads of each head, before a journal began and since then.

    Args:
        told: by `read_leads`.

    Raises:
        KeyError, TypeError, ValueError: where it does not hold them.
    """
    none = Lead.none(len(RIVALS))
    before, own = ([none if one is None else Lead.from_dict(one) for one in told[name]] for name in ("before", "own"))
    if any(one.totals.shape != none.totals.shape or one.squares.shape != none.squares.shape for one in (*own, *before)):
        raise ValueError("these leads are over other rules")
    return before, own


def earlier_leads(market: Path, by: CalledBy, until_ms: int) -> Iterator[list[Lead]]:
    """Yields the leads of each head at the end of each hour before a time that it called, the newest first.

    Args:
        market: its folder in the library.
    """
    hours = [path for path in market.rglob("rows_*.parquet") if is_segment(path)]
    for path in sorted(hours, key=lambda path: int(path.stem.split("_")[1]), reverse=True):
        calls = segment_path(path, CALLS)
        with suppress(OSError, pa.ArrowException, BookError, KeyError, TypeError, ValueError):
            told = read_leads(calls) if calls.exists() else None
            rows = None if told is None else footer_summary(pq.read_metadata(path))
            if told is not None and rows is not None and rows.end_ms < until_ms and CalledBy.from_dict(told["by"]) == by:
                yield [before + own for before, own in zip(*leads_of(told), strict=True)]


def leads_here(market: Path, by: CalledBy, until_ms: int) -> list[Lead]:
    """Leads of each head that go on in a market: those of its newest hour; nothing where it has called nothing there."""
    return next(earlier_leads(market, by, until_ms), [])
