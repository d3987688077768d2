"""Files of other formats, made from books to their published descriptions; each function returns them by name."""

from pathlib import Path

import numpy as np
import pandas as pd

from core.market.book import BookRows

Files = dict[str, Path]


def tardis(folder: Path, rows: BookRows, name: str, *, symbol: str | list[str] = "BTCUSDT", exchange: str = "binance") -> Files:
    """exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,...; ten levels of 25 given."""
    columns = [f"{side}[{i}].{what}" for i in range(25) for side in ("asks", "bids") for what in ("price", "amount")]
    frame = pd.DataFrame(rows.levels, columns=columns[:40]).reindex(columns=columns)
    about = {"exchange": exchange, "symbol": symbol, "timestamp": rows.timestamps * 1000 - 3_000}
    frame = pd.concat([pd.DataFrame(about | {"local_timestamp": rows.timestamps * 1000}, index=frame.index), frame], axis=1)
    frame.to_csv(folder / name, index=False)
    return {name: folder / name}


def lobster(folder: Path, rows: BookRows, stem: str, *, levels: int = 10, empty: int = 0, executed: int | None = None) -> Files:
    """Messages and books of the same lines; dollars times 10,000.

    Args:
        levels: as the names say. empty: levels more, without an order. executed: row that is a sale of 18 to the best ask.
    """
    names = [f"{stem}_34200000_57600000_{kind}_{levels}.csv" for kind in ("message", "orderbook")]
    books = np.where(np.arange(40) % 2 == 0, np.round(rows.levels * 1e4), np.ceil(rows.levels)).astype(int)
    books = np.concatenate([books, np.tile([9_999_999_999, 0, -9_999_999_999, 0], (len(rows), empty))], axis=1)
    np.savetxt(folder / names[1], books, fmt="%d", delimiter=",")
    lines = []
    for row, (when, price) in enumerate(zip((rows.timestamps - rows.timestamps[0]) / 1e3, books[:, 0], strict=True)):
        kind, side = (4, -1) if row == executed else (1, 1)
        lines.append(f"{34_200 + when - 3e-4 * (row > 0):.9f},{kind},{16113575 + row},18,{price},{side}\n")
    (folder / names[0]).write_text("".join(lines))
    return {name: folder / name for name in names}


def fi2010(folder: Path, levels: np.ndarray, name: str = "Train.txt") -> Files:
    """149 lines of as many numbers as there are events, (n, 40): their levels over 100,000, and 109 features."""
    values = np.concatenate([levels / 1e5, np.ones((len(levels), 109))], axis=1)
    np.savetxt(path := folder / name, values.T, fmt="%.10e", delimiter="   ", newline="\n   ")
    path.write_text("   " + path.read_text().rstrip() + "\n")
    return {name: path}
