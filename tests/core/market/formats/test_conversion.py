"""Each format: rows that come out as they went in, and bad rows named by their number.

Files of others are made from a real book's rows (`other_files`).
"""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from core.market.book import BookRows, resample
from core.market.formats.conversion import Inspection, convert, inspect
from core.market.formats.tables import FormatError
from core.market.grid import segments
from core.market.store import index
from core.market.store.index import list_recordings
from core.market.times import why_not
from tests.core.market.formats.other_files import Files, fi2010, lobster, tardis
from tests.core.market.helpers import frame_from_rows, read_rows, read_trades

SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


@pytest.fixture(scope="module")
def rows() -> BookRows:
    return read_rows(SAMPLE)[:300]


def own_csv(folder: Path, rows: BookRows) -> Files:
    frame_from_rows(rows).to_csv(path := folder / "btc_2024-08-08.csv", index=False)
    return {path.name: path}


def own_parquet(folder: Path, rows: BookRows) -> Files:
    frame_from_rows(rows).to_parquet(path := folder / "btc_2024-08-08.parquet")
    return {path.name: path}


def tardis_day(folder: Path, rows: BookRows) -> Files:
    return tardis(folder, rows, "binance_book_snapshot_25_2024-08-08_BTCUSDT.csv.gz")


def lobster_day(folder: Path, rows: BookRows) -> Files:
    """The eleventh level is empty."""
    return lobster(folder, rows, "GOOG_2012-06-21", levels=11, empty=1, executed=7)


def two_stocks(folder: Path, rows: BookRows) -> Files:
    """The second at twice the price."""
    return fi2010(folder, np.concatenate([rows.levels[:200], rows.levels[200:] * 2.0]))


def converted(files: Files, folder: Path) -> tuple[Inspection, BookRows, Path]:
    found = inspect(files)
    path = folder / "out.parquet"
    written = convert(files, path, market="BTC/USDT", seen=found)
    made = read_rows(path, deep=True)
    assert written.rows == len(made) and written.market == "BTC/USDT"
    assert written.gaps == len(segments(made.timestamps)) - 1 == found.gaps
    return found, made, path


@pytest.mark.parametrize(("write", "key"), [(own_csv, "own"), (own_parquet, "own"), (tardis_day, "tardis")])
def test_rows_come_out_as_they_went_in(
    tmp_path: Path, rows: BookRows, write: Callable[[Path, BookRows], Files], key: str
) -> None:
    gap = np.ones(300, dtype=bool)
    gap[50:60] = False
    files = write(tmp_path, holed := rows[gap])
    found, made, _path = converted(files, tmp_path)
    assert (found.form, found.problem_count, found.levels) == (key, 0, 10)
    assert (found.start_ms, found.end_ms, found.sampling_ms) == (rows.timestamps[0], rows.timestamps[-1], 250.0)
    np.testing.assert_array_equal(made.timestamps, holed.timestamps)  # the pause stays: nothing is carried into it
    np.testing.assert_allclose(made.levels, holed.levels, rtol=1e-9)
    assert found.trades == 0


def test_rows_are_the_same_however_many_are_read_at_once(tmp_path: Path, rows: BookRows, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven = BookRows(timestamps=rows.timestamps + 37 * (np.arange(300) % 5), levels=rows.levels)
    files = own_csv(tmp_path, uneven)
    convert(files, tmp_path / "whole.parquet", market="x")
    monkeypatch.setattr("core.market.formats.tables.BLOCK", 5_000)
    convert(files, tmp_path / "parts.parquet", market="x")
    whole, parts = (read_rows(tmp_path / f"{name}.parquet") for name in ("whole", "parts"))
    np.testing.assert_array_equal(parts.timestamps, whole.timestamps)
    np.testing.assert_array_equal(parts.levels, whole.levels)
    expected = resample(uneven)
    np.testing.assert_array_equal(whole.timestamps, expected.timestamps)
    np.testing.assert_array_equal(whole.levels, expected.levels)


def test_a_book_is_carried_for_four_of_its_sampling_intervals(tmp_path: Path, rows: BookRows) -> None:
    steps = np.full(60, 1_000)
    steps[[20, 40]] = 4_000, 4_250
    books = BookRows(timestamps=rows.timestamps[0] + np.cumsum(steps) + 7, levels=rows.levels[:60])
    found, made, path = converted(own_csv(tmp_path, books), tmp_path)
    assert found.carry_ms == 4_000
    assert [piece.stop - piece.start for piece in segments(made.timestamps)] == [39 * 4 + 3 * 4, 19 * 4]
    (entry,) = (one for one in list_recordings(tmp_path) if one.name == path.stem)
    assert entry.gaps == 1
    by_query = tmp_path / "by_query"
    by_query.mkdir()
    frame_from_rows(books).to_parquet(by_query / "books.parquet")
    assert [one.gaps for one in list_recordings(by_query)] == [1]


def test_lobsters_lines_are_dollars_and_new_yorks_time(tmp_path: Path, rows: BookRows) -> None:
    found, made, path = converted(lobster_day(tmp_path, rows), tmp_path)
    assert (found.form, found.market, found.books, found.levels, found.problem_count) == ("lobster", "GOOG", 300, 10, 0)
    assert datetime.fromtimestamp(found.start_ms / 1e3, UTC) == datetime(2012, 6, 21, 13, 30, tzinfo=UTC)  # 9:30, summer time
    np.testing.assert_allclose(made.levels[:, 0::2], rows.levels[:, 0::2], rtol=1e-9)
    np.testing.assert_array_equal(made.levels[:, 1::2], np.ceil(rows.levels[:, 1::2]))
    (trade,) = read_trades(path)
    assert (trade.price, trade.size, trade.side, trade.exchange_ms) == (
        rows.levels[7, 0],
        18.0,
        "buy",
        found.start_ms + 1750,
    )  # 1749.7, never before it happened


def test_fi2010_is_a_column_an_event_and_its_stocks_are_apart(tmp_path: Path, rows: BookRows) -> None:
    found, made, _path = converted(two_stocks(tmp_path, rows), tmp_path)
    assert (found.form, found.books, found.levels, found.problem_count) == ("fi2010", 300, 10, 0)
    assert [piece.stop - piece.start for piece in segments(made.timestamps)] == [200, 100]
    np.testing.assert_allclose(made.levels[:200], rows.levels[:200] / 1e5, rtol=1e-9)
    np.testing.assert_allclose(made.levels[200:], rows.levels[200:] * 2 / 1e5, rtol=1e-9)


BAD_CELLS: list[tuple[dict[str, object], str]] = [
    ({"ask_price_1": 0.0}, "has a price or size of zero or less"),
    ({"bid_size_4": np.nan}, "has a missing or infinite value"),
    ({"ask_size_2": 1e16}, "has a price or size of 1e+15 or more"),
    ({"bid_price_1": 1e6}, "is crossed: the best ask is not above the best bid"),
    ({"ask_price_5": 1e6}, "is unsorted: asks must rise and bids must fall from the best"),
    ({"timestamp": 1.6e12}, "goes back in time: all must be in time order"),
    ({"timestamp": 5.0}, why_not(5.0, "timestamp")),
    ({"timestamp": 1.7e16}, why_not(1.7e16, "timestamp")),
]
WORD: tuple[dict[str, object], str] = ({"ask_size_3": "much"}, "has 'much' in column ask_size_3: a number is right")
"""In a CSV alone: a column of a Parquet file is of one kind."""


@pytest.mark.parametrize(
    ("write", "cells", "what"), [*((write, *bad) for write in (own_csv, own_parquet) for bad in BAD_CELLS), (own_csv, *WORD)]
)
def test_a_bad_row_is_left_out_and_named(
    tmp_path: Path, rows: BookRows, write: Callable[[Path, BookRows], Files], cells: dict[str, object], what: str
) -> None:
    frame = frame_from_rows(rows[:60]).astype(object if "much" in cells.values() else float)
    for column, value in cells.items():
        frame.loc[41, column] = value
    path = tmp_path / ("bad.csv" if write is own_csv else "bad.parquet")
    frame.to_csv(path, index=False) if write is own_csv else frame.to_parquet(path)
    found = inspect({path.name: path})
    row = 43 if write is own_csv else 42  # the header is line 1 of a CSV
    assert [(one.row, one.what) for one in found.problems] == [(row, what)]
    assert (found.books, found.problem_count) == (59, 1)


def spoil(path: Path, line: int, text: str) -> None:
    packed = path.suffix == ".gz"
    lines = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode().splitlines()
    lines[line - 1] = text
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize(
    ("write", "file", "line", "text", "what"),
    [
        (tardis_day, "binance", 8, "a,b,c", "has 3 fields: 104 are right"),
        (tardis_day, "binance", 8, ",".join(["x"] * 104), "has 'x' in column asks[0].price: a number is right"),
        (lobster_day, "GOOG_2012-06-21_34200000_57600000_orderbook_11", 9, "1,2,3", "has 3 fields: 44 are right"),
        (lobster_day, "GOOG_2012-06-21_34200000_57600000_message_11", 9, "1,2", "of the messages has 2 fields: 6 are right"),
        (lobster_day, "GOOG_2012-06-21_34200000_57600000_message_11", 9, "1.0,1,1,1,1,1", "goes back in time: all must be"),
    ],
)
def test_a_bad_line_of_each_kind_is_named(
    tmp_path: Path, rows: BookRows, write: Callable[[Path, BookRows], Files], file: str, line: int, text: str, what: str
) -> None:
    files = write(tmp_path, rows[:40])
    spoil(next(path for name, path in files.items() if name.startswith(file)), line, text)
    found = inspect(files)
    assert [one.row for one in found.problems] == [line]
    assert str(found.problems[0].what).startswith(what) and found.problem_count == 1


def test_files_that_cannot_be_used_at_all_are_one_sentence(tmp_path: Path, rows: BookRows) -> None:
    def text(name: str, content: str) -> Files:
        (tmp_path / name).write_text(content)
        return {name: tmp_path / name}

    with pytest.raises(FormatError, match="notes.txt is of no known format: Attention Observatory, tardis.dev"):
        inspect(text("notes.txt", "hello"))
    with pytest.raises(FormatError, match="lacks the column ask_size_1"):
        inspect(text("few.csv", "timestamp,ask_price_1,bid_price_1\n1,2,1\n"))
    header = ",".join(frame_from_rows(rows[:1]).columns)
    with pytest.raises(FormatError, match="none.csv holds no book"):
        inspect(text("none.csv", header + "\n"))
    with pytest.raises(FormatError, match="1 of the 1 books of bad.csv cannot be used: row 2 has 2 fields: 41 are right"):
        inspect(text("bad.csv", header + "\n1,2\n"))
    both = lobster_day(tmp_path, rows[:20])
    for name, lacking in ((next(iter(both)), "order book"), (list(both)[1], "messages")):
        with pytest.raises(FormatError, match=f"the file of the {lacking} is missing"):
            inspect({name: both[name]})
    with pytest.raises(FormatError, match="the day is in the names of LOBSTER's files"):
        inspect({f"{i}.csv": path for i, path in enumerate(both.values())})
    (path,) = two_stocks(tmp_path, rows[:20]).values()
    lines = path.read_text().splitlines()
    for changed, why in (
        ([lines[0], lines[1].replace("e-0", "x", 1), *lines[2:]], "line 2 of .* holds something other than numbers"),
        ([*lines[:4], lines[4].rsplit(None, 1)[0], *lines[5:]], "line 5 of .* has 19 values: 20 are right, as in the first"),
        (lines[:20], "has 20 lines: FI-2010 has 149, a feature each"),
        ([line.replace("   ", "  -") for line in lines], "is normalised by z-score"),
    ):
        path.write_text("\n".join(changed))
        with pytest.raises(FormatError, match=why):
            inspect({path.name: path})
