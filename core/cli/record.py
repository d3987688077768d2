"""`python -m core record`: record a live order book to files that training, evaluation and the app can read."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from core.device import use_one_thread
from core.market import watch_list
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import FeedFailed, is_cancelled
from core.market.feeds.venues import make_exchange
from core.market.predictor import load_predictor
from core.market.recorder import RecordingProgress, record
from core.market.store.places import library_folder
from core.market.store.segments import market_folder
from core.training.recipe import add_rows

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.add_argument("exchange", nargs="?", help="ccxt's name of the exchange: binance, kraken, ...")
    p.add_argument("symbol", nargs="?", help="spot like BTC/USDT, perpetual like BTC/USDT:USDT")
    several = (
        "record several at once: live markets as in a wall's address, live:binance:BTC/USDT,live:kraken:BTC/USD; those of the "
        "library's watch list where none are named"
    )
    p.add_argument("--all-of-the-wall", nargs="?", const="", metavar="MARKETS", help=several)
    add_rows(
        p,
        ("folder", "", "the library's folder; OBSERVATORY_RECORDINGS, or recordings, where left out"),
        ("seconds", float, "stop after this long; until interrupted where left out"),
    )
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    folder = library_folder(o.folder)
    markets = _markets(o, folder)
    use_one_thread()
    predictor = load_predictor()
    bar = tqdm(total=o.seconds, unit="s", bar_format="{desc} {n:.0f} s {bar} {elapsed}" if o.seconds else "{desc} {elapsed}")
    latest: dict[str, str] = {}
    rows: dict[str, int] = {}

    def report(symbol: str, progress: RecordingProgress) -> None:
        latest[symbol], rows[symbol] = f"{progress.state.value} {progress.message}".rstrip(), progress.rows
        bar.n = progress.seconds if o.seconds is None else min(o.seconds, progress.seconds)
        what = f"{progress.state.value}, " if len(markets) == 1 else f"{len(markets)} markets, "
        bar.set_description(f"{what}{sum(rows.values()):,} rows {progress.message}".rstrip(), refresh=False)
        bar.refresh()

    try:
        for exchange, _symbol in markets:
            make_exchange(exchange)  # before anything is written
        feeds = [LiveFeed(*market) for market in markets]
        all_of_them = [
            record(feed, folder, predictor, seconds=o.seconds, on_progress=partial(report, feed.market)) for feed in feeds
        ]
        recorded = _recorded(until_signal(_each(all_of_them)), folder, [feed.key for feed in feeds])
    except FeedFailed as failure:
        raise ValueError(str(failure)) from failure
    finally:
        bar.close()
    if not recorded:
        which = " and ".join(f"{symbol} on {exchange}" for exchange, symbol in markets)
        raise ValueError(f"nothing was recorded of {which} (at the end: {', '.join(latest.values()) or 'no answer'})")


def _markets(o: argparse.Namespace, folder: Path) -> list[tuple[str, str]]:
    """Exchange and symbol of what is to be recorded.

    Raises:
        ValueError: where none is named, or one twice over.
    """
    if o.all_of_the_wall is None:
        if not (o.exchange and o.symbol):
            raise ValueError("name an exchange and a symbol, or --all-of-the-wall")
        return [(o.exchange, o.symbol)]
    if o.exchange or o.symbol:
        raise ValueError("name an exchange and a symbol, or --all-of-the-wall, not both")
    named = [code.removeprefix("live:").replace(":", "/", 1) for code in o.all_of_the_wall.split(",") if code.startswith("live:")]
    named = named or [key.removeprefix("live/") for key in watch_list.read(folder).markets]
    markets = [(exchange, symbol) for exchange, _slash, symbol in (name.partition("/") for name in dict.fromkeys(named))]
    if not markets or not all(exchange and symbol for exchange, symbol in markets):
        raise ValueError(f"no live market is named, and the watch list of {folder} holds none")
    return markets


async def _each(recordings: Sequence[Coroutine[Any, Any, list[Path]]]) -> None:
    """Record all at once: one that fails ends none of the others.

    Raises:
        FeedFailed, OSError: of the first that failed, where all have.
    """
    ended = await asyncio.gather(*recordings, return_exceptions=True)
    failures = [one for one in ended if isinstance(one, BaseException)]
    if len(failures) == len(ended):
        raise failures[0]


def _recorded(recording: Coroutine[Any, Any, None], folder: Path, keys: Sequence[str]) -> bool:
    """Record into a folder; returns whether a row came. Where none did, nothing is left of the try."""
    absent = [one for one in (folder, *folder.parents) if not one.exists()]
    before = set(folder.rglob("*"))
    try:
        asyncio.run(recording)
    finally:
        of_markets = [folder / market_folder(key) for key in keys]
        new = sorted({path for market in of_markets for path in (market, *market.rglob("*"))} - before)
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


async def until_signal(recording: Coroutine[Any, Any, object]) -> None:
    """Record until that is over, or the process is asked to end; then everything is on disk.

    A signal that the process was started to ignore (SIGHUP under nohup) stays ignored.

    Raises:
        FeedFailed: where the feed cannot continue.
        OSError: where the disk refuses.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(recording)
    for ending in ENDING_SIGNALS:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            loop.add_signal_handler(ending, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if is_cancelled():
            raise
