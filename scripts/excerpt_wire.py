"""Cut test fixtures out of recorded Binance messages: `python -m scripts.excerpt_wire --data DIR`.

DIR holds the recordings (gzip, one `<receive ns> <json>` per line). Of the first seconds, these lines are kept unchanged: every
depth message and snapshot, every best-price message whose update number a depth message has too (others cannot be compared with
a book), and one trade in twenty.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "binance_wire"
EXCERPTS = {"spot_btcusdt_20240808": 120, "spot_ethusdt_20240808": 80, "usdm_btcusdt_20240718": 50}
"""Recording and seconds of it."""
ONE_TRADE_IN = 20


def excerpt(lines: list[str], seconds: float) -> list[str]:
    """The lines kept."""
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


def main() -> None:
    """Write every excerpt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder of the recordings (*.gz)")
    data = parser.parse_args().data
    OUT.mkdir(parents=True, exist_ok=True)
    for name, seconds in EXCERPTS.items():
        with gzip.open(data / f"{name}.gz", "rt") as file:
            kept = excerpt(file.readlines(), seconds)
        packed = gzip.compress("".join(kept).encode(), 9, mtime=0)  # no date inside: the same input gives the same file
        (OUT / f"{name}.jsonl.gz").write_bytes(packed)
        print(f"{name}: {len(kept)} messages, {len(packed) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
