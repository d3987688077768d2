"""Make `assets/recordings`: `python -m scripts.bundle_recordings --data DIR`.

DIR is the folder of training and checking data, with `lob/hftbacktest_samples`, `lob/nexousdt_binance_spot` and `binance_wire`.
Books are copied row for row; trades, and the book in price bands, are taken from the wire messages of the same minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.checkpoints import sha256
from core.market.bands import Bands, Ladder, bands_of
from core.market.book import STEP_MS, BookRows, frame_from_rows, price_tick
from core.market.depth import depth_path, write_depth
from core.market.feeds.protocol import Trade
from core.market.feeds.trades import trades_path, trades_table
from core.market.store.index import FOLDER, INDEX
from core.market.store.rows import read_market

SAMPLES = "nkaz001/hftbacktest, example data, commits c4183c6, 73bfa17 and b73eae7"
PLAYGROUND = "jeffrey82221/hftbacktest_playground, commit 8862b6d"
UNSEEN = "No shipped model was trained on it."
HOUR = 3_600_000 // STEP_MS
TEST_PART = 0.8
"""Share of the NEXO market at which its last fifth begins, which training and validation leave alone (D10)."""
CLEAR_OF_VALIDATION = 128 + 100
"""Rows left between: one window and the longest horizon."""

BOOKS: list[dict[str, Any]] = [
    {
        "file": "binance_spot_btcusdt_2024-08-08.parquet",
        "book": "binance_spot_btcusdt_250ms_2024-08-08",
        "wire": "spot_btcusdt_20240808",
        "symbol": "BTC/USDT",
        "kind": "spot",
    },
    {
        "file": "binance_spot_ethusdt_2024-08-08.parquet",
        "book": "binance_spot_ethusdt_250ms_2024-08-08",
        "wire": "spot_ethusdt_20240808",
        "symbol": "ETH/USDT",
        "kind": "spot",
    },
    {
        "file": "binance_perpetual_btcusdt_2023-04-05.parquet",
        "book": "binance_usdm_btcusdt_250ms_2023-04-05",
        "symbol": "BTC/USDT:USDT",
        "kind": "perpetual",
    },
    {
        "file": "binance_perpetual_ethusdt_2024-08-08.parquet",
        "book": "binance_usdm_ethusdt_250ms_2024-08-08",
        "symbol": "ETH/USDT:USDT",
        "kind": "perpetual",
    },
]
NEXO = {"file": "binance_spot_nexousdt_2024-07-24.parquet", "symbol": "NEXO/USDT", "kind": "spot"}


def busiest_hour(market: BookRows) -> slice:
    """The hour of the test part in which the mid moves most often, begun on a multiple of five minutes."""
    first = int(TEST_PART * len(market)) + CLEAR_OF_VALIDATION
    moves = np.concatenate([[0], np.cumsum(np.diff(market.mid) != 0)])
    whole = [row for row in range(first, len(market) - HOUR) if market.timestamps[row] % 300_000 == 0]
    start = max(whole, key=lambda row: int(moves[row + HOUR - 1] - moves[row]))
    return slice(start, start + HOUR)


def wire_trades(path: Path, first_ms: int, last_ms: int) -> list[Trade]:
    """The trades of a recording of Binance's messages between two times."""
    with gzip.open(path, "rt") as file:
        messages = [json.loads(line.split(" ", 1)[1]) for line in file]
    trades = (message["data"] for message in messages if message.get("stream", "").endswith("@trade"))
    return [
        Trade(price=float(one["p"]), size=float(one["q"]), side="sell" if one["m"] else "buy", exchange_ms=one["T"])
        for one in trades
        if first_ms - STEP_MS < one["T"] <= last_ms
    ]


def wire_depth(path: Path, timestamps: NDArray[np.int64], tick: float) -> Iterator[tuple[int, Bands | None]]:
    """The bands of each row of a recording, rebuilt from Binance's messages: a book of 1,000 levels a side, then what changed.

    A level that lies deeper than that book is known from its first change on; the bands there stay unknown.
    """
    sides: tuple[dict[float, float], dict[float, float]] = ({}, {})
    known, ladder, last = (np.inf, -np.inf), None, 0
    waiting = list(timestamps.tolist())
    with gzip.open(path, "rt") as file:
        messages = (json.loads(line.split(" ", 1)[1]) for line in file)
        for message in messages:
            data = message.get("data", message)
            change = data.get("e") == "depthUpdate"
            while change and waiting and waiting[0] < data["E"]:
                if ladder is None:
                    yield waiting.pop(0), None
                    continue
                asks, bids = (np.array(sorted(side.items())) for side in sides)
                yield waiting.pop(0), bands_of(asks, bids[::-1], ladder, known)
            if "lastUpdateId" in data:
                books = [[(float(price), float(size)) for price, size in data[name]] for name in ("asks", "bids")]
                sides, known = (dict(books[0]), dict(books[1])), (books[1][-1][0], books[0][-1][0])
                ladder, last = Ladder.of((books[0][0][0] + books[1][0][0]) / 2, tick), data["lastUpdateId"]
            elif change and ladder is not None and data["u"] > last:
                for side, name in zip(sides, ("a", "b"), strict=True):
                    side.update((float(price), float(size)) for price, size in data[name])
                    for price in [float(price) for price, size in data[name] if float(size) == 0]:
                        del side[price]


def write(
    entry: dict[str, Any], rows: BookRows, trades: list[Trade], bands: list[tuple[int, Bands | None]], *, source: str, note: str
) -> dict[str, Any]:
    """Write the files of one recording; returns its line of the index."""
    path = FOLDER / entry["file"]
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 19}
    pq.write_table(pa.Table.from_pandas(frame_from_rows(rows), preserve_index=False), path, **options)
    if trades:
        trades_path(path).parent.mkdir(exist_ok=True)
        pq.write_table(trades_table(trades), trades_path(path), **options)
    if bands:
        write_depth(depth_path(path), bands)
    print(f"{path.name}: {len(rows)} rows, {len(trades)} trades, {path.stat().st_size / 1e3:.0f} kB, from {_when(rows)}")
    return {
        "file": entry["file"],
        "symbol": entry["symbol"],
        "venue": "Binance",
        "kind": entry["kind"],
        "start_ms": int(rows.timestamps[0]),
        "duration_s": len(rows) * STEP_MS / 1e3,
        "rows": len(rows),
        "trades": len(trades),
        "source": source,
        "licence": "MIT",
        "note": note,
        "sha256": sha256(path),
    }


def _when(rows: BookRows) -> str:
    return str(pd.to_datetime(int(rows.timestamps[0]), unit="ms", utc=True))


def main() -> None:
    """Write every recording and the index."""
    parser = argparse.ArgumentParser(description="Make assets/recordings from the training and checking data.")
    parser.add_argument("--data", type=Path, required=True, help="folder with lob/ and binance_wire/")
    data = parser.parse_args().data
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = []
    for entry in BOOKS:
        rows = read_market([data / "lob" / "hftbacktest_samples" / f"{entry['book']}.parquet"])
        span = int(rows.timestamps[0]), int(rows.timestamps[-1])
        wire = data / "binance_wire" / f"{entry.get('wire')}.gz"
        trades = wire_trades(wire, *span) if wire.exists() else []
        bands = list(wire_depth(wire, rows.timestamps, price_tick(rows.levels[:, 0::2]))) if wire.exists() else []
        index.append(write(entry, rows, trades, bands, source=SAMPLES, note=f"All of it that was recorded. {UNSEEN}"))
    market = read_market(sorted((data / "lob" / "nexousdt_binance_spot").glob("*.parquet")))
    hour = market[busiest_hour(market)]
    note = f"The busiest hour of the last fifth of a 32-hour recording, the part kept for testing. {UNSEEN}"
    index.insert(0, write(NEXO, hour, [], [], source=PLAYGROUND, note=note))
    (FOLDER / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
