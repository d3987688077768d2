"""A recording's journal and its hourly segments, `market/2024-08-08/13/rows_<first ms>.parquet`.

Beside the rows of an hour lie files of other kinds, where there are any (docs/recordings.md). A file under its
own name is whole: it is written under another one, made durable, and renamed. What is not a file yet lies in a journal.
"""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.files import lock, write_whole

ROWS, TRADES, EVENTS, DEPTH, CALLS, LEADS = "rows", "trades", "events", "depth", "calls", "leads"
KINDS: Final = (ROWS, TRADES, EVENTS, DEPTH, CALLS)
FREE_SPACE: Final = 256 * 2**20
"""Bytes left free on the disk, at least: room to make files of a journal."""


def market_folder(market: str) -> str:
    """A market's symbol, or a feed's key, as a folder's name, which tells venues apart.

    "BTC/USDT:USDT" is BTC-USDT-USDT, "live/binance/BTC/USDT" is binance-BTC-USDT; the owner of a playback is left out.
    """
    return re.sub(r"[^\w]+", "-", market.partition("~")[0].removeprefix("live/")).strip("-") or "market"


def hour_of(folder: Path, timestamp: int) -> Path:
    """`folder/day/hour` of a moment in milliseconds, UTC."""
    return folder / datetime.fromtimestamp(timestamp / 1e3, UTC).strftime("%Y-%m-%d/%H")


def segment_path(rows: Path, kind: str) -> Path:
    """The file of another kind that belongs to a file of rows: beside an hour's, in a folder of the kind of a loose one."""
    if not is_segment(rows):
        return rows.parent / kind / f"{rows.stem}.parquet"
    return rows.with_name(f"{kind}_{rows.name.removeprefix('rows_')}")


def is_segment(path: Path) -> bool:
    """Tells whether a file is an hour of the library, by its name."""
    return bool(re.fullmatch(r"rows_\d+(_\d+)?\.parquet", path.name))


def below_library(path: Path) -> str:
    """A file's path as it lies below a library: market, day and hour of an hour, whose name alone says little; else its name."""
    return "/".join(path.parts[-4:]) if is_segment(path) else path.name


def is_full(folder: Path) -> bool:
    """Tells whether a folder's disk has less than `FREE_SPACE` left."""
    return shutil.disk_usage(folder).free < FREE_SPACE


def write_table(path: Path, table: pa.Table) -> None:
    """A table as a whole zstd Parquet file, in a folder that is made where it is missing; see `write_whole`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def remove_leftovers(folder: Path, names: str = ".*.parquet.part") -> None:
    """Delete half-written files, unless a running process is at work on them."""
    for path in folder.rglob(names):
        with path.open("ab") as file:
            if lock(file):
                path.unlink(missing_ok=True)
