"""Cut test fixtures out of recorded messages of venues: `python -m scripts.excerpt_wire [--binance DIR] [--venues DIR]`.

Lines are kept unchanged. Of Binance (gzip, one `<receive ns> <json>` per line), the first seconds: every depth message and
snapshot, every best-price message whose update number a depth message has too (others cannot be compared with a book), and one
trade in twenty. Of other venues (gzip, `TIME: MESSAGE` received by a socket, `ADDRESS -> TIME: BODY` answered to a request), what
is about the book of one market; of Bitfinex, which numbers the messages of a connection, all of them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
BINANCE = {"spot_btcusdt_20240808": 120, "spot_ethusdt_20240808": 80, "usdm_btcusdt_20240718": 50}
"""Recording and seconds of it."""
ONE_TRADE_IN = 20
VENUES = {
    "binanceus": ("BINANCE_US", '"omgbusd@depth|depth.symbol=OMGBUSD'),
    "bitfinex": ("BITFINEX", ""),
    "bitstamp": ("BITSTAMP", '"diff_order_book_batbtc","event":"data"|order_book/batbtc'),
    "coinbaseexchange": ("COINBASE", '"(snapshot|l2update)","product_id":"YFI-BTC"'),
    "deribit": ("DERIBIT", '"channel":"book.BTC-24SEP21-8000-P'),
    "gateeu": ("GATEIO", 'order_book_update","event":"update".*"s":"OMG_USDT"|currency_pair=OMG_USDT'),
    "gemini": ("GEMINI", '"l2_updates","symbol":"FILUSD"'),
    "krakenfutures": ("KRAKEN_FUTURES", '"feed":"book(_snapshot)?","product_id":"FI_XBTUSD_210730"'),
    "kucoin": ("KUCOIN", "level2:SNX-BTC.*changes|changes.*level2:SNX-BTC|level2.symbol=SNX-BTC"),
    "okx": ("OKX", '"channel":"books","instId":"BTC-USDT".,"action"'),
}
"""ccxt's name of the exchange, the recording's, and what a line about the market matches."""


def binance_lines(lines: list[str], seconds: float) -> list[str]:
    """The lines kept of a recording of Binance."""
    first_ns = int(lines[0].split(" ", 1)[0])
    timely = [line for line in lines if int(line.split(" ", 1)[0]) - first_ns <= seconds * 1e9]
    messages = [json.loads(line.split(" ", 1)[1]) for line in timely]
    depth_ids = {message["data"]["u"] for message in messages if "@depth" in message.get("stream", "")}
    kept, trades = [], 0
    for line, message in zip(timely, messages, strict=True):
        stream = message.get("stream", "")
        if "@bookTicker" in stream and message["data"]["u"] not in depth_ids:
            continue
        if "@trade" in stream:
            trades += 1
            if trades % ONE_TRADE_IN != 1:
                continue
        kept.append(line)
    return kept


def write(path: Path, lines: list[str]) -> None:
    """Write lines, compressed without a date: the same input gives the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress("".join(lines).encode(), 9, mtime=0)
    path.write_bytes(packed)
    print(f"{path.name}: {len(lines)} messages, {len(packed) / 1e3:.0f} kB")


def main() -> None:
    """Write every excerpt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--binance", type=Path, help="folder of Binance's recordings (*.gz)")
    parser.add_argument("--venues", type=Path, help="folder of the other venues' (*.gz)")
    o = parser.parse_args()
    for name, seconds in BINANCE.items() if o.binance else ():
        with gzip.open(o.binance / f"{name}.gz", "rt") as file:
            write(FIXTURES / "binance_wire" / f"{name}.jsonl.gz", binance_lines(file.readlines(), seconds))
    for exchange, (name, about) in VENUES.items() if o.venues else ():
        lines = []
        for path in sorted(o.venues.glob(f"{name}.*.gz")):
            with gzip.open(path, "rt") as file:
                received = (line for line in file if re.match(r"[\d.]+: |https\S+ -> ", line))
                lines += [line for line in received if re.search(about, line)]
        write(FIXTURES / "venue_wire" / f"{exchange}.txt.gz", lines)


if __name__ == "__main__":
    main()
