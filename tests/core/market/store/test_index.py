import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.checkpoints import sha256
from core.market.book import STEP_MS, BookError, BookRows
from core.market.grid import on_grid, segments
from core.market.store import index
from core.market.store.index import FOLDER, Recording, bundled_recordings, find_recording, list_recordings, recordings
from core.market.store.places import files_at
from core.market.store.rows import RecordedRows, read_market
from core.market.store.writer import write_rows
from tests.core.market.helpers import frame_from_rows, read_rows, read_trades

SAMPLE = FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


def gappy(rows: BookRows) -> BookRows:
    """Without rows 100 to 119 and 300."""
    keep = np.ones(len(rows), dtype=bool)
    keep[100:120] = keep[300] = False
    return rows[keep]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours of one day as the library writes them, a loose CSV, trades beside them, and a file that is no Parquet."""
    where = tmp_path_factory.mktemp("library")
    rows = gappy(read_rows(SAMPLE))
    for hour, part in (("23", rows[:500]), ("22", rows[500:])):
        path = where / "BTC-USDT" / "2024-08-08" / hour / f"rows_{part.timestamps[0]}.parquet"
        path.parent.mkdir(parents=True)
        write_rows(path, [(part.timestamps, part.levels)], levels=10, market="BTC/USDT")
        path.with_name(path.name.replace("rows", "trades")).write_bytes(b"x" * 1000)
    frame_from_rows(rows[:200]).to_csv(where / "eth_usdt_2024-08-08.csv", index=False)
    frame_from_rows(rows[:200]).to_parquet(where / "foreign.parquet")
    (where / "broken.parquet").write_bytes(b"no parquet")
    (where / "trades").mkdir()
    (where / "trades" / "foreign.parquet").write_bytes(b"y" * 500)
    (where / ".hidden.parquet").write_bytes(b"z")
    return where


def test_a_days_hours_are_one_recording_and_loose_files_are_their_own(folder: Path) -> None:
    found = {entry.name: entry for entry in list_recordings(folder)}
    assert list(found) == ["BTC-USDT/2024-08-08", "broken", "eth_usdt_2024-08-08", "foreign"]
    day, rows = found["BTC-USDT/2024-08-08"], gappy(read_rows(SAMPLE))
    assert (day.market, day.rows, day.gaps, day.levels) == ("BTC/USDT", len(rows), 2, 10)
    assert (day.start_ms, day.end_ms) == (rows.timestamps[0], rows.timestamps[-1])
    assert day.size == sum(path.stat().st_size for path in (folder / "BTC-USDT").rglob("*.parquet"))
    assert 24 <= len(day.mids) <= 48
    assert min(rows.mid) <= min(day.mids) < max(day.mids) <= max(rows.mid)
    assert found["broken"].rows == 0 and "broken cannot be read" in found["broken"].problem
    for name in ("eth_usdt_2024-08-08", "foreign"):  # no footer of ours: by its columns
        one = found[name]
        assert (one.rows, one.gaps, one.start_ms, one.end_ms) == (200, 1, rows.timestamps[0], rows.timestamps[199])
        np.testing.assert_allclose(one.mids, [part.mean() for part in np.array_split(rows.mid[:200], 48)], rtol=1e-3)
    assert found["eth_usdt_2024-08-08"].market == "eth_usdt"
    assert found["foreign"].size == (folder / "foreign.parquet").stat().st_size + 500


def test_the_bundled_ones_are_entries_too() -> None:
    found = {entry.name: entry for entry in bundled_recordings()}
    for one in recordings():
        assert (found[one.name].rows, found[one.name].start_ms, found[one.name].market) == (one.rows, one.start_ms, one.market)
        assert found[one.name].bundled and found[one.name].seconds == pytest.approx(one.seconds, abs=0.26)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("BTC-USDT/2024-08-08/13/rows_1723122000000.parquet", "BTC-USDT/2024-08-08"),
        ("BTC-USDT/2024-08-08/13/rows_1723122000000_2.parquet", "BTC-USDT/2024-08-08"),
        ("ledger/live-binance-BTC-USDT/2024-08-08/13/rows_5.parquet", "ledger/live-binance-BTC-USDT/2024-08-08"),
        ("BTC-USDT/2024-08-08/13/trades_1723122000000.parquet", None),
        ("BTC-USDT/2024-08-08/13/events_1.parquet", None),
        ("ledger/x/2024-08-08/13/predictions_000000000000.parquet", None),
        ("ledger/x/2024-08-08/13/lost_000000000000.parquet", None),
        ("a/trades/b.parquet", None),
        ("a/.b.parquet.part", None),
        ("a/b.csv", "a/b"),
        ("a/b.txt", None),
    ],
)
def test_names_of_recordings(path: str, name: str | None) -> None:
    assert index.recording_of(path) == name


def test_markets_by_name() -> None:
    assert index.market_of("ledger/BTC-USDT/2024-08-08") == "BTC-USDT"
    assert index.market_of("x/binance_spot_nexousdt_250ms_2024-07-24") == "binance_spot_nexousdt"
    assert index.market_of("BTC-USDT_20231114T221320.000Z") == "BTC-USDT"


def test_rows_read_by_parts_are_those_read_at_once(folder: Path) -> None:
    paths = sorted((folder / "BTC-USDT").rglob("rows_*.parquet"))
    whole, parts = gappy(read_rows(SAMPLE)), RecordedRows(paths)
    np.testing.assert_array_equal(parts.timestamps, whole.timestamps)
    np.testing.assert_array_equal(parts.mid, whole.mid)
    np.testing.assert_array_equal(parts.block(0, len(parts)).levels, whole.levels)
    np.testing.assert_array_equal(parts.block(480, 520).levels, whole.levels[480:520])  # across the files


def test_a_bad_row_is_named_by_its_number_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.store.rows.CHECKED_ROWS", 500)
    frame = frame_from_rows(read_rows(SAMPLE))
    frame.loc[1234, "ask_size_4"] = 0.0
    frame.to_parquet(path := tmp_path / "bad.parquet")
    with pytest.raises(BookError, match="bad.parquet has a price or size of zero or less .row 1234."):
        RecordedRows([path])


def test_a_recording_that_is_deleted_while_it_is_looked_for_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, is_file = tmp_path / "mine.parquet", Path.is_file
    path.write_bytes(b"rows")

    def then_deleted(one: Path) -> bool:
        found = is_file(one)
        if one.name == path.name:
            one.unlink(missing_ok=True)
        return found

    assert [file.relative for file in files_at(tmp_path, path)] == ["mine.parquet"]
    monkeypatch.setattr(Path, "is_file", then_deleted)
    assert files_at(tmp_path, path) == []


# -- the bundled ones ---------------------------------------------------------------------------------------------------


INDEX: list[dict[str, Any]] = json.loads((FOLDER / "recordings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("one", "entry"), list(zip(recordings(), INDEX, strict=True)), ids=[one.name for one in recordings()])
def test_a_recording_is_what_the_index_says(one: Recording, entry: dict[str, Any]) -> None:
    rows = read_rows(one.path)
    assert len(rows) == one.rows
    assert int(rows.timestamps[0]) == one.start_ms
    assert one.seconds == one.rows * STEP_MS / 1e3
    assert on_grid(rows.timestamps)
    assert len(segments(rows.timestamps)) == 1
    assert sha256(one.path) == entry["sha256"]
    assert entry["licence"] == "MIT"
    assert datetime.fromtimestamp(one.start_ms / 1e3, UTC).date().isoformat() in one.name
    trades = read_trades(one.path)
    assert len(trades) == entry["trades"]
    assert all(rows.timestamps[0] - STEP_MS < trade.exchange_ms <= rows.timestamps[-1] for trade in trades)


def test_trades_lie_about_the_book_of_their_moment() -> None:
    one = find_recording("binance_spot_btcusdt_2024-08-08")
    rows = read_rows(one.path)
    trades = read_trades(one.path)
    assert {trade.side for trade in trades} == {"buy", "sell"}
    # a trade moves along with the mid: the best of its quarter second, and not of a minute later
    mids = dict(zip(rows.timestamps.tolist(), rows.mid.tolist(), strict=True))

    def distance(shift_ms: int) -> float:
        found = [(trade.price, mids.get(-(-trade.exchange_ms // STEP_MS) * STEP_MS + shift_ms)) for trade in trades]
        known = [abs(price - mid) for price, mid in found if mid is not None]
        return sum(known) / len(known)

    assert distance(0) < min(distance(-60_000), distance(60_000)) / 2


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    with pytest.raises(BookError, match="there is no recording 'x': choose one of binance_spot_nexousdt_2024-07-24, "):
        find_recording("x")


def test_the_licence_is_there_and_the_rest_of_the_folder_is_listed() -> None:
    assert "Copyright (c) 2022 nkaz001" in (FOLDER / "NOTICE.md").read_text(encoding="utf-8")
    assert {path.name for path in FOLDER.glob("*.parquet")} == {one.path.name for one in recordings()}
    assert read_market([recordings()[0].path]).levels.shape[1] == 40


ENTRY = INDEX[0]


@pytest.mark.parametrize(
    "index", ["{", "[" * 100_000, {"file": "a"}, ["a.parquet"], [None], [{}], [{**ENTRY, "file": 7}], [ENTRY, {"file": "b"}]]
)
def test_a_malformed_index_is_one_sentence(tmp_path: Path, index: Any) -> None:
    (tmp_path / "recordings.json").write_text(index if isinstance(index, str) else json.dumps(index), encoding="utf-8")
    with pytest.raises(BookError, match="does not list the bundled recordings: ") as raised:
        recordings(tmp_path)
    assert "\n" not in str(raised.value)


def test_an_entry_may_hold_more_than_is_needed(tmp_path: Path) -> None:
    (tmp_path / "recordings.json").write_text(json.dumps([{**ENTRY, "remark": "new"}]), encoding="utf-8")
    assert [entry.name for entry in recordings(tmp_path)] == [Path(ENTRY["file"]).stem]
