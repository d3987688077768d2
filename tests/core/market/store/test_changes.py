from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.market.book import BookError, BookRows, read_rows
from core.market.feeds.protocol import Trade
from core.market.grid import Row
from core.market.store import changes, index
from core.market.store.index import Recording, bundled_recordings, find_recording, list_recordings
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.helpers import read_trades

DAY_MS = 86_400_000
SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"


def rows() -> BookRows:
    return read_rows(SAMPLE)[:400]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two days of one market, with a trade a row."""
    with SegmentWriter(tmp_path, "BTC/USDT") as writer:
        for day in (0, DAY_MS):
            for when, levels in zip(rows().timestamps.tolist(), rows().levels, strict=True):
                writer.add_trade(Trade(price=1.0, size=2.0, side="sell", exchange_ms=when + day))
                writer.add(Row(when + day, levels))
    return tmp_path


def entries(folder: Path) -> dict[str, Recording]:
    return {entry.name: entry for entry in list_recordings(folder)}


def test_days_are_merged_into_one_file_with_their_trades(folder: Path) -> None:
    before = entries(folder)
    assert list(before) == ["BTC-USDT/2024-08-08", "BTC-USDT/2024-08-09"]
    seen: list[tuple[int, int]] = []
    path = changes.merge(folder, list(before.values()), "two-days", progress=lambda done, total: seen.append((done, total)))
    whole = read_market([path])
    np.testing.assert_array_equal(whole.levels, np.concatenate([rows().levels] * 2))
    np.testing.assert_array_equal(whole.timestamps, np.concatenate([rows().timestamps, rows().timestamps + DAY_MS]))
    assert len(read_trades(path)) == 800 and seen[-1] == (800, 800)
    merged = entries(folder)["two-days"]
    assert (merged.rows, merged.gaps, merged.market) == (800, 1, "BTC/USDT")
    with pytest.raises(BookError, match="there is a recording two-days already"):
        changes.merge(folder, list(before.values()), "two-days")
    with pytest.raises(BookError, match="recordings of one market can be merged: these are of BTC/USDT, ETH/USDT"):
        changes.merge(folder, [before["BTC-USDT/2024-08-08"], bundled_recordings()[2]], "x")


def test_a_day_and_a_file_are_renamed_with_what_lies_beside(folder: Path) -> None:
    assert changes.rename(folder, entries(folder)["BTC-USDT/2024-08-08"], "mine/btc") == "mine/btc/2024-08-08"
    path = changes.merge(folder, list(entries(folder).values()), "both")
    assert changes.rename(folder, entries(folder)["both"], "deep/er") == "deep/er"
    found = entries(folder)
    assert list(found) == ["BTC-USDT/2024-08-09", "deep/er", "mine/btc/2024-08-08"]
    assert found["mine/btc/2024-08-08"].market == "BTC/USDT"
    assert not path.exists() and len(read_trades(found["deep/er"].paths[0])) == 800
    for name in ("../x", "", "a b", ".hidden", "a/../../b"):
        with pytest.raises(BookError, match=r"is no name|already"):
            changes.rename(folder, found["deep/er"], name)


def test_deleting_leaves_nothing_of_it_and_all_of_the_rest(folder: Path) -> None:
    changes.delete(folder, entries(folder)["BTC-USDT/2024-08-08"])
    assert list(entries(folder)) == ["BTC-USDT/2024-08-09"]
    assert not (folder / "BTC-USDT" / "2024-08-08").exists()
    changes.delete(folder, entries(folder)["BTC-USDT/2024-08-09"])
    assert list(folder.iterdir()) == []


def test_what_came_with_the_app_stays(folder: Path) -> None:
    entry = bundled_recordings()[0]
    for change in (lambda: changes.delete(folder, entry), lambda: changes.rename(folder, entry, "other")):
        with pytest.raises(BookError, match="came with the app"):
            change()
        assert all(path.exists() for path in entry.paths)


def test_an_export_holds_the_rows(folder: Path, tmp_path: Path) -> None:
    entry = entries(folder)["BTC-USDT/2024-08-08"]
    for form, read in (("parquet", pq.read_table), ("csv", pd.read_csv)):
        (path := tmp_path / f"out.{form}").write_bytes(changes.export(entry, form))
        assert len(read(path)) == 400
        np.testing.assert_array_equal(read_rows(path).levels, rows().levels)


def test_the_librarys_recordings_are_found_by_name_beside_the_bundled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", str(folder))
    one = find_recording("BTC-USDT/2024-08-09")
    assert (one.market, one.rows, one.paths) == ("BTC/USDT", 400, entries(folder)["BTC-USDT/2024-08-09"].paths)
    assert find_recording(SAMPLE.stem).path == SAMPLE
    for name in ("../x", "nothing", "/etc/passwd", "BTC-USDT"):
        with pytest.raises(index.RecordingError, match="there is no recording"):
            find_recording(name)
