"""The calls beside a recording's rows: what a checkpoint said of each, written before the outcome is known (D28).

In a journal a line is a row's; in an hour's file it is that of a row and a head, and says what called.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.market.book import BookError, reading
from core.market.labels import LABEL_KINDS, Head
from core.models.classes import BOOK as CLASSES

LINE: Final = pa.schema(
    [
        *((name, pa.int64()) for name in ("timestamp", "written", "known")),
        *((name, pa.list_(pa.float32())) for name in ("raw", "recalibrated")),
        ("calls", pa.list_(pa.int8())),
        ("vwap", pa.int8()),
    ]
)
"""A journal's line: the row's time, when it was written, and up to which row the recalibration knew outcomes, milliseconds; for
each head the probabilities as the checkpoint gave them, recalibrated, and the class called; and the class that the rule of the
mean traded price calls, since trades do not say after which row they came, None by versions before December 2026."""
LEAD: Final = pa.schema([("timestamp", pa.int64()), ("head", pa.int64()), ("before", pa.bool_()), ("lead", pa.string())])
"""A head's lead over the naive rules, as JSON: before the journal began, or since then, from the row of that time on (D44)."""
LEADS_KEY: Final = b"attention_observatory_leads"
"""Metadata key of a file of calls, under which the leads at its end lie as JSON."""
PROBABILITIES: Final = tuple(f"{kind}_{name.lower()}" for kind in ("raw", "recalibrated") for name in CLASSES)
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
CALLS: Final = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("head", _NAME),
        *((name, pa.float32()) for name in PROBABILITIES),
        ("call", _NAME),
        *((name, _NAME) for name in ("weights", "card", "entry")),
        ("written", pa.int64()),
        ("known", pa.int64()),
        ("vwap", pa.int8()),
    ]
)
"""Columns of an hour's file; see `LINE` and `CalledBy`. `vwap` lacks in files of versions before December 2026."""


@dataclass(frozen=True, kw_only=True)
class CalledBy:
    """Identity of what called.

    Attributes:
        weights, card: SHA-256 of a checkpoint's weights, and of the entries of its card by which it predicts
            (`core.market.predictor.identity`). entry: the card's for the market. heads: in the order of a journal's line.
    """

    weights: str
    card: str
    entry: str
    heads: tuple[Head, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON's object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From JSON.

        Raises:
            KeyError, TypeError, ValueError: where it is no such object.
        """
        heads = tuple((kind, int(steps)) for kind, steps in values["heads"])
        return cls(heads=heads, **{name: str(values[name]) for name in ("weights", "card", "entry")})


def code_of(head: Head) -> str:
    """A head as files name it: "forward_50"."""
    return f"{head[0]}_{head[1]}"


def head_of(code: str) -> Head | None:
    """The head of such a name; None where it is none."""
    kind = next((one for one in LABEL_KINDS if code.startswith(f"{one}_")), None)
    steps = code.rpartition("_")[2]
    return (kind, int(steps)) if kind is not None and code == f"{kind}_{steps}" and steps.isdecimal() and int(steps) else None


def calls_table(lines: pa.Table, rows: NDArray[np.int64], by: CalledBy) -> pa.Table:
    """An hour's file of a journal's lines: those of the rows that were confirmed (D27), a line a head.

    Args:
        rows: (n,) times of the hour's rows.
    """
    heads = len(by.heads)
    widths = {"raw": 3 * heads, "recalibrated": 3 * heads, "calls": heads}
    whole = np.isin(lines["timestamp"].to_numpy(), rows)
    for name, width in widths.items():
        whole &= lines[name].combine_chunks().value_lengths().to_numpy(zero_copy_only=False) == width
    lines = lines.filter(pa.array(whole))
    values = [lines[name].combine_chunks().flatten().to_numpy(zero_copy_only=False) for name in widths]
    each = np.repeat(np.arange(len(lines)), heads)
    columns: dict[str, Any] = {name: lines[name].take(each) for name in ("timestamp", "written", "known", "vwap")}
    columns |= dict(zip(PROBABILITIES, np.concatenate([one.reshape(-1, 3) for one in values[:2]], axis=1).T, strict=True))
    columns["head"] = _named(np.tile(np.arange(heads, dtype=np.int32), len(lines)), [code_of(head) for head in by.heads])
    columns["call"] = _named(values[2].astype(np.int32), CLASSES)
    same = np.zeros(heads * len(lines), np.int32)
    columns |= {name: _named(same, [getattr(by, name)]) for name in ("weights", "card", "entry")}
    return pa.table(columns, schema=CALLS)


def with_leads(calls: pa.Table, by: CalledBy, leads: pa.Table) -> pa.Table:
    """An hour's file with the newest of its leads (`LEAD`) in its metadata."""
    newest = {(one["before"], one["head"]): json.loads(one["lead"]) for one in leads.to_pylist()}
    before, own = ([newest.get((is_before, head)) for head in range(len(by.heads))] for is_before in (True, False))
    return calls.replace_schema_metadata({LEADS_KEY: json.dumps({"by": by.to_dict(), "before": before, "own": own})})


def read_leads(path: Path) -> dict[str, Any] | None:
    """The leads at the end of a file of calls.

    Returns:
        What calls, as `CalledBy.to_dict` gives it, in `by`; the lead of each head, as JSON's objects, `before` its journal began,
        and its `own` since then, None where there is none yet. None where the file has no leads.

    Raises:
        BookError: where it cannot be read.
    """
    with reading(path):
        metadata = pq.read_metadata(path).metadata or {}
    try:
        stored = json.loads(metadata[LEADS_KEY])
        return {name: stored[name] for name in ("by", "before", "own")}
    except (KeyError, TypeError, ValueError):
        return None


def _named(which: NDArray[np.int32], names: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(which), pa.array(list(names)))


def read_calls(path: Path) -> pa.Table:
    """A file of calls.

    Raises:
        BookError: where it cannot be read, or lacks a column.
    """
    with reading(path):
        table = pq.read_table(path)
        if "vwap" not in table.column_names:
            table = table.append_column("vwap", pa.nulls(len(table), pa.int8()))
        table = table.select(CALLS.names).cast(CALLS)
        if any(table[name].null_count for name in table.column_names if name not in (*PROBABILITIES, "vwap")):
            raise BookError("{name} lacks a value: a call has its time, head, class and what called", name=path.name)
        return table
