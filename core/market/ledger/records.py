"""One prediction of the ledger, and the hash that chains it to the one before."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.labels import Head
from core.messages import compose

FORMAT = 1
JOURNAL = "journal.jsonl"
HEADER = "ledger.json"


class LedgerError(ValueError):
    """A ledger that cannot be read or continued; the message says which file and why."""


@dataclass(frozen=True, kw_only=True)
class PredictionRecord:
    """One prediction as it is written down.

    Attributes:
        index: position in the chain, from 0.
        timestamp: of the newest row of the window, milliseconds UTC.
        written_ms: this machine's clock when the record was written.
        late: whether the first step of the horizon had already passed by then (D28); a late prediction is not scored.
        weights, card: SHA-256 of the checkpoint's weights file and card, hexadecimal.
        window: SHA-256 of the window's rows, hexadecimal (see `window_hash`).
        probabilities: (heads, 3) float32, in the order DOWN, STATIONARY, UP.
        calls: (heads,) int8, the class called.
    """

    index: int
    timestamp: int
    written_ms: int
    late: bool
    weights: str
    card: str
    window: str
    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]

    def chained(self, previous: str) -> str:
        """SHA-256, hexadecimal, of the previous hash followed by every field of this record.

        The bytes are: the previous hash (32), index, timestamp, written_ms (three little-endian int64), late (1 byte), weights,
        card, window (32 each), probabilities (little-endian float32, row by row), calls (int8).
        """
        fixed = struct.pack("<qqq?", self.index, self.timestamp, self.written_ms, self.late)
        digests = b"".join(bytes.fromhex(text) for text in (self.weights, self.card, self.window))
        numbers = self.probabilities.astype("<f4").tobytes() + self.calls.astype(np.int8).tobytes()
        return hashlib.sha256(bytes.fromhex(previous) + fixed + digests + numbers).hexdigest()


@dataclass(frozen=True, kw_only=True)
class LedgerHeader:
    """What a market's chain begins with.

    Attributes:
        market: key of the feed, such as "live/binance/BTC/USDT".
        heads: (label, horizon) of each column of a prediction.
        window: rows a prediction reads.
    """

    market: str
    heads: tuple[Head, ...]
    window: int

    @property
    def genesis(self) -> str:
        """The hash before the first record: SHA-256 of the header as JSON with sorted keys."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The header's file, on one line."""
        values = {"format": FORMAT, "heads": [list(head) for head in self.heads], "market": self.market, "window": self.window}
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, *, name: str) -> LedgerHeader:
        """The inverse of `to_json`.

        Raises:
            LedgerError: where the text is no header of this format.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            if values["format"] != FORMAT:
                raise LedgerError(
                    compose(
                        "{name} has format {found}: this version reads format {known}",
                        name=name,
                        found=values["format"],
                        known=FORMAT,
                    )
                )
            heads = tuple((label, int(horizon)) for label, horizon in values["heads"])
            return cls(market=str(values["market"]), heads=heads, window=int(values["window"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(
                compose("{name} is not a ledger's header: it needs format, market, heads and window", name=name)
            ) from error


def window_hash(timestamps: NDArray[np.int64], levels: FloatArray) -> str:
    """SHA-256, hexadecimal, of a window: its timestamps (little-endian int64), then its rows (little-endian float64)."""
    return hashlib.sha256(timestamps.astype("<i8").tobytes() + levels.astype("<f8").tobytes()).hexdigest()


def folder_name(market: str) -> str:
    """A feed's key as one folder name: "live/binance/BTC/USDT" -> "binance-BTC-USDT"."""
    return re.sub(r"[^\w.]+", "-", market.removeprefix("live/")).strip("-") or "market"


def prediction_columns(heads: Sequence[Head]) -> list[tuple[str, str, str, str]]:
    """Names of a head's columns in a segment: the three probabilities, then the call."""
    return [(f"{label}_{h}_p_down", f"{label}_{h}_p_stationary", f"{label}_{h}_p_up", f"{label}_{h}_call") for label, h in heads]
