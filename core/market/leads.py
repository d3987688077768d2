"""Leads of a checkpoint in a market: how it stands beside the naive rules since its journal there began (D43, D44).

They lie at the end of each hour's file of calls: what the journal began with, and what it has added since.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    own = [none if one is None else Lead.from_dict(one) for one in told["own"]]
    before = [Lead.from_dict(one) for one in told["before"]] or [none] * len(own)
    if any(one.totals.shape != none.totals.shape or one.squares.shape != none.squares.shape for one in (*own, *before)):
        raise ValueError("these leads are over other rules")
    return before, own


def leads_here(market: Path, by: CalledBy, until_ms: int) -> list[Lead]:
    """Leads of each head in a market's folder of the library, by the newest hour before a time that it called.

    Returns:
        Nothing where it has called nothing there.
    """
    hours = [path for path in market.rglob("rows_*.parquet") if is_segment(path)]
    for path in sorted(hours, key=lambda path: int(path.stem.split("_")[1]), reverse=True):
        calls = segment_path(path, CALLS)
        with suppress(OSError, pa.ArrowException, BookError, KeyError, TypeError, ValueError):
            rows = footer_summary(pq.read_metadata(path))
            told = read_leads(calls) if rows is not None and rows.end_ms < until_ms and calls.exists() else None
            if told is not None and CalledBy.from_dict(told["by"]) == by:
                return [before + own for before, own in zip(*leads_of(told), strict=True)]
    return []
