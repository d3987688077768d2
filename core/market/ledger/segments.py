"""The ledger on disk: Parquet segments of rows and of predictions, each written whole, and the journal of the open hour."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import FILE_COLUMNS, BookRows, FloatArray
from core.market.labels import Head
from core.market.ledger.records import HEADER, LedgerError, LedgerHeader, PredictionRecord, prediction_columns
from core.market.whole_files import write_table
from core.messages import compose

HOUR_MS = 3_600_000
META = b"attention_observatory"


@dataclass(frozen=True, kw_only=True)
class JournalLine:
    """A row of the book, and the prediction on the window that ends with it, if there is one, with its hash.

    A line without `levels` says that the rows from `timestamp` on were never confirmed (D27): they are no rows, but the
    predictions on them stay in the chain.
    """

    timestamp: int
    levels: FloatArray | None
    record: PredictionRecord | None = None
    hash: str | None = None

    def to_json(self) -> bytes:
        """One line of the journal, newline included."""
        if self.levels is None:
            return json.dumps({"lost": self.timestamp}).encode() + b"\n"
        line: dict[str, Any] = {"t": self.timestamp, "levels": self.levels.tolist()}
        if self.record is not None:
            r = self.record
            line |= {
                "index": r.index,
                "written": r.written_ms,
                "late": r.late,
                "weights": r.weights,
                "card": r.card,
                "window": r.window,
                "p": r.probabilities.astype(np.float64).ravel().tolist(),
                "calls": r.calls.tolist(),
                "hash": self.hash,
            }
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, line: bytes) -> JournalLine:
        """The inverse of `to_json`.

        Raises:
            ValueError: for anything else.
        """
        values = json.loads(line)
        try:
            if "lost" in values:
                return cls(timestamp=int(values["lost"]), levels=None)
            levels = np.array(values["levels"], dtype=np.float64)
            if levels.shape != (len(FILE_COLUMNS),):
                raise ValueError(f"a row has {levels.size} values: {len(FILE_COLUMNS)} are right")
            record, digest = None, None
            if "index" in values:
                record = PredictionRecord(
                    index=int(values["index"]),
                    timestamp=int(values["t"]),
                    written_ms=int(values["written"]),
                    late=bool(values["late"]),
                    weights=str(values["weights"]),
                    card=str(values["card"]),
                    window=str(values["window"]),
                    probabilities=np.array(values["p"], dtype=np.float32).reshape(-1, 3),
                    calls=np.array(values["calls"], dtype=np.int8),
                )
                digest = str(values["hash"])
            return cls(timestamp=int(values["t"]), levels=levels, record=record, hash=digest)
        except (KeyError, TypeError) as error:
            raise ValueError(f"a line of the journal lacks {error}") from error


def confirmed_rows(lines: Sequence[JournalLine]) -> BookRows:
    """The rows of these lines that were not lost again, in time order."""
    kept: list[JournalLine] = []
    for line in lines:
        if line.levels is None:
            kept = [other for other in kept if other.timestamp < line.timestamp]
        else:
            kept.append(line)
    timestamps = np.array([line.timestamp for line in kept], dtype=np.int64)
    levels = [line.levels for line in kept if line.levels is not None]
    return BookRows(timestamps=timestamps, levels=np.stack(levels) if levels else np.zeros((0, len(FILE_COLUMNS))))


def read_journal(path: Path) -> tuple[list[JournalLine], int]:
    """The whole lines of a journal, and the bytes of the broken tail after them (0 where there is none)."""
    if not path.exists():
        return [], 0
    data = path.read_bytes()
    lines: list[JournalLine] = []
    end = 0
    while (newline := data.find(b"\n", end)) >= 0:
        try:
            lines.append(JournalLine.from_json(data[end : newline + 1]))
        except ValueError:
            break
        end = newline + 1
    return lines, len(data) - end


def hour_folder(folder: Path, timestamp: int) -> Path:
    """`<folder>/<day>/<hour>` of a row, UTC."""
    return folder / datetime.fromtimestamp(timestamp / 1e3, UTC).strftime("%Y-%m-%d/%H")


def write_segment(folder: Path, heads: Sequence[Head], lines: Sequence[JournalLine], previous: str) -> None:
    """One hour's lines as a file of rows and, where there are any, a file of predictions.

    Args:
        previous: the hash before the first prediction here; it stands in the file's metadata beside the last hash.
    """
    rows = confirmed_rows(lines)
    where = hour_folder(folder, lines[0].timestamp)
    where.mkdir(parents=True, exist_ok=True)
    predicted = [line for line in lines if line.record is not None]
    # Predictions first: a segment whose rows are there is complete.
    if predicted:
        table = _predictions_table(heads, predicted, previous)
        write_table(where / f"predictions_{predicted[0].record.index:012d}.parquet", table)  # type: ignore[union-attr]
    if len(rows):
        columns = [pa.array(rows.timestamps), *(pa.array(column) for column in rows.levels.T.copy())]
        table = pa.Table.from_arrays(columns, names=["timestamp", *FILE_COLUMNS])
        write_table(where / f"rows_{rows.timestamps[0]}.parquet", table)


def _predictions_table(heads: Sequence[Head], lines: Sequence[JournalLine], previous: str) -> pa.Table:
    records = [line.record for line in lines if line.record is not None]
    columns: dict[str, Any] = {
        "index": pa.array([r.index for r in records], pa.int64()),
        "timestamp": pa.array([r.timestamp for r in records], pa.int64()),
        "written_ms": pa.array([r.written_ms for r in records], pa.int64()),
        "late": pa.array([r.late for r in records], pa.bool_()),
        "weights": pa.array([r.weights for r in records], pa.string()),
        "card": pa.array([r.card for r in records], pa.string()),
        "window": pa.array([r.window for r in records], pa.string()),
    }
    probabilities = np.stack([r.probabilities for r in records])
    calls = np.stack([r.calls for r in records])
    for i, (*names, call) in enumerate(prediction_columns(heads)):
        columns |= {name: pa.array(probabilities[:, i, k].copy()) for k, name in enumerate(names)}
        columns[call] = pa.array(calls[:, i].copy())
    columns["hash"] = pa.array([line.hash for line in lines], pa.string())
    about = {"previous": previous, "head": lines[-1].hash, "first": records[0].index, "count": len(records)}
    return pa.table(columns).replace_schema_metadata({META: json.dumps(about).encode()})


def prediction_files(folder: Path) -> list[Path]:
    """Files of predictions of a market's folder, in the order of the chain."""
    return sorted(folder.glob("*/*/predictions_*.parquet"), key=lambda path: path.name)


def row_files(folder: Path) -> list[Path]:
    """Files of rows of a market's folder, in time order."""
    return sorted(folder.glob("*/*/rows_*.parquet"), key=lambda path: int(path.stem.split("_")[1]))


def read_predictions(path: Path, heads: Sequence[Head]) -> tuple[dict[str, Any], list[tuple[PredictionRecord, str]]]:
    """A file of predictions: what its metadata says, and its records with the hashes written beside them.

    Raises:
        LedgerError: where the file is damaged or is no segment of this ledger.
    """
    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[META])
        columns = {name: table.column(name).to_pylist() for name in ("index", "timestamp", "written_ms", "late")}
        texts = {name: table.column(name).to_pylist() for name in ("weights", "card", "window", "hash")}
        names = prediction_columns(heads)
        p = np.stack([np.stack([table.column(n).to_numpy() for n in three], axis=1) for *three, _ in names], axis=1)
        calls = np.stack([table.column(call).to_numpy() for *_, call in names], axis=1)
        records = [
            PredictionRecord(
                index=columns["index"][i],
                timestamp=columns["timestamp"][i],
                written_ms=columns["written_ms"][i],
                late=columns["late"][i],
                weights=texts["weights"][i],
                card=texts["card"][i],
                window=texts["window"][i],
                probabilities=p[i].astype(np.float32),
                calls=calls[i].astype(np.int8),
            )
            for i in range(table.num_rows)
        ]
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise LedgerError(
            compose("{name} is not a readable segment of predictions: {reason}", name=path.name, reason=why)
        ) from error
    return about, list(zip(records, texts["hash"], strict=True))


def read_header(folder: Path) -> LedgerHeader:
    """The header of a market's folder.

    Raises:
        LedgerError: where there is none, or it is damaged.
    """
    path = folder / HEADER
    try:
        return LedgerHeader.from_json(path.read_text(encoding="utf-8"), name=f"{folder.name}/{HEADER}")
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise LedgerError(
            compose("{name} has no readable {file}: it is not a market of a ledger", name=folder.name, file=HEADER)
        ) from error
