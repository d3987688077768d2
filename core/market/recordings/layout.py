"""Layout of recordings on disk, and of the ledger: `market/2024-08-08/13/rows_<first ms>.parquet`.

Beside the rows of an hour lie `trades_`, `updates_` and `events_` of the same time, where there are any (docs/recordings.md).
A loose Parquet or CSV file of rows is a recording as well.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

import pyarrow as pa

from core.market.recordings.stores import below_cache, is_store

FOLDER_VARIABLE: Final = "OBSERVATORY_RECORDINGS"
"""Environment variable: the folder or the store of the library, where the app records and converts to."""
DEFAULT_FOLDER: Final = Path("recordings")
ROWS, TRADES, UPDATES, EVENTS = "rows", "trades", "updates", "events"
KINDS: Final = (ROWS, TRADES, UPDATES, EVENTS)
GROUP_ROWS: Final = 14_400
"""Rows of a Parquet row group: an hour on the grid."""

UPDATES_SCHEMA: Final = pa.schema(
    [
        ("received_ns", pa.int64()),
        ("exchange_ms", pa.int64()),
        ("sequence", pa.int64()),
        ("fresh", pa.bool_()),
        ("side", pa.int8()),
        ("price", pa.float64()),
        ("size", pa.float64()),
    ]
)
"""One changed level of one message: when it was received and sent, the venue's number, whether the whole book is sent anew, 1 bid
or -1 ask, and its price and size; 0 for a level that is gone, or has sunk below the hundredth."""
EVENTS_SCHEMA: Final = pa.schema(
    [("timestamp", pa.int64()), ("kind", pa.string()), ("until", pa.int64()), ("message", pa.string())]
)
"""Events that interrupt the rows, ms by this machine's clock: start, gap (until the next row), reconnect, resync,
lost (the venue's book is unknown), clock (this machine's jumped), stop."""

_SEGMENT: Final = re.compile(r"(?P<day>.*(?:^|/)\d{4}-\d{2}-\d{2})/\d{2}/rows_\d+(_\d+)?\.parquet$")
_OTHER: Final = re.compile(r"(trades|updates|events|predictions|lost)_\d+(_\d+)?\.parquet$")
_DATE: Final = re.compile(r"[_-]?(250ms|native\w*)?[_-]*\d{4}-?\d{2}-?\d{2}.*$")


def library_folder() -> Path:
    """The library's folder by the environment; of a library in a store, this machine's folder for what is fetched from there."""
    address = library_address()
    return below_cache("library", address) if address else Path(os.environ.get(FOLDER_VARIABLE, "").strip() or DEFAULT_FOLDER)


def library_address() -> str | None:
    """Address of the store that is the library by the environment; None for a folder."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip().rstrip("/")
    return named if is_store(named) else None


def market_folder(market: str) -> str:
    """A market's symbol, or a feed's key, as a folder's name, which tells venues apart as the ledger's does.

    "BTC/USDT:USDT" is BTC-USDT-USDT, "live/binance/BTC/USDT" is binance-BTC-USDT; the owner of a playback is left out.
    """
    return re.sub(r"[^\w]+", "-", market.partition("~")[0].removeprefix("live/")).strip("-") or "market"


def hour_of(folder: Path, timestamp: int) -> Path:
    """`folder/day/hour` of a moment in milliseconds, UTC."""
    return folder / datetime.fromtimestamp(timestamp / 1e3, UTC).strftime("%Y-%m-%d/%H")


def segment_path(rows: Path, kind: str) -> Path:
    """The file of another kind that belongs to a file of rows."""
    return rows.with_name(f"{kind}_{rows.name.removeprefix('rows_')}")


def is_segment(path: Path) -> bool:
    """Tells whether a file is an hour of the library, by its name."""
    return bool(re.fullmatch(r"rows_\d+(_\d+)?\.parquet", path.name))


def recording_of(relative: str) -> str | None:
    """Name of the recording to which a file belongs, by its path below the library's folder; None for what holds no rows.

    An hour belongs to its market's day, `market/2024-08-08`; a loose file is a recording of its own, named without its ending.
    """
    path = PurePosixPath(relative)
    if path.suffix.lower() not in (".parquet", ".csv") or any(part.startswith(".") for part in path.parts):
        return None
    if segment := _SEGMENT.fullmatch(relative):
        return segment["day"]
    if _OTHER.fullmatch(path.name) or "trades" in path.parts[:-1]:
        return None
    return str(path.with_suffix(""))


def market_of(name: str) -> str:
    """A market's name as well as a recording's name tells it: the folder before the day, or the file's name before the date."""
    path = PurePosixPath(name)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.name):
        return path.parent.name or path.name
    return _DATE.sub("", path.name) or path.name
