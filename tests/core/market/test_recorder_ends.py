"""However a recording ends, its rows are on disk; what an earlier one left behind is restored or removed."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.files import lock
from core.market.events import Row, Trade
from core.market.feeds.simulated import MarketProcess, MarketSettings
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from tests.core.market.helpers import START_MS

RECORDING = """
import asyncio, signal, sys
from pathlib import Path
from core.cli.record import until_signal
from core.market.recorder import record
from core.market.feeds.simulated import SimulatedFeed
from core.market.predictor import load_predictor

def show(progress):
    print(progress.rows, flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores in what it runs in the background
asyncio.run(until_signal(record(SimulatedFeed(3, start_ms=%d), Path(sys.argv[1]), load_predictor(), on_progress=show)))
"""


def recording(folder: Path, rows: int) -> tuple[subprocess.Popen[str], int]:
    """A process that records a simulation in real time, once it has so many rows; and how many it had reported."""
    process = subprocess.Popen([sys.executable, "-c", RECORDING % START_MS, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    reported = 0
    for line in process.stdout:
        reported = int(line)
        if reported >= rows:
            break
    return process, reported


def expected(count: int) -> np.ndarray:
    market = MarketProcess(3)
    return np.array([market.step(MarketSettings()).levels for _ in range(count)])


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_loses_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    process, reported = recording(tmp_path, 9)
    process.send_signal(ending)
    rest = process.communicate(timeout=30)[0].split()
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert len(rows) == int((rest or [reported])[-1])
    np.testing.assert_array_equal(rows.levels, expected(len(rows)))
    assert process.returncode == 0
    assert not list(tmp_path.glob(".*"))  # no journal left


def test_a_killed_process_loses_a_few_seconds_at_most(tmp_path: Path) -> None:
    process, reported = recording(tmp_path, 24)
    process.kill()
    process.communicate(timeout=30)
    assert not list(tmp_path.rglob("rows_*.parquet"))
    with SegmentWriter(tmp_path, "other") as writer:
        assert len(writer.files) == 1
    rows = read_market(sorted(tmp_path.rglob("rows_*.parquet")))
    assert reported - len(rows) <= 5 * 4
    assert len(rows) >= 4
    np.testing.assert_array_equal(rows.levels, expected(len(rows)))
    assert writer.files[0].name == "rows_1700000000000.parquet"
    assert not list(tmp_path.glob(".*"))


def test_a_journal_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    running = SegmentWriter(tmp_path, "ETH/USDT")
    running.add(Row(START_MS, expected(1)[0]))
    running.save_journal()
    SegmentWriter(tmp_path, "BTC/USDT").close()
    assert not list(tmp_path.rglob("rows_*.parquet"))
    running.close()
    assert len(list(tmp_path.rglob("rows_*.parquet"))) == 1


def test_half_written_files_are_removed(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path, "BTC/USDT") as writer:
        writer.add_trade(Trade(price=1.0, size=2.0, side="buy", exchange_ms=START_MS))
        writer.add(Row(START_MS, expected(1)[0]))
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
