"""LOBSTER: an order book file and the message file of the same rows (lobsterdata.com, "Data Structure").

Prices are dollars times 10,000; a level that is empty has the price 9999999999 or -9999999999. A message has its time in seconds
after midnight in New York, its type (4 and 5 are executions), order, size, price and direction (-1: the executed order sold).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from core.market.feeds.protocol import Trade
from core.market.formats.csv_lines import number_lines
from core.market.formats.protocol import BookBatch, FormatError, RowProblem, first_line
from core.messages import Message, compose

NEW_YORK: Final = ZoneInfo("America/New_York")
DUMMY: Final = 9_999_999_999
MESSAGE_FIELDS: Final = 6
EXECUTIONS: Final = (4, 5)
HALT: Final = 7


class LobsterFormat:
    """Two files of the same number of lines; the day is in their names, as LOBSTER gives them."""

    key, name = "lobster", "LOBSTER"
    remark: Message | str = compose("The day comes from the files' names, and times are New York's.")

    def recognises(self, files: Mapping[str, Path]) -> bool:
        kinds = sorted(_kind(path) for path in files.values())
        return kinds in (["book", "messages"], ["book"], ["messages"])

    def market(self, files: Mapping[str, Path]) -> str:
        return Path(next(iter(files))).stem.split("_")[0]

    def batches(self, files: Mapping[str, Path]) -> Iterator[BookBatch]:
        kinds = {_kind(path): path for path in files.values()}
        if len(kinds) < 2:
            lacking = compose("order book") if "messages" in kinds else compose("messages")
            raise FormatError(
                compose("LOBSTER's order book comes with its messages: the file of the {what} is missing", what=lacking)
            )
        midnight = _midnight(files)
        width = len(first_line(kinds["book"]).split(","))
        last_s = 0.0
        pending: dict[int, np.ndarray] = {}
        books = number_lines(kinds["book"], width)
        bad_books: list[RowProblem] = []
        books_over = False
        for messages in number_lines(kinds["messages"], MESSAGE_FIELDS):
            problems = [
                RowProblem(row=one.row, what=compose("of the messages {what}", what=one.what)) for one in messages.problems
            ]
            need = int(messages.lines[-1]) if len(messages.lines) else 0
            while not books_over and (not pending or max(pending) < need):
                part = next(books, None)
                if part is None:
                    books_over = True
                    break
                pending |= dict(zip(part.lines.tolist(), part.values, strict=True))
                bad_books += part.problems
            problems += bad_books
            bad = {one.row for one in bad_books}
            bad_books = []
            times, values, rows, trades = list[int](), list[np.ndarray](), list[int](), list[Trade]()
            for line, message in zip(messages.lines.tolist(), messages.values, strict=True):
                seconds, kind, _order, size, price, direction = message.tolist()
                book = pending.pop(line, None)
                if kind == HALT:
                    continue
                if seconds < last_s:
                    problems.append(RowProblem(row=line, what=compose("goes back in time: messages must be in time order")))
                    continue
                last_s = seconds
                when = midnight + math.ceil(round(seconds * 1e3, 6))  # never before it happened
                if kind in EXECUTIONS:
                    side = "buy" if direction < 0 else "sell"
                    trades.append(Trade(price=price / 1e4, size=size, side=side, exchange_ms=when))  # type: ignore[arg-type]
                if book is None:
                    if line not in bad:
                        problems.append(RowProblem(row=line, what=compose("has a message, but no line in the order book")))
                    continue
                times.append(when)
                values.append(book)
                rows.append(line)
            pending = {line: book for line, book in pending.items() if line > need}
            yield BookBatch(
                timestamps=np.array(times, dtype=np.int64),
                values=_in_dollars(np.array(values).reshape(len(values), width)),
                rows=np.array(rows, dtype=np.int64),
                problems=sorted(problems, key=lambda one: one.row),
                trades=trades,
                done=messages.done,
            )


def _in_dollars(values: np.ndarray) -> np.ndarray:
    """Prices in dollars; levels that are empty as NaN. LOBSTER's order of columns is ours."""
    dollars = values.copy()
    dollars[:, 0::2] /= 1e4
    empty = np.abs(values[:, 0::2]) >= DUMMY
    dollars[:, 0::2][empty] = np.nan
    dollars[:, 1::2][empty] = np.nan
    return dollars


def _kind(path: Path) -> str:
    """Kind of a file by its first line's numbers: "messages", "book", or "" for neither."""
    try:
        cells = [float(cell) for cell in first_line(path).split(",")]
    except ValueError:
        return ""
    if len(cells) == MESSAGE_FIELDS and 0 <= cells[0] <= 86_400 and cells[1] in range(1, 8) and abs(cells[5]) == 1:
        return "messages"
    whole = all(cell % 1 == 0 for cell in cells)
    return "book" if len(cells) >= 4 and len(cells) % 4 == 0 and whole and abs(cells[0]) > 1_000 else ""


def _midnight(files: Mapping[str, Path]) -> int:
    for name in files:
        if found := re.search(r"(\d{4})-(\d{2})-(\d{2})", name):
            year, month, day = map(int, found.groups())
            try:
                return int(datetime(year, month, day, tzinfo=NEW_YORK).timestamp() * 1e3)
            except ValueError:
                continue
    raise FormatError(
        compose(
            "the day is in the names of LOBSTER's files, such as GOOG_2012-06-21_34200000_57600000_message_10.csv: these lack it"
        )
    )
