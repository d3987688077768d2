"""Each format: rows that come out as they went in, and bad rows named by their number.

Files of others are made from a real book's rows (`other_files`).
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.cli.inspect import as_json, said_of
from core.market.book import FILE_COLUMNS, BookRows, resample
from core.market.formats.conversion import Inspection, convert, inspect
from core.market.formats.tables import FormatError
from core.market.grid import segments
from core.market.store import index
from core.market.store.index import list_recordings
from core.market.store.rows import read_market
from core.market.times import why_not
from tests.core.market.formats.other_files import Files, fi2010, lobster, tardis
from tests.core.market.helpers import frame_from_rows, read_rows, read_trades, written

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
def test_rows_come_out_as_they_were(tmp_path: Path, rows: BookRows, write: Callable[[Path, BookRows], Files], key: str) -> None:
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
    when = found.start_ms + 1750  # 1749.7, never before it happened
    assert (trade.price, trade.size, trade.side, trade.exchange_ms) == (rows.levels[7, 0], 18.0, "buy", when)


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
    ({"ask_size_3": "much"}, "has 'much' in column ask_size_3: a number is right"),
]


@pytest.mark.parametrize(("cells", "what"), BAD_CELLS)
@pytest.mark.parametrize(("name", "row"), [("bad.csv", 43), ("bad.parquet", 42)])  # the header is line 1 of a CSV
def test_a_bad_row_is_left_out_and_named(
    tmp_path: Path, rows: BookRows, name: str, row: int, cells: dict[str, object], what: str
) -> None:
    frame = frame_from_rows(rows[:60]).astype(dict.fromkeys(FILE_COLUMNS, str) if "much" in cells.values() else float)
    for column, value in cells.items():
        frame.loc[41, column] = value
    path = written(tmp_path, name, frame)
    found = inspect({path.name: path})
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
    ):
        path.write_text("\n".join(changed))
        with pytest.raises(FormatError, match=why):
            inspect({path.name: path})


# -- the door: every unit and type of time, contradictions, refusals by cause -------------------------------------------


FIRST = datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
FIRST_MS = 1_760_000_000_000  # the same


def books(count: int = 60, *, mid: float = 100.0, tick: float = 0.01) -> BookRows:
    """Ten levels a side, a tick apart, about a mid that goes up a tick and down again."""
    best = np.round(mid / tick) + np.arange(count) % 2
    levels = np.empty((count, 40))
    for level in range(10):
        levels[:, 4 * level] = (best + 1 + level) * tick
        levels[:, 4 * level + 1] = 1 + (np.arange(count) * 7 + level) % 90 / 10
        levels[:, 4 * level + 2] = (best - level) * tick
        levels[:, 4 * level + 3] = 1 + (np.arange(count) * 5 + level) % 80 / 10
    return BookRows(timestamps=FIRST_MS + 250 * np.arange(count), levels=np.round(levels, 6))


def at_door(*paths: Path) -> dict[str, Any]:
    return told_of(inspect({path.name: path for path in paths}))


def told_of(seen: Inspection) -> dict[str, Any]:
    return as_json(seen) | {"problems": said_of(seen)}


def brought_in(folder: Path, *paths: Path) -> tuple[dict[str, Any], BookRows]:
    """What is said of files at the door, and the rows that they are converted to."""
    seen, made, _path = converted({path.name: path for path in paths}, folder)
    return told_of(seen), made


TIMES: dict[str, Callable[[pd.Series], pd.Series]] = {
    **{unit: lambda ms, by=by: ms * by for unit, by in {"ms": 1, "us": 1_000, "ns": 1_000_000}.items()},
    **{f"{unit} as float": lambda ms, by=by: ms * float(by) for unit, by in {"s": 1e-3, "ms": 1, "us": 1e3, "ns": 1e6}.items()},
    **{f"{unit} as text": lambda ms, by=by: (ms * by).astype(str) for unit, by in {"ms": 1, "us": 1_000, "ns": 10**6}.items()},
    **{f"datetime64[{unit}]": lambda ms, unit=unit: ms.astype("datetime64[ms]").astype(f"datetime64[{unit}]")
       for unit in ("ms", "us", "ns")},
    **{f"datetime64[{unit}, Lima]": lambda ms, unit=unit: pd.to_datetime(ms, unit="ms", utc=True).astype(
        f"datetime64[{unit}, UTC]").dt.tz_convert("America/Lima") for unit in ("ms", "us", "ns")},
    "ISO, Z": lambda ms: ms.map(lambda one: (FIRST + timedelta(milliseconds=one - FIRST_MS)).isoformat().replace("+00:00", "Z")),
    "ISO, no zone": lambda ms: ms.map(lambda one: f"{FIRST + timedelta(milliseconds=one - FIRST_MS):%Y-%m-%d %H:%M:%S.%f}"),
    "ISO, decimal comma": lambda ms: ms.map(
        lambda one: f"{FIRST + timedelta(milliseconds=one - FIRST_MS):%Y-%m-%dT%H:%M:%S,%f}Z"),
    "ISO, +02:00": lambda ms: ms.map(
        lambda one: (FIRST + timedelta(hours=2, milliseconds=one - FIRST_MS)).strftime("%Y-%m-%dT%H:%M:%S.%f+02:00")),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "container"), [*product(TIMES, ("parquet", "csv")), ("ms", "csv.gz")])
def test_a_time_is_known_by_type_unit_and_date(tmp_path: Path, kind: str, container: str) -> None:
    rows = books()
    frame = frame_from_rows(rows)
    path = written(tmp_path, f"books.{container}", frame.assign(timestamp=TIMES[kind](frame["timestamp"])))
    seen, made = brought_in(tmp_path, path)
    last = FIRST + timedelta(milliseconds=250 * 59)
    assert (seen["rows"], seen["gaps"], seen["problems"]) == (60, 0, [])
    assert (datetime.fromisoformat(seen["first"]), datetime.fromisoformat(seen["last"])) == (FIRST, last)
    np.testing.assert_array_equal(made.timestamps, rows.timestamps)
    np.testing.assert_allclose(made.levels, rows.levels, rtol=1e-12)
    if container != "csv.gz":
        np.testing.assert_array_equal(read_market([path]).timestamps, rows.timestamps)


@pytest.mark.parametrize("container", ["parquet", "csv"])
def test_whole_seconds_are_a_book_a_second(tmp_path: Path, container: str) -> None:
    frame = frame_from_rows(books())
    seen = at_door(written(tmp_path, f"books.{container}", frame.assign(timestamp=frame["timestamp"] // 1000)))
    assert seen["rows"] == 60
    assert (seen["first"], seen["last"]) == ("2025-10-09T08:53:20.000+00:00", "2025-10-09T08:53:34.000+00:00")


@pytest.mark.parametrize("container", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("times", "named"),
    [
        (np.arange(60), "has '0' in column timestamp, which is no time between 1990 and tomorrow"),
        (FIRST_MS * 10 + 250 * np.arange(60), "has '17600000000000' in column timestamp"),
        ([f"09/10/2025 08:53:{i:02}" for i in range(60)], "has '09/10/2025 08:53:00' in column timestamp"),
        (["1985-01-01T00:00:00"] * 60, "has '1985-01-01T00:00:00' in column timestamp"),
        ([FIRST_MS] * 60, "all 60 books of .* have the same time: times must rise"),
        (FIRST_MS - 250 * np.arange(60), "59 of the 60 books of .* cannot be used: row [23] goes back in time"),
    ],
)
def test_what_is_no_time_is_refused_by_name(tmp_path: Path, container: str, times: Any, named: str) -> None:
    path = written(tmp_path, f"books.{container}", frame_from_rows(books()).assign(timestamp=times))
    with pytest.raises(FormatError, match=named):
        at_door(path)


def text(frame: pd.DataFrame, separator: str = ",", decimal: str = ".") -> bytes:
    return frame.to_csv(index=False, sep=separator, decimal=decimal).encode()


def packed(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("books.csv", data)
    return file.getvalue()


def tarred(data: bytes) -> bytes:
    file, about = io.BytesIO(), tarfile.TarInfo("books.csv")
    about.size = len(data)
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        archive.addfile(about, io.BytesIO(data))
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    frame.to_parquet(file := io.BytesIO())
    return file.getvalue()


def scaled(frame: pd.DataFrame, *, z: bool = False, together: bool = False) -> pd.DataFrame:
    """Each column by itself, or all prices and all sizes by one measure, as both are done."""
    new = frame.copy()
    for kind in ("price", "size"):
        columns = [column for column in FILE_COLUMNS if kind in column]
        for part in [columns] if together else [[column] for column in columns]:
            values = frame[part].to_numpy()
            low, span = (values.mean(), values.std()) if z else (values.min(), np.ptp(values))
            new[part] = (frame[part] - low) / span
    return new


def swapped(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=lambda name: {"ask": "bid", "bid": "ask"}.get(name[:3], name[:3]) + name[3:])


def without(frame: pd.DataFrame, level: int) -> pd.DataFrame:
    return frame[[name for name in frame if name == "timestamp" or int(name.rpartition("_")[2]) <= level]]


FRAME = frame_from_rows(books())
CAUSES: dict[str, tuple[bytes, str]] = {
    "zip": (packed(text(FRAME)), "is packed by zip: unpack it, and give the CSV or Parquet file inside"),
    "tar": (tarred(text(FRAME)), "is packed by tar: unpack it"),
    "Parquet in gzip": (gzip.compress(parquet(FRAME)), "is packed by gzip: unpack it"),
    "gzip, cut": (gzip.compress(text(FRAME))[:-30], "ends early or is damaged: unpacking it must succeed"),
    "Parquet, cut": (parquet(FRAME)[:-30], "cannot be read"),
    "semicolons": (text(FRAME, ";"), "has semicolons between its fields: commas are right, and points before decimals"),
    "semicolons, decimal commas": (text(FRAME, ";", ","), "has semicolons between its fields"),
    "tabs": (text(FRAME, "\t"), "has tabs between its fields"),
    "bars": (text(FRAME, "|"), "has bars between its fields"),
    "spaces": (text(FRAME, " "), "has spaces between its fields"),
    "UTF-16": (text(FRAME).decode().encode("utf-16"), "is text in UTF-16: save it as UTF-8"),
    "UTF-16 without a mark": (text(FRAME).decode().encode("utf-16-be"), "is text in UTF-16: save it as UTF-8"),
    "UTF-16, the little end first": ("timestamp,ask".encode("utf-16-le") * 40, "is text in UTF-16"),
    "numbers, which are not UTF-16": (np.arange(200, dtype=np.int64).tobytes(), "is of no known format: Attention Observatory"),
    "Databento's DBN": (b"DBN\x02\x90\x01\0\0XNAS.ITCH" + bytes(900), "is a file of Databento's DBN"),
    "JSON": (FRAME.to_json(orient="records").encode(), "is a file of JSON: save its books as CSV or Parquet"),
    "HTML": (b"<html><body>404</body></html>", "is a file of HTML: save"),
    "min-max": (text(scaled(FRAME)), "is normalised by min-max, all of it lies between 0 and 1"),
    "min-max, all prices by one": (text(scaled(FRAME, together=True)), "is normalised by min-max"),
    "z-score": (text(scaled(FRAME, z=True)), "is normalised by z-score, as values below zero show"),
    "z-score, all prices by one": (parquet(scaled(FRAME, z=True, together=True)), "is normalised by z-score"),
    "five levels": (text(without(FRAME, 5)), "has 5 levels a side: 10 are needed"),
    "nine levels": (parquet(without(FRAME, 9)), "has 9 levels a side: 10 are needed"),
    "crossed": (text(swapped(FRAME)), "60 of the 60 books of .* row 2 is crossed: the best ask is not above the best bid"),
    "unsorted": (parquet(FRAME.assign(ask_price_5=900.0)), "row 1 is unsorted: asks must rise and bids must fall from the best"),
    "NaN": (text(FRAME.assign(bid_size_4=np.nan)), "row 2 has a missing or infinite value"),
    "decimal commas in quotes": (text(FRAME).replace(b"100.01", b'"100,01"'), "has '100,01' in column ask_price_1"),
    "a column twice": (text(FRAME).replace(b"ask_size_2", b"ask_size_1", 1), "lacks the column ask_size_2|has the column"),
    "Binance's bookDepth": (b"timestamp,percentage,depth,notional\n", "is Binance's bookDepth: sums of sizes"),
    "Binance's T_DEPTH": (
        b"symbol,timestamp,first_update_id,last_update_id,side,update_type,price,qty,pu\n",
        "is Binance's T_DEPTH: a snapshot and its changes",
    ),
    "Databento's mbo": (b"ts_recv,ts_event,rtype,order_id,price,size,action,side\n", "is Databento's mbo: single orders"),
    "Databento's trades": (b"ts_recv,ts_event,rtype,action,side,depth,price,size\n", "is Databento's trades or best prices"),
    "Databento's mbp-1": (b"ts_recv,ts_event,action,price,size,bid_px_00,ask_px_00,bid_sz_00,ask_sz_00\n", "has 1 levels a side"),
    "tardis.dev's trades": (
        b"exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n",
        "data type book_snapshot_25 does",
    ),
    "nothing": (b"", "is empty"),
}


@pytest.mark.parametrize("cause", list(CAUSES))
def test_a_refusal_says_the_cause(tmp_path: Path, cause: str) -> None:
    data, sentence = CAUSES[cause]
    (tmp_path / "given").write_bytes(data)
    with pytest.raises(FormatError, match=sentence) as refused:
        at_door(tmp_path / "given")
    assert "\n" not in str(refused.value) and "given" in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b",", b", "),
        lambda data: b"\n".join(b",".join(b'"%s"' % cell for cell in line.split(b",")) for line in data.splitlines()),
        lambda data: b"\n".join(b", ".join(b'"%s"' % cell for cell in line.split(b",")) for line in data.splitlines()),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.replace(b"ask", b"ASK").replace(b"timestamp", b"Timestamp").replace(b"price", b"Price"),
        lambda data: data.replace(b"timestamp", b"", 1),
        lambda data: data.replace(b"timestamp", b"Datetime", 1),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\n\n"),
        lambda data: data.rstrip(b"\n"),
    ],
    ids=["spaces", "quotes", "spaces and quotes", "CRLF", "CR", "capitals", "an index without a name",
         "an index of times", "byte order mark", "blank lines", "no end"],
)  # fmt: skip
def test_lawful_csv_is_read(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    rows = books()
    (path := tmp_path / "books.csv").write_bytes(change(text(frame_from_rows(rows))))
    seen, made = brought_in(tmp_path, path)
    assert (seen["rows"], seen["problems"]) == (60, [])
    np.testing.assert_array_equal(made.levels, rows.levels)


@pytest.mark.parametrize("kind", ["index of times", "texts", "categories", "capitals", "decimals"])
def test_lawful_parquet_is_read(tmp_path: Path, kind: str) -> None:
    rows = books()
    frame = frame_from_rows(rows)
    prices = frame[list(FILE_COLUMNS)]
    times = pd.to_datetime(frame["timestamp"], unit="ms", utc=True)
    changed = {
        "index of times": lambda: prices.set_index(times.rename(None)),
        "texts": lambda: frame.astype(dict.fromkeys(FILE_COLUMNS, str)),
        "categories": lambda: frame.astype(dict.fromkeys(FILE_COLUMNS, str)).astype("category"),
        "capitals": lambda: frame.rename(columns=str.upper),
        "decimals": lambda: frame.assign(ask_price_1=frame["ask_price_1"].map(lambda one: Decimal(f"{one:.2f}"))),
    }[kind]()
    changed.to_parquet(path := tmp_path / "books.parquet")
    seen, made = brought_in(tmp_path, path)
    assert (seen["rows"], seen["problems"]) == (60, [])
    np.testing.assert_array_equal(made.levels, rows.levels)


@pytest.mark.parametrize("fixed", [False, True], ids=["decimals", "billionths"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_databentos_ten_levels_are_books(tmp_path: Path, suffix: str, *, fixed: bool) -> None:
    """Columns as databento.com/docs has them; the deepest ask of the last event is none, INT64_MAX in billionths."""
    rows = books()
    frame = pd.DataFrame({"ts_recv": rows.timestamps * 10**6, "ts_event": rows.timestamps * 10**6 - 5_000})
    frame = frame.assign(rtype=10, publisher_id=2, instrument_id=4, action="A", side="B", depth=0, price=1, size=1, symbol="ESU5")
    for level in range(10):
        for side, first in (("ask", 0), ("bid", 2)):
            price = rows.levels[:, 4 * level + first]
            frame[f"{side}_px_{level:02}"] = np.round(price * 1e9).astype(np.int64) if fixed else price
            frame[f"{side}_sz_{level:02}"] = rows.levels[:, 4 * level + first + 1]
    frame["ask_px_09"] = frame["ask_px_09"].astype("Int64" if fixed else float)
    frame.loc[59, "ask_px_09"] = 2**63 - 1 if fixed else np.nan
    path = written(tmp_path, f"glbx-mdp3-20251009.mbp-10.{suffix}", frame)
    seen, made = brought_in(tmp_path, path)
    assert (seen["format"], seen["market"], seen["rows"]) == ("databento", "ESU5", 59)
    assert len(seen["problems"]) == 1 and "has a missing or infinite value" in seen["problems"][0]
    np.testing.assert_allclose(made.levels, rows.levels[:59], rtol=1e-12)


@pytest.mark.parametrize("run", [1, 2, 5])
@pytest.mark.parametrize("mid", [103.0, 3_000.0])
def test_two_markets_in_turn_are_refused_without_a_word_of_theirs(tmp_path: Path, run: int, mid: float) -> None:
    one, other_now = books(), np.arange(60) // run % 2 == 1
    levels = np.where(other_now[:, None], books(mid=mid).levels, one.levels)
    path = written(tmp_path, "btcusdt.csv", frame_from_rows(BookRows(timestamps=one.timestamps, levels=levels)))
    with pytest.raises(FormatError, match=rf"goes to and fro between 100\S* and {mid:g}\S*, \d+ times: two markets are in it"):
        at_door(path)


@pytest.mark.parametrize("container", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("name", "columns", "both"),
    [
        ("books", {"symbol": ["BTCUSDT", "ETHUSDT"]}, ("column symbol of books", "BTCUSDT", "ETHUSDT")),
        ("books", {"exchange": ["binance", "bybit"]}, ("column exchange of books", "binance", "bybit")),
        ("books", {"stream": ["spot", "perpetual"]}, ("column stream of books", "spot", "perpetual")),
        ("ethusdt", {"symbol": ["BTC/USDT", "BTC/USDT"]}, ("name of ethusdt", "ethusdt", "column symbol", "BTC/USDT")),
        ("AAPL_2025-10-09", {"ticker": ["MSFT", "MSFT"]}, ("name of AAPL", "symbol AAPL", "column ticker", "MSFT")),
        ("btc_2025-10-07", {}, ("name of btc_2025-10-07", "day 2025-10-07", "2025-10-09")),
    ],
)
def test_what_a_file_says_of_itself_is_compared(
    tmp_path: Path, container: str, name: str, columns: dict[str, list[str]], both: tuple[str, ...]
) -> None:
    frame = frame_from_rows(books()).assign(**{column: values * 30 for column, values in columns.items()})
    with pytest.raises(FormatError) as refused:
        at_door(written(tmp_path, f"{name}.{container}", frame))
    assert not [word for word in both if word not in str(refused.value)]


def test_names_and_columns_that_agree_are_one_market(tmp_path: Path) -> None:
    frame = frame_from_rows(books()).assign(symbol="BTC/USDT", exchange="binance")
    path = written(tmp_path, "binance_spot_btcusdt_2025-10-09.csv", frame)
    assert at_door(path) == {
        "format": "own", "market": "BTC/USDT", "rows": 60, "gaps": 0, "first": "2025-10-09T08:53:20.000+00:00",
        "last": "2025-10-09T08:53:34.750+00:00", "problems": [],
    }  # fmt: skip
    bare = written(tmp_path, "binance_spot_btcusdt_2025-10-09.parquet", frame_from_rows(books()))
    assert at_door(bare)["market"] == "binance_spot_btcusdt"


def later(rows: BookRows, milliseconds: int) -> pd.DataFrame:
    return frame_from_rows(BookRows(timestamps=rows.timestamps + milliseconds, levels=rows.levels))


def test_days_that_follow_each_other_are_one_market(tmp_path: Path) -> None:
    day = 86_400_000
    second = written(tmp_path, "btc_2025-10-10.csv", later(books(), day))
    first = written(tmp_path, "btc_2025-10-09.csv", frame_from_rows(books()))
    seen = at_door(second, first)
    assert (seen["market"], seen["rows"], seen["gaps"]) == ("btc", 120, 1)
    assert (seen["first"][:19], seen["last"][:19]) == ("2025-10-09T08:53:20", "2025-10-10T08:53:34")
    next_hour = written(tmp_path, "btc_2025-10-09_b.csv", later(books(), 250 * 60))
    assert at_door(next_hour, first)["gaps"] == 0
    files = {path.name: path for path in (second, first, next_hour)}
    convert(files, made := tmp_path / "made.parquet", market="BTC/USDT")
    assert [piece.stop - piece.start for piece in segments(read_rows(made).timestamps)] == [120, 60]


def test_files_that_are_not_one_market_are_refused(tmp_path: Path) -> None:
    first = written(tmp_path, "btc_2025-10-09.csv", frame_from_rows(books()))
    for name, shift, sentence in (
        ("eth_2025-10-10.csv", 86_400_000, "name of btc_2025-10-09.csv says market btc, the name of eth_2025-10-10.csv says eth"),
        ("btc_2025-10-09_again.csv", 250, "btc_2025-10-09.csv and btc_2025-10-09_again.csv overlap in time"),
    ):
        with pytest.raises(FormatError, match=sentence):
            at_door(first, written(tmp_path, name, later(books(), shift)))
    dear = written(tmp_path, "btc_2025-10-10.csv", later(books(mid=3_000), 86_400_000))
    assert "from btc_2025-10-09.csv to btc_2025-10-10.csv the mid-price goes from 100" in at_door(first, dear)["problems"][0]


DAY = "AAPL_2012-06-21"


@pytest.mark.parametrize(
    ("other", "both"),
    [
        ("MSFT_2012-06-22", ("symbol AAPL", "MSFT")),
        ("MSFT_2012-06-21", ("symbol AAPL", "MSFT")),
        ("AAPL_2012-06-22", ("day 2012-06-21", "2012-06-22")),
    ],
)
def test_messages_of_one_day_and_a_book_of_another_are_refused(tmp_path: Path, other: str, both: tuple[str, str]) -> None:
    messages, _ = lobster(tmp_path, books(), DAY).values()
    _, book = lobster(tmp_path, books(mid=200.0), other).values()
    with pytest.raises(FormatError) as refused:
        at_door(messages, book)
    assert not [word for word in (*both, messages.name, book.name) if word not in str(refused.value)]


def test_the_contents_of_lobsters_files_are_compared_with_each_other_and_with_their_names(tmp_path: Path) -> None:
    messages, book = lobster(tmp_path, books(), DAY).values()
    seen = at_door(book, messages)
    assert (seen["format"], seen["market"], seen["rows"], seen["gaps"], seen["problems"]) == ("lobster", "AAPL", 60, 0, [])
    assert (seen["first"][:19], seen["last"][:23]) == ("2012-06-21T13:30:00", "2012-06-21T13:30:14.750")
    two = lobster(tmp_path, books(), "AAPL_2012-06-22").values()
    assert {key: at_door(*two, book, messages)[key] for key in ("rows", "gaps")} == {"rows": 120, "gaps": 1}
    short = tmp_path / messages.name
    short.write_text("".join(messages.read_text().splitlines(keepends=True)[:50]))
    seen = at_door(short, book)
    assert (seen["rows"], seen["problems"][0]) == (50, "row 51 has a line in the order book, but no message")
    lobster(tmp_path, books(), DAY)
    (tmp_path / "dear").mkdir()
    lobster(tmp_path / "dear", books(mid=200.0), DAY)
    with pytest.raises(FormatError, match="no message of AAPL.* has a price within the books of AAPL"):
        at_door(messages, tmp_path / "dear" / book.name)
    _, shallow = lobster(tmp_path, books(), DAY, levels=5).values()
    with pytest.raises(FormatError, match="orderbook_5.csv says levels 5, the content of .* says 10|says levels 10, .* says 5"):
        at_door(messages, shallow)


def test_tardis_says_exchange_symbol_stream_and_day_twice(tmp_path: Path) -> None:
    name = "binance_book_snapshot_25_2025-10-09_BTCUSDT.csv.gz"
    seen = at_door(*tardis(tmp_path, books(), name).values())
    assert (seen["format"], seen["market"], seen["rows"], seen["first"][:19]) == ("tardis", "BTCUSDT", 60, "2025-10-09T08:53:20")
    for other, about, words in (
        (name, {"symbol": ["BTCUSDT", "ETHUSDT"] * 30}, "BTCUSDT, .* ETHUSDT"),
        (name, {"symbol": "ETHUSDT"}, "says symbol BTCUSDT, the column symbol of .* says ETHUSDT"),
        (name, {"exchange": "bybit"}, "says exchange binance, the column exchange of .* says bybit"),
        (name.replace("10-09", "10-08"), {}, "says day 2025-10-08, the first book of .* says 2025-10-09"),
    ):
        with pytest.raises(FormatError, match=words):
            at_door(*tardis(tmp_path, books(), other, **about).values())  # type: ignore[arg-type]


def stocks_of_fi2010(folder: Path, *mids: float) -> Path:
    """Stocks of a hundred events each at these prices, whose sizes are new at each event, as in a walk by a tick."""
    rng, prices = np.random.default_rng(0), np.arange(40) % 2 == 0
    stocks = [np.where(prices, 10 * books(100, mid=mid * 1e4, tick=1.0).levels, rng.integers(1, 900, (100, 40))) for mid in mids]
    (path,) = fi2010(folder, np.concatenate(stocks)).values()
    return path


@pytest.mark.parametrize("stocks", [(0.2615, 0.2700), (0.2615, 0.2641), (0.2615, 0.2622), (0.31, 0.3007, 0.2976, 0.6)])
def test_no_window_spans_two_stocks_of_fi2010(tmp_path: Path, stocks: tuple[float, ...]) -> None:
    path = stocks_of_fi2010(tmp_path, *stocks)
    seen, made = brought_in(tmp_path, path)
    assert (seen["format"], seen["rows"], seen["gaps"], seen["problems"]) == ("fi2010", 100 * len(stocks), len(stocks) - 1, [])
    assert [piece.stop - piece.start for piece in segments(made.timestamps)] == [100] * len(stocks)


@pytest.mark.parametrize("z", [False, True])
def test_fi2010_by_min_max_or_z_score_is_refused_by_name(tmp_path: Path, z: bool) -> None:
    path = stocks_of_fi2010(tmp_path, 0.2615)
    values = np.loadtxt(path)
    low, span = (values.mean(1), values.std(1)) if z else (values.min(1), np.ptp(values, axis=1))
    span[span == 0] = 1
    np.savetxt(path, (values - low[:, None]) / span[:, None], fmt="%.7e")
    with pytest.raises(FormatError, match="is normalised by z-score" if z else "is normalised by min-max"):
        at_door(path)


def test_the_command_prints_one_object_and_refuses_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one_process: pytest.MonkeyPatch
) -> None:
    good = written(tmp_path, "btc_2025-10-09.csv", frame_from_rows(books()))
    assert main(["inspect", str(good), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == at_door(good) and said.err == ""
    (bad := tmp_path / "bad.zip").write_bytes(packed(b"a"))
    assert main(["inspect", str(bad), "--json"]) == 2
    said = capsys.readouterr()
    refused = json.loads(said.out)["refused"]
    assert refused == "bad.zip is packed by zip: unpack it, and give the CSV or Parquet file inside" and refused in said.err
    assert main(["inspect", str(tmp_path / "none.csv"), "--json"]) == 2
    assert "there is no file none.csv" in json.loads(capsys.readouterr().out)["refused"]
    assert main(["inspect", str(good)]) == 0
    assert "rows     60" in capsys.readouterr().out


@pytest.mark.parametrize("start", [FIRST_MS * 1000, 2**62, -1, 16_756_675_200_000])
@pytest.mark.parametrize("container", ["parquet", "csv"])
def test_a_far_date_in_the_library_is_one_bad_entry(tmp_path: Path, start: int, container: str) -> None:
    frame = frame_from_rows(books())
    written(tmp_path, f"far.{container}", frame.assign(timestamp=start + 250 * np.arange(60)))
    written(tmp_path, "good.parquet", frame)
    found = {one.name: one for one in list_recordings(tmp_path)}
    assert found["good"].rows == 60 and not found["good"].problem
    assert (found["far"].rows, found["far"].problem) == (
        0,
        f"far cannot be read: its timestamp {str(start)!r} is no time in milliseconds between 1990 and tomorrow: "
        "a file in another unit is to be converted",
    )


def halves(folder: Path, *names: str) -> dict[str, Path]:
    """The first and the second half of some books under these names."""
    parts = zip(names, (books()[:30], books()[30:]), strict=True)
    return {f"{name}.csv": written(folder, f"{name}.csv", frame_from_rows(part)) for name, part in parts}


@pytest.mark.parametrize(
    ("one", "other", "notes"), [("JAN", "FEB", 1), ("hour 00 UTC", "hour 01 CET", 1), ("BTC-USDT_1", "BTC-USDT_2", 0)]
)
def test_names_that_may_be_no_symbols_ask_and_refuse_nothing(tmp_path: Path, one: str, other: str, notes: int) -> None:
    seen = inspect(halves(tmp_path, one, other))
    assert seen.books == 60 and len(seen.notes) == notes


@pytest.mark.parametrize(("one", "other"), [("eth-usdt", "eth-usd"), ("PEPEUSDT", "1000PEPEUSDT"), ("ETH", "BTC")])
def test_symbols_that_are_not_the_same_are_refused(tmp_path: Path, one: str, other: str) -> None:
    with pytest.raises(FormatError, match="says symbol"):
        inspect(halves(tmp_path, one, other))


def test_a_market_whose_tick_is_a_large_share_of_its_price_is_one(tmp_path: Path) -> None:
    frame = frame_from_rows(books(60, mid=3e-5, tick=1e-6))
    assert inspect({"NPXSBTC.csv": written(tmp_path, "NPXSBTC.csv", frame)}).books == 60
