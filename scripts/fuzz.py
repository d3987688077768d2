"""Damaged files, hostile addresses, and processes that are killed while they record.

    python -m scripts.fuzz files --count 10000        every kind of file that the app reads, damaged (tests/core/damaged_files.py)
    python -m scripts.fuzz addresses --count 10000    what a URL may hold: numbers, orders, names of recordings, places
    python -m scripts.fuzz kills --count 50           so many kill -9, and as many SIGTERM, during a recording

Each prints what came of it: results by kind, the slowest one, memory, and of the kills what was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from core.cli.record import record_until_signal
from core.market.book import BookError, read_rows
from core.market.feeds.clock import CLOCK
from core.market.feeds.protocol import Clock, FeedEvent, FeedState, StatusChange
from core.market.store.index import RecordingError, find_recording
from core.market.store.places import files_below
from core.market.store.rows import read_market
from core.market.store.writer import restore_recordings
from tests.core.damaged_files import DAMAGE, read_damaged
from tests.core.market.helpers import random_book

NASTY = (
    "../" * 12 + "etc/passwd",
    "..%2f..%2fetc",
    "\x00",
    "9" * 5000,
    "-1",
    "1e999",
    "nan",
    "inf",
    "٣",
    "１２",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "file:///etc/passwd",
    "http://169.254.169.254/latest",
    "http://127.0.0.1:1/",
    "s3://other/x",
    "\u202e",
    "a/" * 3000,
    "%",
    "C:\\x",
    "/",
    "/proc/self",
    "//",
    "~",
    "[",
    "]",
    ":99999/",
    "@127.0.0.1:1/",
    "#",
    "?",
    "\r\nHost: x",
    "\ud800",
)
SCHEMES = (
    "http://",
    "https://",
    "HTTP://127.0.0.1:1",
    "http://localhost:1/",
    "s3://",
    "file://",
    "memory://",
    "data://",
    "live/",
    "",
)
ADDRESSES = st.one_of(
    st.builds("{}{}".format, st.sampled_from(SCHEMES), st.one_of(st.sampled_from(NASTY), st.text(max_size=30))),
    st.sampled_from(NASTY),
    st.text(max_size=80),
    st.builds("{}{}{}".format, st.sampled_from(NASTY), st.text(max_size=9), st.sampled_from(NASTY)),
)


def _examples(strategy: st.SearchStrategy[Any], count: int, try_one: Callable[[Any], object], number: int) -> None:
    """Try so many examples, and print what came of them."""
    seen: Counter[Any] = Counter()
    times: list[float] = []
    slowest: tuple[float, Any] = (0.0, None)
    process = psutil.Process()
    first, started = process.memory_info().rss, time.process_time()

    @seeded(number)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def one(value: Any) -> None:
        nonlocal slowest
        began = time.monotonic()
        seen[try_one(value)] += 1
        times.append(time.monotonic() - began)
        slowest = max(slowest, (times[-1], value), key=lambda one: one[0])
        if len(times) % 1_000 == 0:
            print(f"{len(times)} of {count}, {(process.memory_info().rss - first) / 2**20:.0f} MiB", file=sys.stderr, flush=True)

    one()
    spent = time.process_time() - started
    grown = (process.memory_info().rss - first) / 2**20
    print(*(f"{result}: {times}" for result, times in sorted(seen.items(), key=str)), sep="\n")
    print(f"{len(times)} tries in {spent:.0f} s of processor, memory grew by {grown:.0f} MiB, no unexpected exception")
    print(f"slowest: {slowest[0]:.2f} s for {str(slowest[1])[:300]!r}")


def _address(text: str) -> str:
    """One text in every place that a URL fills."""
    from core.lecture.permutation import read_order
    from core.signs.ctc_lab import decode_cells
    from pages.shared.url_state import real_number, whole_number

    whole_number(text, 0, 10, None)
    real_number(text, None)
    read_order(text, 5)
    decode_cells(text)
    parts = []
    for ask, errors in ((find_recording, RecordingError), (lambda one: files_below(Path(one)), BookError)):
        try:
            ask(text)
            parts.append("taken")
        except errors as error:
            parts.append(type(error).__name__)
    return " ".join(parts)


class _Feed:
    """A market that moves twenty times a second, by this machine's clock."""

    key, market = "live/test/BTC/USDT", "BTC/USDT"
    clock: Clock = "wall"
    tick = 0.5

    async def events(self) -> AsyncIterator[FeedEvent]:
        from core.market.book import OrderBookSnapshot

        rows = random_book(1_000, 1)
        yield StatusChange(state=FeedState.LIVE)
        for levels in rows.levels:
            yield OrderBookSnapshot(levels=levels, exchange_ms=CLOCK.now_ms(), received_ns=CLOCK.now_ns())
            await asyncio.sleep(0.05)


def _record(folder: str) -> None:
    asyncio.run(record_until_signal(_Feed(), Path(folder)))


def _kills(count: int, number: int) -> None:
    rng = random.Random(number)
    fork = multiprocessing.get_context("fork")
    for sent in (signal.SIGKILL, signal.SIGTERM):
        lost, ended, unreadable, empty = [], [], 0, 0
        for _ in range(count):
            with tempfile.TemporaryDirectory() as folder:
                process = fork.Process(target=_record, args=(folder,))
                began_ms = CLOCK.now_ms()
                process.start()
                time.sleep(rng.uniform(0.6, 4.0))
                killed_ms, killed = CLOCK.now_ms(), time.monotonic()
                os.kill(process.pid or 0, sent)
                process.join(20)
                ended.append(time.monotonic() - killed)
                restore_recordings(Path(folder))
                files = sorted(Path(folder).rglob("rows_*.parquet"))
                try:
                    for path in files:
                        read_rows(path)
                    last = int(read_market(files).timestamps[-1]) if files else began_ms
                    empty += not files
                    lost.append((killed_ms - last) / 1e3)
                except BookError:
                    unreadable += 1
        print(
            f"{sent.name}: {count} times, {unreadable} with an unreadable file, at most {max(lost):.2f} s lost, "
            f"ended within {max(ended):.2f} s, {empty} killed before the first second was saved"
        )


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("files", "addresses", "kills"))
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    o = parser.parse_args()
    if o.what == "files":
        _examples(DAMAGE, o.count, lambda damage: (damage[0], read_damaged(*damage)), o.seed)
    elif o.what == "addresses":
        _examples(ADDRESSES, o.count, _address, o.seed)
    else:
        _kills(o.count, o.seed)


if __name__ == "__main__":
    main()
