"""What can be watched, as values: each names its feed and knows how to start it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.market import library
from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import SimulatedFeed

LEAD_ROWS = 400
"""Rows that come at once where a feed has a past to give: a hundred seconds, so that the page opens with predictions on
it, some of them already scored."""


class MarketSource(Protocol):
    """Something to watch. `key` is its feed's key."""

    @property
    def key(self) -> str:
        """What two viewers must agree on to share one feed."""
        ...

    def feed(self) -> Feed:
        """A feed, not yet started.

        Raises:
            BookError: where a recording cannot be read.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class RecordingSource:
    """A bundled recording, by its name in the library."""

    name: str

    @property
    def key(self) -> str:
        return f"recording/{self.name}"

    def feed(self) -> RecordingFeed:
        one = library.recording(self.name)
        return RecordingFeed(one.path, market=one.symbol, lead=LEAD_ROWS, key=self.key)


@dataclass(frozen=True, kw_only=True)
class LiveSource:
    """A ccxt exchange and one of its symbols."""

    exchange: str
    symbol: str

    @property
    def key(self) -> str:
        return f"live/{self.exchange}/{self.symbol}"

    def feed(self) -> LiveFeed:
        return LiveFeed(self.exchange, self.symbol)


@dataclass(frozen=True, kw_only=True)
class SimulatedSource:
    """A seeded market."""

    seed: int

    @property
    def key(self) -> str:
        return f"simulated/{self.seed}"

    def feed(self) -> SimulatedFeed:
        return SimulatedFeed(self.seed, lead=LEAD_ROWS)
