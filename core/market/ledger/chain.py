"""The chain: what a ledger begins with, the bytes of an entry, and the hash that ties each entry to the one before."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.book import FILE_COLUMNS
from core.market.labels import LABEL_KINDS, Head
from core.messages import compose

FORMAT: Final = 2
HEADER: Final = "ledger.json"
HASH_BYTES: Final = 32
MAX_HEADS: Final = 64
MAX_WINDOW: Final = 10_000

CLOCK_MS: Final = 1_000
"""Largest difference between the clocks of two runs, milliseconds: an entry may be written so much before the one before it."""
GAP, ROW, PREDICTION = 0, 1, 2
"""Kinds of entry. A prediction is a row with what was predicted at it."""

Entries = NDArray[np.void]
"""(n,) entries of the type `entry_type`."""


class LedgerError(ValueError):
    """A ledger that cannot be read or continued; the message says which file and why."""


class OtherFormat(LedgerError):
    """A ledger of an earlier or later format: it is left as it is, and nothing is added to it."""


def entry_type(heads: int) -> np.dtype[np.void]:
    """The type of an entry, packed and little-endian.

    Fields:
        kind: GAP, ROW or PREDICTION. index: position in the chain, from 0. predictions: how many there are up to this entry.
        timestamp: of the row; of a gap, the last row's before it. written_ms: this machine's clock when the entry was written.
        confirmed_ms: rows up to this time were confirmed by then (D27); rows past the last such time before a gap are lost.
        levels: (40,) the row.
        weights, card: SHA-256 of the checkpoint's weights, and of what its card says of predicting (`predictor.identity`).
        probabilities: (heads, 3), DOWN, STATIONARY, UP. calls: (heads,) the class called.
        hash: SHA-256 of the hash before and the fields so far: of a gap those before `levels`, of a row those before `weights`.
        previous: the hash before, where the entry before is in another file; else zeros. Not hashed again.
    """
    times = [(name, "<i8") for name in ("index", "predictions", "timestamp", "written_ms", "confirmed_ms")]
    return np.dtype(
        [
            ("kind", "i1"),
            *times,
            ("levels", "<f8", (len(FILE_COLUMNS),)),
            ("weights", "u1", (HASH_BYTES,)),
            ("card", "u1", (HASH_BYTES,)),
            ("probabilities", "<f4", (heads, 3)),
            ("calls", "i1", (heads,)),
            ("hash", "u1", (HASH_BYTES,)),
            ("previous", "u1", (HASH_BYTES,)),
        ]
    )


def hashed_sizes(kind: np.dtype[np.void]) -> tuple[int, int, int]:
    """Bytes of an entry that are hashed, from its first on: of a gap, a row and a prediction."""
    fields = kind.fields
    assert fields is not None
    return fields["levels"][1], fields["weights"][1], fields["hash"][1]


def chained(previous: bytes, entry: bytes) -> bytes:
    """The hash of an entry: SHA-256 of the hash before it and the entry's bytes."""
    return hashlib.sha256(previous + entry).digest()


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """The newest entry of a chain at some moment: the end of an hour, of a day, or now. Its hash vouches for all before it.

    Attributes:
        index: position in the chain. predictions: how many the chain has up to it. written_ms: when it was written.
        hash: hexadecimal; what is noted elsewhere.
    """

    index: int
    predictions: int
    written_ms: int
    hash: str


def head_of(entries: Entries) -> ChainHead:
    """The head after these entries, at least one, in the order of the chain."""
    last = entries[-1]
    return ChainHead(
        index=int(last["index"]),
        predictions=int(last["predictions"]),
        written_ms=int(last["written_ms"]),
        hash=last["hash"].tobytes().hex(),
    )


@dataclass(frozen=True, kw_only=True)
class LedgerHeader:
    """First record of a market's chain.

    Attributes:
        market: key of the feed, such as "live/binance/BTC/USDT".
        heads: (label, horizon) of each column of a prediction.
        window: rows a prediction reads.
    """

    market: str
    heads: tuple[Head, ...]
    window: int

    @property
    def genesis(self) -> bytes:
        """The hash before the first entry: SHA-256 of the header as JSON with sorted keys."""
        return hashlib.sha256(self.to_json().encode()).digest()

    def to_json(self) -> str:
        """The header's file, on one line."""
        values = {"format": FORMAT, "heads": [list(head) for head in self.heads], "market": self.market, "window": self.window}
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, *, name: str) -> LedgerHeader:
        """The inverse of `to_json`.

        Raises:
            OtherFormat: for a header of another format.
            LedgerError: where the text is no header of this format.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            if type(values["format"]) is not int:
                raise ValueError
            if values["format"] == 1:
                raise OtherFormat(compose("it is of format 1, whose chain does not hold the rows: it is left as it is"))
            if values["format"] != FORMAT:
                raise OtherFormat(
                    compose("it is of format {other}: this version reads {known}", other=f"{values['format']:.6g}", known=FORMAT)
                )
            heads = tuple((label, int(horizon)) for label, horizon in values["heads"])
            header = cls(market=str(values["market"]), heads=heads, window=int(values["window"]))
            sensible = all(label in LABEL_KINDS and horizon > 0 for label, horizon in heads)
            if not (sensible and 0 < len(heads) <= MAX_HEADS and 0 < header.window <= MAX_WINDOW):
                raise ValueError
            if text != header.to_json() or not header.market.isprintable():  # a key twice, 24.0 for 24: other readers differ
                raise ValueError
            return header
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(
                compose("{name} is not a ledger's header: it needs format, market, heads and window", name=name)
            ) from error


def folder_name(market: str) -> str:
    """A feed's key as one folder name: "live/binance/BTC/USDT" -> "binance-BTC-USDT"."""
    return re.sub(r"[^\w.]+", "-", market.removeprefix("live/")).strip("-") or "market"


def is_named_after(folder: str, market: str) -> bool:
    """Tells whether a folder's name is a market's, or one of those with a number behind it."""
    name = folder_name(market)
    return folder == name or (folder.startswith(f"{name}_") and folder.removeprefix(f"{name}_").isdecimal())
