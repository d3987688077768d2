"""Leads of a checkpoint in a market: how it stands beside the naive rules since its journal there began (D43, D44).

They lie at the end of each hour's file of calls: what the journal began with, and what it has added since.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.market.answers.ahead import Lead
from core.market.answers.one_answer import RIVALS
from core.market.book import BookError
from core.market.labels import Head
from core.market.store.call_columns import CalledBy, read_leads
from core.market.store.segments import CALLS, is_segment, segment_path
from core.market.store.writer import footer_summary


def leads_of(stored: Mapping[str, Any]) -> tuple[list[Lead], list[Lead]]:
    """Leads of each head, before a journal began and since then.

    Args:
        stored: by `read_leads`.

    Raises:
        KeyError, TypeError, ValueError: where it does not hold them.
    """
    none = Lead.none(len(RIVALS))
    before, own = ([none if one is None else Lead.from_dict(one) for one in stored[name]] for name in ("before", "own"))
    if any(one.totals.shape != none.totals.shape or one.squares.shape != none.squares.shape for one in (*own, *before)):
        raise ValueError("these leads are over other rules")
    return before, own


def earlier_leads(market: Path, by: CalledBy, until_ms: int) -> Iterator[list[Lead]]:
    """Yields the leads of each head at the end of each hour before a time that it called, the newest first.

    Args:
        market: its folder in the library.
    """
    for path in _newest_first(market.rglob("rows_*.parquet")):
        found = _at_end(path)
        if found is not None and found[0] == by:
            with suppress(OSError, pa.ArrowException):
                rows = footer_summary(pq.read_metadata(path))
                if rows is not None and rows.end_ms < until_ms:
                    yield found[1]


def leads_here(market: Path, by: CalledBy, until_ms: int) -> list[Lead]:
    """Leads of each head that go on in a market: those of its newest hour; nothing where it has called nothing there."""
    return next(earlier_leads(market, by, until_ms), [])


def lead_at_end(files: Iterable[Path], head: Head) -> Lead | None:
    """Returns the lead of a head at the end of files of rows, with all that their journal knew before; None without one."""
    called = next((path for path in _newest_first(files) if segment_path(path, CALLS).exists()), None)
    found = None if called is None else _at_end(called)
    return found[1][found[0].heads.index(head)] if found is not None and head in found[0].heads else None


def _newest_first(files: Iterable[Path]) -> list[Path]:
    """Hours among files of rows."""
    return sorted(filter(is_segment, files), key=lambda path: int(path.stem.split("_")[1]), reverse=True)


def _at_end(rows: Path) -> tuple[CalledBy, list[Lead]] | None:
    """Caller of an hour, and the leads of its heads at its end; None where it has none that can be read."""
    with suppress(OSError, BookError, KeyError, TypeError, ValueError):
        return _read((calls := segment_path(rows, CALLS)), calls.stat().st_mtime_ns)
    return None


@lru_cache(1_024)
def _read(calls: Path, _changed_ns: int) -> tuple[CalledBy, list[Lead]] | None:
    """Reads a file of calls once for each state of it."""
    if (stored := read_leads(calls)) is None:
        return None
    return CalledBy.from_dict(stored["by"]), [before + own for before, own in zip(*leads_of(stored), strict=True)]
