"""Recordings of a folder by market and day."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.market.book import BookError
from core.market.scoring.recordings import find_recordings, market_and_day
from tests.core.market.helpers import EXCERPTS


@pytest.mark.parametrize(
    ("path", "market", "day"),
    [
        ("binance_spot_nexousdt_250ms_2024-07-24.parquet", "binance_spot_nexousdt", "2024-07-24"),
        ("binance_perpetual_btcusdt_2023-04-05.parquet", "binance_perpetual_btcusdt", "2023-04-05"),
        ("live-binance-BTC-USDT_20260724T153000.000Z.parquet", "live-binance-BTC-USDT", "2026-07-24"),
        ("binance_BTC-USDT/2026-07-24/15.parquet", "binance_BTC-USDT", "2026-07-24"),
        ("sse_600536_250ms_2023-07-11.csv", "sse_600536", "2023-07-11"),
        ("mine.csv", "mine", ""),
    ],
)
def test_market_and_day_are_read_from_the_path(path: str, market: str, day: str) -> None:
    assert market_and_day(Path(path)) == (market, day)


def test_a_folders_files_are_grouped_and_others_passed_over(tmp_path: Path) -> None:
    for name in ("a_2024-01-01.parquet", "deep/b/2024-01-02/07.parquet", "deep/b/2024-01-02/08.parquet", ".c.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXCERPTS[0], tmp_path / name)
    (tmp_path / "notes.csv").write_text("day,weather\n1,fine\n")
    found = find_recordings([tmp_path])
    assert [(one.name, sorted(one.files)) for one in found] == [
        ("a 2024-01-01", ["a_2024-01-01.parquet"]),
        ("deep/b 2024-01-02", ["deep/b/2024-01-02/07.parquet", "deep/b/2024-01-02/08.parquet"]),
    ]


def test_nothing_to_score_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="holds no order-book file: Parquet or CSV"):
        find_recordings([tmp_path])
    with pytest.raises(BookError, match="gone is not there: name a folder"):
        find_recordings([tmp_path / "gone"])


def test_two_folders_with_a_file_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        shutil.copy(EXCERPTS[0], tmp_path / folder / "a_2024-01-01.parquet")
    with pytest.raises(BookError, match=r"two folders hold a file a_2024-01-01\.parquet"):
        find_recordings([tmp_path / "x", tmp_path / "y"])
