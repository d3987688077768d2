"""`python -m core record`: record a live order book to files that training, evaluation and the app can read."""

import argparse
import asyncio
import contextlib
import signal
import sys
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
from core.market.recorder import RecordingStatus, record
from core.market.store.places import library_folder
from core.market.store.segments import market_folder
from core.training.recipe import add_rows

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.add_argument("exchange", nargs="?", help="ccxt's name of the exchange: binance, kraken, ...")
    p.add_argument("symbol", nargs="?", help="spot like BTC/USDT, perpetual like BTC/USDT:USDT")
    p.add_argument("--all", action="store_true", help="all live markets of the library's watch list, at once")
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
    names = [f"{symbol} on {exchange}" for exchange, symbol in markets]
    failed: dict[str, str] = {}
    latest: dict[str, str] = {}
    rows: dict[str, int] = {}

    def report(name: str, now: RecordingStatus) -> None:
        status, message = now.feed[0].value, now.feed[1] or now.problem
        latest[name], rows[name] = f"{status} {message}".rstrip(), now.rows
        bar.n = now.seconds if o.seconds is None else min(o.seconds, now.seconds)
        what = f"{status}, " if len(markets) == 1 else f"{len(markets)} markets, "
        bar.set_description(f"{what}{sum(rows.values()):,} rows {message}".rstrip(), refresh=False)
        bar.refresh()

    try:
        for exchange, _symbol in markets:
            make_exchange(exchange)  # before anything is written
        feeds = [LiveFeed(*market) for market in markets]
        all_of_them = [
            record(feed, folder, predictor, seconds=o.seconds, on_progress=partial(report, name))
            for name, feed in zip(names, feeds, strict=True)
        ]
        recorded = _recorded(until_signal(_each(names, all_of_them, failed)), folder, [feed.key for feed in feeds])
    except FeedFailed as failure:
        raise ValueError(str(failure)) from failure
    finally:
        bar.close()
    if failed:
        raise ValueError(_failures(failed, len(markets)))
    if not recorded:
        raise ValueError(
            f"nothing was recorded of {' and '.join(names)} (at the end: {', '.join(latest.values()) or 'no answer'})"
        )


def _markets(o: argparse.Namespace, folder: Path) -> list[tuple[str, str]]:
    """Exchange and symbol of what is to be recorded.

    Raises:
        ValueError: where none is named, or one beside all.
    """
    if not o.all and not (o.exchange and o.symbol):
        raise ValueError("name an exchange and a symbol, or --all")
    if not o.all:
        return [(o.exchange, o.symbol)]
    if o.exchange or o.symbol:
        raise ValueError("name an exchange and a symbol, or --all, not both")
    keys = watch_list.read(folder).markets
    if not keys:
        raise ValueError(f"the watch list of {folder} holds no market: begin recording one on the live page, or name it")
    return [(exchange, symbol) for exchange, _slash, symbol in (key.removeprefix("live/").partition("/") for key in keys)]


async def _each(names: Sequence[str], recordings: Sequence[Coroutine[Any, Any, list[Path]]], failed: dict[str, str]) -> None:
    """Record all at once: one that fails is said at once and kept in `failed`, and ends none of the others."""

    async def one(name: str, recording: Coroutine[Any, Any, list[Path]]) -> None:
        try:
            await recording
        except (FeedFailed, OSError) as failure:
            failed[name] = str(failure)
            if len(failed) < len(names):
                tqdm.write(f"{_failures(failed, len(names))}; the others are recorded on", file=sys.stderr)

    await asyncio.gather(*map(one, names, recordings))


def _failures(failed: dict[str, str], whole: int) -> str:
    """The recordings that failed among so many, and why; of a single one the reason alone."""
    if whole == 1:
        return next(iter(failed.values()))
    return f"{len(failed)} of {whole} failed: " + "; ".join(f"{name}: {reason}" for name, reason in failed.items())


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
