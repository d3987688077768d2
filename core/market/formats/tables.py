"""Formats of one whole book a line: the program's own, tardis.dev's `book_snapshot_25`, and Kaggle's BTC_1sec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.market.book import DEEP_COLUMNS, FILE_COLUMNS
from core.market.formats.csv_lines import NumberLines, number_lines
from core.market.formats.protocol import BATCH, BookBatch, FormatError, RowProblem, first_line
from core.market.store.index import market_of
from core.messages import Message, compose


class OwnFormat:
    """Rows as this program writes them, Parquet or CSV (docs/architecture.md, "Contracts")."""

    key, name = "own", "Attention Observatory"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        return len(files) == 1 and {"timestamp", "ask_price_1", "bid_price_1"} <= set(_columns(_only(files)))

    def market(self, files: Mapping[str, Path]) -> str:
        return market_of(Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        path = _only(files)
        there = _columns(path)
        deep = next((i for i in range(0, len(DEEP_COLUMNS), 4) if not set(DEEP_COLUMNS[i : i + 4]) <= set(there)), None)
        columns = ["timestamp", *FILE_COLUMNS, *DEEP_COLUMNS[:deep]]
        if missing := [name for name in columns if name not in there]:
            raise FormatError(compose("{file} lacks the column {column}", file=path.name, column=missing[0]))
        for part in _parquet_lines(path, columns) if _is_parquet(path) else number_lines(path, columns, empty=True):
            whole = np.isfinite(part.values[:, 0]) & (part.values[:, 0] % 1 == 0)
            what = compose("has no whole number of milliseconds in column timestamp")
            problems = [*part.problems, *(RowProblem(row=int(row), what=what) for row in part.lines[~whole])]
            yield _book_batch(part, part.values[:, 0], part.values[:, 1:], whole, problems)


class TardisFormat:
    """tardis.dev's CSV of 25 levels a side, packed or not; `local_timestamp`, microseconds UTC, is a book's time.

    Source: docs.tardis.dev, "Downloadable CSV files", data type book_snapshot_25.
    """

    key, name = "tardis", "tardis.dev book_snapshot_25"
    remark: Message | str = ""

    def recognises(self, files: Mapping[str, Path]) -> bool:
        names = set(first_line(_only(files)).split(",")) if len(files) == 1 else set()
        return {"local_timestamp", "asks[0].price", "bids[0].amount"} <= names

    def market(self, files: Mapping[str, Path]) -> str:
        from core.market.formats.protocol import head

        lines = head(_only(files)).decode("utf-8", "replace").splitlines()
        names = lines[0].split(",") if lines else []
        cells = lines[1].split(",") if len(lines) > 1 else []
        return cells[names.index("symbol")] if "symbol" in names and len(cells) == len(names) else ""

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        path = _only(files)
        names = first_line(path).split(",")
        levels = 0
        while {f"asks[{levels}].price", f"bids[{levels}].price"} <= set(names):
            levels += 1
        columns = ["local_timestamp"]
        for level in range(levels):
            columns += [f"{side}[{level}].{what}" for side in ("asks", "bids") for what in ("price", "amount")]
        for part in number_lines(path, columns, empty=True):
            known = np.isfinite(part.values[:, 0])
            problems = [*part.problems, *(_no_time(int(row), "local_timestamp") for row in part.lines[~known])]
            yield _book_batch(part, np.ceil(part.values[:, 0] / 1e3), part.values[:, 1:], known, problems)


KAGGLE_LEVELS: Final = 15


class KaggleFormat:
    """Kaggle's "High frequency crypto limit order book data" (martinsn), BTC_1sec.csv and the like: one book a second.

    A level is given by its distance from the midpoint as a fraction of it, and its size in quote currency.
    """

    key, name = "kaggle", "Kaggle BTC_1sec"
    remark: Message | str = compose(
        "Prices are midpoint times one plus distance, and sizes are amounts of quote currency divided by the price."
    )

    def recognises(self, files: Mapping[str, Path]) -> bool:
        names = set(first_line(_only(files)).split(",")) if len(files) == 1 else set()
        return {"system_time", "midpoint", "asks_distance_0", "bids_notional_0"} <= names

    def market(self, files: Mapping[str, Path]) -> str:
        return re.sub(r"_(1sec|1min|5min).*", "", Path(next(iter(files))).stem)

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        columns = ["system_time", "midpoint"]
        for level in range(KAGGLE_LEVELS):
            columns += [f"{side}_{what}_{level}" for side in ("asks", "bids") for what in ("distance", "notional")]
        for part in number_lines(_only(files), columns, times=("system_time",)):
            mid, given = part.values[:, 1:2], part.values[:, 2:]
            values = np.empty_like(given)
            values[:, 0::2] = mid * (1 + given[:, 0::2])
            with np.errstate(divide="ignore", invalid="ignore"):
                values[:, 1::2] = given[:, 1::2] / values[:, 0::2]
            every = np.ones(len(values), dtype=bool)
            yield _book_batch(part, np.ceil(part.values[:, 0] / 1e3), values, every, part.problems)


def _only(files: Mapping[str, Path]) -> Path:
    return next(iter(files.values()))


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _columns(path: Path) -> list[str]:
    if not _is_parquet(path):
        return [name.strip('"') for name in first_line(path).split(",")]
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return []


def _parquet_lines(path: Path, columns: list[str]) -> Iterator[NumberLines]:
    """A Parquet file's rows, counted from 1."""
    try:
        with pq.ParquetFile(path) as file:
            before, total = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(BATCH, columns=columns):
                table = pa.Table.from_batches([batch]).to_pandas()
                values = table[columns].to_numpy(dtype=np.float64, na_value=np.nan)
                lines = np.arange(before + 1, before + 1 + len(values))
                before += len(values)
                yield NumberLines(lines=lines, values=values, problems=[], done=before / total)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise FormatError(compose("{file} cannot be read: {reason}", file=path.name, reason=why)) from error


def _no_time(row: int, column: str) -> RowProblem:
    return RowProblem(row=row, what=compose("has no number in column {column}", column=column))


def _book_batch(
    part: NumberLines, times: np.ndarray, values: np.ndarray, good: np.ndarray, problems: list[RowProblem]
) -> BookBatch:
    return BookBatch(
        timestamps=times[good].astype(np.int64),
        values=values[good],
        rows=part.lines[good],
        problems=problems,
        done=part.done,
    )
