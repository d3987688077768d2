"""`python -m core record`: record a live order book to files that training, evaluation and the app can read."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tqdm import tqdm

from core.cli import options
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed, FeedFailed
from core.market.recorder import RecordingProgress, record
from core.market.recordings.layout import library_address, library_folder
from core.market.recordings.sending import SegmentSender, waiting_folder

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    p = commands.add_parser("record", help="record a live order book to Parquet files")
    p.add_argument("exchange", help="ccxt's name of the exchange: binance, kraken, ...")
    p.add_argument("symbol", help="spot like BTC/USDT, perpetual like BTC/USDT:USDT")
    p.add_argument(
        "--folder",
        type=options.place,
        default=None,
        help="the library: a folder, or a store's URL (s3://...); OBSERVATORY_RECORDINGS, or recordings, where left out",
    )
    p.add_argument("--seconds", type=float, default=None, help="stop after this long; until interrupted where left out")
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    bar = tqdm(total=o.seconds, unit="s", bar_format="{desc} {n:.0f} s {bar} {elapsed}" if o.seconds else "{desc} {elapsed}")

    def show(progress: RecordingProgress) -> None:
        bar.n = progress.seconds
        bar.set_description(f"{progress.state.value}, {progress.rows:,} rows {progress.message}".rstrip(), refresh=False)
        bar.refresh()

    place = o.folder or library_address() or library_folder()
    sender = None if isinstance(place, Path) else SegmentSender(place).start()
    folder = place if isinstance(place, Path) else waiting_folder(place)
    before = set(folder.rglob("rows_*.parquet"))
    try:
        asyncio.run(record_until_signal(LiveFeed(o.exchange, o.symbol), folder, seconds=o.seconds, on_progress=show))
    except FeedFailed as failure:
        raise ValueError(str(failure)) from failure
    finally:
        bar.close()
        if sender is None:
            for path in sorted(set(folder.rglob("rows_*.parquet")) - before):
                print(path)
        else:
            waiting = sender.stop()
            for one in sender.sent:
                print(one)
            if waiting:
                print(f"{sender.problem}; {waiting} files wait in {folder}: the next recording sends them", file=sys.stderr)


async def record_until_signal(
    feed: Feed, folder: Path, *, seconds: float | None = None, on_progress: Callable[[RecordingProgress], None] | None = None
) -> None:
    """Record until `seconds` have passed, the feed ends, or the process is asked to end; then everything is on disk.

    A signal that the process was started to ignore (SIGHUP under nohup) stays ignored.

    Raises:
        FeedFailed: where the feed cannot continue.
        OSError: where the disk refuses.
    """
    loop = asyncio.get_running_loop()
    recording = asyncio.create_task(record(feed, folder, seconds=seconds, on_progress=on_progress))
    for ending in ENDING_SIGNALS:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            loop.add_signal_handler(ending, recording.cancel)
    try:
        await recording
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
