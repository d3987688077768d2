import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from core.cli.record import until_signal
from core.files import lock
from core.market.book import FILE_COLUMNS, OrderBookSnapshot
from core.market.events import Row, Trade
from core.market.feeds.protocol import FeedFailed, Status, StatusChange
from core.market.feeds.simulated import SimulatedFeed
from core.market.follower import Follower
from core.market.recorder import EventRecorder, RecordingStatus, record
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.feeds_for_tests import PlayedOnce, ScriptedFeed
from tests.core.market.helpers import START_MS, Silent, read_rows, read_trades, simulated_books
from tests.core.market.journals import FORK, follow

NEXT_HOUR = 1_700_002_800_000


def test_a_hundred_levels_are_written_and_a_file_is_as_wide_as_its_deepest_book(tmp_path: Path) -> None:
    deep = [np.arange(1.0, 1 + 4 * levels) for levels in (90, 0, 15)]
    wide = [np.concatenate([book, more]) for book, more in zip(simulated_books(3), deep, strict=True)]
    with SegmentWriter(tmp_path, "x") as writer:
        for row, book in enumerate([*wide, *simulated_books(3)]):
            writer.add(Row(NEXT_HOUR + 250 * (row - 3), book))
    first, second = (read_rows(path, deep=True) for path in writer.files)
    np.testing.assert_array_equal(first.levels, np.array(simulated_books(3)))
    assert first.deep is not None and first.deep.shape == (3, 360) and second.deep is None
    for found, expected in zip(first.deep, deep, strict=True):
        np.testing.assert_array_equal(found[np.isfinite(found)], expected)
    assert pq.read_schema(writer.files[1]).names == ["timestamp", *FILE_COLUMNS]


def test_a_recording_recorded_is_the_same_recording(tmp_path: Path) -> None:
    one = find_recording("binance_spot_ethusdt_2024-08-08")
    feed = PlayedOnce(one.path, market=one.market)
    reports: list[RecordingStatus] = []
    files = virtually(record(feed, tmp_path, Silent(), on_progress=reports.append))
    assert [len(read_rows(path)) for path in files] == [1_377]
    again, first = read_market(files), read_rows(one.path)
    np.testing.assert_array_equal(again.levels, first.levels)
    np.testing.assert_array_equal(again.timestamps, first.timestamps)
    assert [trade for path in files for trade in read_trades(path)] == read_trades(one.path)
    assert (reports[-1].rows, reports[-1].feed[0]) == (1_377, Status.ENDED)


async def test_what_came_before_a_failure_is_on_disk_and_a_gap_is_a_hole(tmp_path: Path) -> None:
    snapshots = [
        OrderBookSnapshot(levels=book, exchange_ms=START_MS + at, received_ns=0)
        for book, at in zip(simulated_books(4), (0, 250, 500, 60_000), strict=True)
    ]
    trades = [Trade(price=1, size=1, side=None, exchange_ms=one.exchange_ms) for one in snapshots[:3]]
    script = [event for both in zip(snapshots, trades, strict=False) for event in both]
    script += [StatusChange(state=Status.RECONNECTING, gap=True), snapshots[3]]
    with pytest.raises(FeedFailed, match="it is over"):
        await record(ScriptedFeed([*script, FeedFailed("it is over")]), tmp_path, Silent())
    (file,) = tmp_path.rglob("rows_*.parquet")
    assert [int(time) - START_MS for time in read_rows(file).timestamps] == [0, 250, 500, 60_000]
    assert len(read_trades(file)) == 3


def test_a_feed_faster_than_the_disk_lets_writing_end(tmp_path: Path) -> None:
    class Faster(SegmentWriter):
        """Of each row written, another comes meanwhile."""

        def add(self, row: Row, *more: Any, **known: Any) -> None:
            super().add(row, *more, **known)
            if self.rows < 50:
                follow(follower, recorder, [Row(row.timestamp + 250, row.levels)])

    with Faster(tmp_path, "x") as writer:
        recorder, follower = EventRecorder(writer, wall=False), Follower(silent := Silent(), silent.market(""))
        follow(follower, recorder, [Row(START_MS, simulated_books(1)[0])])
        recorder.write_down()
        assert writer.rows == 1


# -- however it ends, its rows are on disk ------------------------------------------------------------------------------


def record_in_process(folder: Path, speed: float, told: Connection) -> None:
    """Records a simulation until a signal comes, telling how many rows there are."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores in what it runs in the background
    feed = SimulatedFeed(3, start_ms=START_MS)
    feed.set_speed(speed)
    asyncio.run(until_signal(record(feed, folder, Silent(), on_progress=lambda progress: told.send(progress.rows))))


@contextmanager
def recording(folder: Path, rows: int, *, speed: float = 1.0) -> Iterator[tuple[BaseProcess, list[int]]]:
    """A process that records, once it has so many rows, and how many it has reported; it has to end within the block."""
    here, there = FORK.Pipe(duplex=False)
    process, reported = FORK.Process(target=record_in_process, args=(folder, speed, there), daemon=True), [0]
    process.start()
    there.close()
    while reported[-1] < rows:
        reported.append(here.recv())
    yield process, reported
    process.join(30)
    with suppress(EOFError):
        while True:
            reported.append(here.recv())


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_loses_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    with recording(tmp_path, 9, speed=4.0) as (process, reported):
        assert process.pid is not None
        os.kill(process.pid, ending)
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert len(rows) == reported[-1]
    np.testing.assert_array_equal(rows.levels, simulated_books(len(rows), seed=3))
    assert process.exitcode == 0
    assert not list(tmp_path.glob(".*"))  # no journal left


def test_a_killed_process_loses_a_few_seconds_at_most(tmp_path: Path) -> None:
    with recording(tmp_path, 24) as (process, reported):
        process.kill()
    assert not list(tmp_path.rglob("rows_*.parquet"))
    with SegmentWriter(tmp_path, "other") as writer:
        assert len(writer.files) == 1
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert reported[-1] - len(rows) <= 5 * 4
    assert len(rows) >= 4
    np.testing.assert_array_equal(rows.levels, simulated_books(len(rows), seed=3))
    assert writer.files[0].name == "rows_1700000000000.parquet"
    assert not list(tmp_path.glob(".*"))


def test_a_journal_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    running = SegmentWriter(tmp_path, "ETH/USDT")
    running.add(Row(START_MS, simulated_books(1)[0]))
    running.save_journal()
    SegmentWriter(tmp_path, "BTC/USDT").close()
    assert not list(tmp_path.rglob("rows_*.parquet"))
    running.close()
    assert len(list(tmp_path.rglob("rows_*.parquet"))) == 1


def test_half_written_files_are_removed(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path, "BTC/USDT") as writer:
        writer.add_trade(Trade(price=1.0, size=2.0, side="buy", exchange_ms=START_MS))
        writer.add(Row(START_MS, simulated_books(1)[0]))
    hour = writer.files[0].parent
    whole = {writer.files[0], hour / "trades_1700000000000.parquet"}
    for leftover in (tmp_path / ".x.parquet.part", hour / ".rows_1.parquet.part"):
        leftover.write_bytes(b"half")
    own = {tmp_path / "notes.part", hour / "mine.parquet"}
    for path in own:
        path.write_bytes(b"the reader's own")
    at_work = hour / ".y.parquet.part"
    with at_work.open("wb") as file:
        assert lock(file)
        SegmentWriter(tmp_path, "BTC/USDT").close()
        assert {path for path in tmp_path.rglob("*") if path.is_file()} == whole | own | {at_work}
    SegmentWriter(tmp_path, "BTC/USDT").close()
    assert not at_work.exists()
