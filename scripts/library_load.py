"""Measures the library: opening a day of 345,600 rows, listing a month of 30 files, the seconds and the memory each takes.

    python -m scripts.library_load [--levels 10] [--files 30] [--foreign]

Each step runs in a process of its own, whose peak memory is that above an idle one with the same modules. The rows are a
simulated market's, an hour of it again and again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.market.book import STEP_MS
from core.market.feeds.market_process import MarketProcess, MarketSettings
from core.market.feeds.recording import RecordingFeed
from core.market.store.index import list_recordings
from core.market.store.writer import RowBlock, write_rows

DAY_ROWS = 345_600
HOUR_ROWS = 14_400
START_MS = 1_722_470_400_000


def write_day(path: Path, day: int, hour: np.ndarray, levels: int, *, foreign: bool) -> None:
    """A day's file, as the library writes it, or as another program would."""

    def blocks() -> Iterator[RowBlock]:
        for first in range(0, DAY_ROWS, HOUR_ROWS):
            stamps = START_MS + STEP_MS * (day * DAY_ROWS + np.arange(first, first + HOUR_ROWS, dtype=np.int64))
            yield stamps, hour

    write_rows(path, blocks(), levels=levels, market="SIM/USD")
    if foreign:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        pq.write_table(table.replace_schema_metadata(None), path)


def peak_kib() -> int:
    """This process's peak memory since its start, KiB (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def step(name: str, folder: Path) -> None:
    """One measurement, printed as JSON."""
    idle = peak_kib()
    before, used = time.perf_counter(), time.process_time()
    if name == "list":
        recordings = list_recordings(folder)
        assert sum(entry.rows for entry in recordings) == len(recordings) * DAY_ROWS
    elif name == "again":
        list_recordings(folder)
        before, used = time.perf_counter(), time.process_time()
        list_recordings(folder)
    else:
        feed = RecordingFeed(sorted(folder.glob("*.parquet"))[0], market="SIM/USD", lead=400)
        assert feed.length == DAY_ROWS
    seconds, processor = time.perf_counter() - before, time.process_time() - used
    memory = (peak_kib() - idle) / 1024
    print(
        json.dumps({"step": name, "seconds": round(seconds, 3), "processor_s": round(processor, 3), "memory_mb": round(memory)})
    )


def main() -> None:
    """Write a month, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, default=10, help="a side, 10 to 100")
    parser.add_argument("--files", type=int, default=30, help="days")
    parser.add_argument("--foreign", action="store_true", help="files without the library's footer")
    parser.add_argument("--step", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.step:
        step(o.step[0], Path(o.step[1]))
        return
    market = MarketProcess(1)
    hour = np.array([market.step(MarketSettings()).levels for _ in range(HOUR_ROWS)])
    deeper = [hour + np.tile([10.0 * n, 0, -10.0 * n, 0], 10) for n in range(1, o.levels // 10)]
    hour = np.concatenate([hour, *deeper], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        for day in range(o.files):
            write_day(Path(folder) / f"sim_{day:02d}.parquet", day, hour, o.levels, foreign=o.foreign)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
        print(json.dumps({"levels": o.levels, "foreign": o.foreign, "files": o.files, "mib": round(size)}))
        for name in ("list", "again", "open"):
            subprocess.run([sys.executable, "-m", "scripts.library_load", "--step", name, folder], check=True)


if __name__ == "__main__":
    main()
