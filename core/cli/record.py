"""`python -m core record`: record a live order book to files that training, evaluation and the app can read."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from core.device import use_one_thread
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed, FeedFailed, is_cancelled
from core.market.feeds.venues import make_exchange
from core.market.predictor import Predictor, load_predictor
from core.market.recorder import RecordingProgress, record
from core.market.store.places import library_folder
from core.market.store.segments import market_folder

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.add_argument("exchange", help="ccxt's name of the exchange: binance, kraken, ...")
    p.add_argument("symbol", help="spot like BTC/USDT, perpetual like BTC/USDT:USDT")
    p.add_argument(
        "--folder",
        default="",
        help="the library's folder; OBSERVATORY_RECORDINGS, or recordings, where left out",
    )
    p.add_argument("--seconds", type=float, default=None, help="stop after this long; until interrupted where left out")
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    folder = library_folder(o.folder)
    use_one_thread()
    feed, predictor = LiveFeed(o.exchange, o.symbol), load_predictor()
    bar = tqdm(total=o.seconds, unit="s", bar_format="{desc} {n:.0f} s {bar} {elapsed}" if o.seconds else "{desc} {elapsed}")
    latest: list[str] = []

    def show(progress: RecordingProgress) -> None:
        latest[:] = [f"{progress.state.value} {progress.message}".rstrip()]
        bar.n = progress.seconds if o.seconds is None else min(o.seconds, progress.seconds)
        bar.set_description(f"{progress.state.value}, {progress.rows:,} rows {progress.message}".rstrip(), refresh=False)
        bar.refresh()

    try:
        make_exchange(o.exchange)  # before anything is written
        recorded = _recorded(record_until_signal(feed, folder, predictor, seconds=o.seconds, on_progress=show), folder, feed.key)
    except FeedFailed as failure:
        raise ValueError(str(failure)) from failure
    finally:
        bar.close()
    if not recorded:
        raise ValueError(f"nothing was recorded of {o.symbol} on {o.exchange} (at the end: {''.join(latest) or 'no answer'})")


def _recorded(recording: Coroutine[Any, Any, None], folder: Path, key: str) -> bool:
    """Record into a folder; returns whether a row came. Where none did, nothing is left of the try."""
    absent = [one for one in (folder, *folder.parents) if not one.exists()]
    before = set(folder.rglob("*"))
    try:
        asyncio.run(recording)
    finally:
        market = folder / market_folder(key)
        new = sorted({market, *market.rglob("*")} - before)
        rows = sorted(set(folder.rglob("rows_*.parquet")) - before)
        for path in rows:
            print(path)
        if not rows:
            for path in (path for path in new if path.is_file()):
                path.unlink()
            for path in (*(path for path in reversed(new) if path.is_dir()), *absent):
                with contextlib.suppress(OSError):  # another recording writes there
                    path.rmdir()
    return bool(rows)


async def record_until_signal(
    feed: Feed,
    folder: Path,
    predictor: Predictor | None = None,
    *,
    seconds: float | None = None,
    on_progress: Callable[[RecordingProgress], None] | None = None,
) -> None:
    """Record until `seconds` have passed, the feed ends, or the process is asked to end; then everything is on disk.

    A signal that the process was started to ignore (SIGHUP under nohup) stays ignored.

    Raises:
        FeedFailed: where the feed cannot continue.
        OSError: where the disk refuses.
    """
    loop = asyncio.get_running_loop()
    recording = asyncio.create_task(record(feed, folder, predictor, seconds=seconds, on_progress=on_progress))
    for ending in ENDING_SIGNALS:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            loop.add_signal_handler(ending, recording.cancel)
    try:
        await recording
    except asyncio.CancelledError:
        if is_cancelled():
            raise
