from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.market.book import BookError
from core.market.events import Row, Trade
from core.market.store import changes, index
from core.market.store.index import Recording, bundled_recordings, find_recording, list_recordings
from core.market.store.writer import SegmentWriter
from tests.core.market.helpers import read_rows

DAY_MS = 86_400_000
SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"
ROWS = read_rows(SAMPLE)[:400]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two days of one market, with a trade a row."""
    with SegmentWriter(tmp_path, "BTC/USDT") as writer:
        for day in (0, DAY_MS):
            for when, levels in zip(ROWS.timestamps.tolist(), ROWS.levels, strict=True):
                writer.add_trade(Trade(price=1.0, size=2.0, side="sell", exchange_ms=when + day))
                writer.add(Row(when + day, levels))
    return tmp_path


def entries(folder: Path) -> dict[str, Recording]:
    return {entry.name: entry for entry in list_recordings(folder)}


def test_deleting_leaves_nothing_of_it_and_all_of_the_rest(folder: Path) -> None:
    changes.delete(folder, entries(folder)["BTC-USDT/2024-08-08"])
    assert list(entries(folder)) == ["BTC-USDT/2024-08-09"]
    assert not (folder / "BTC-USDT" / "2024-08-08").exists()
    changes.delete(folder, entries(folder)["BTC-USDT/2024-08-09"])
    assert list(folder.iterdir()) == []


def test_what_came_with_the_app_stays(folder: Path) -> None:
    entry = bundled_recordings()[0]
    with pytest.raises(BookError, match="came with the app"):
        changes.delete(folder, entry)
    assert all(path.exists() for path in entry.paths)


def test_an_export_holds_the_rows_of_all_files(folder: Path, tmp_path: Path) -> None:
    days = entries(folder)
    entry = replace(days["BTC-USDT/2024-08-08"], files=tuple(file for one in days.values() for file in one.files))
    for form, read in (("parquet", pq.read_table), ("csv", pd.read_csv)):
        (path := tmp_path / f"out.{form}").write_bytes(changes.export(entry, form))
        assert len(read(path)) == 800
        np.testing.assert_array_equal(read_rows(path).levels, np.concatenate([ROWS.levels] * 2))


def test_the_librarys_recordings_are_found_by_name_beside_the_bundled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", str(folder))
    one = find_recording("BTC-USDT/2024-08-09")
    assert (one.market, one.rows, one.paths) == ("BTC/USDT", 400, entries(folder)["BTC-USDT/2024-08-09"].paths)
    assert find_recording(SAMPLE.stem).path == SAMPLE
    for name in ("../x", "nothing", "/etc/passwd", "BTC-USDT"):
        with pytest.raises(BookError, match="there is no recording"):
            find_recording(name)
