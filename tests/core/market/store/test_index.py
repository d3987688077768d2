from pathlib import Path

import numpy as np
import pytest

from core.market.book import BookError, BookRows
from core.market.store import index
from core.market.store.index import bundled_recordings, list_recordings, market_of, recording_of
from core.market.store.places import files_at
from core.market.store.rows import RecordedRows
from core.market.store.writer import write_rows
from tests.core.market.helpers import frame_from_rows, read_rows

SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


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
    for one in index.recordings():
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
    assert recording_of(path) == name


def test_markets_by_name() -> None:
    assert market_of("ledger/BTC-USDT/2024-08-08") == "BTC-USDT"
    assert market_of("x/binance_spot_nexousdt_250ms_2024-07-24") == "binance_spot_nexousdt"
    assert market_of("BTC-USDT_20231114T221320.000Z") == "BTC-USDT"


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
