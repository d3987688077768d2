"""However a recording ends, its rows are on disk; what an earlier one left behind is restored or removed."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from core.cli.record import until_signal
from core.files import lock
from core.market.events import Row, Trade
from core.market.feeds.simulated import SimulatedFeed
from core.market.recorder import record
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.helpers import START_MS, Silent, simulated_books

FORK = multiprocessing.get_context("fork")
"""Processes that import nothing anew."""


def record_in_process(folder: Path, speed: float, told: Connection) -> None:
    """Records a simulation until a signal comes, telling how many rows there are."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores in what it runs in the background
    feed = SimulatedFeed(3, start_ms=START_MS, speed=speed)
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
