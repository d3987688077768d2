"""`python -m core record`: keep a live order book, in files that train, evaluate and the app read."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from tqdm import tqdm

from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import FeedFailed
from core.market.recorder import RecordingProgress, record


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    p = commands.add_parser("record", help="record a live order book to Parquet files")
    p.add_argument("exchange", help="ccxt's name of the exchange: binance, kraken, ...")
    p.add_argument("symbol", help="spot like BTC/USDT, perpetual like BTC/USDT:USDT")
    p.add_argument("--folder", type=Path, default=Path("recordings"), help="where the files go")
    p.add_argument("--seconds", type=float, default=None, help="stop after this long; until interrupted where left out")
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    bar = tqdm(total=o.seconds, unit="s", bar_format="{desc} {n:.0f} s {bar} {elapsed}" if o.seconds else "{desc} {elapsed}")

    def show(progress: RecordingProgress) -> None:
        bar.n = progress.seconds
        bar.set_description(f"{progress.state.value}, {progress.rows:,} rows {progress.message}".rstrip(), refresh=False)
        bar.refresh()

    feed = LiveFeed(o.exchange, o.symbol)
    before = set(o.folder.glob("*.parquet"))
    try:
        asyncio.run(record(feed, o.folder, seconds=o.seconds, on_progress=show))
    except FeedFailed as failure:
        raise ValueError(str(failure)) from failure
    finally:
        bar.close()
        for path in sorted(set(o.folder.glob("*.parquet")) - before):
            print(path)
