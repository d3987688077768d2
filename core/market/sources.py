"""Sources of a market: values that identify a feed and create it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.market.feeds.live import LiveFeed
from core.market.feeds.protocol import Feed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import SimulatedFeed
from core.market.store.index import find_recording

LEAD_ROWS = 400
"""Rows of a recording or a simulation that are played at once: a hundred seconds, so that the page opens with predictions, some
of them scored."""


class MarketSource(Protocol):
    """Identifies a feed and creates it."""

    @property
    def key(self) -> str:
        """The feed's key: viewers with the same key share one feed."""
        ...

    def feed(self) -> Feed:
        """A new feed, not started.

        Raises:
            BookError: where a recording cannot be read.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class RecordingSource:
    """A recording, bundled or of the library, by its name; `owner` keeps viewers' playbacks apart."""

    name: str
    owner: str = ""

    @property
    def key(self) -> str:
        return _owned(f"recording/{self.name}", self.owner)

    def feed(self) -> RecordingFeed:
        recording = find_recording(self.name)
        return RecordingFeed(recording.paths, market=recording.market, lead=LEAD_ROWS, key=self.key)


@dataclass(frozen=True, kw_only=True)
class LiveSource:
    """A ccxt exchange and one of its symbols; `owner` keeps those apart who watch it with another model."""

    exchange: str
    symbol: str
    owner: str = ""

    @property
    def key(self) -> str:
        return _owned(f"live/{self.exchange}/{self.symbol}", self.owner)

    def feed(self) -> LiveFeed:
        feed = LiveFeed(self.exchange, self.symbol)
        feed.key = self.key
        return feed


@dataclass(frozen=True, kw_only=True)
class SimulatedSource:
    """A simulated market, by its seed; `owner` keeps viewers' markets apart."""

    seed: int
    owner: str = ""

    @property
    def key(self) -> str:
        return _owned(f"simulated/{self.seed}", self.owner)

    def feed(self) -> SimulatedFeed:
        return SimulatedFeed(self.seed, lead=LEAD_ROWS, key=self.key)


def _owned(key: str, owner: str) -> str:
    """Adds the owner to a key, so that two owners of one recording have a feed each. "" is shared by all."""
    return f"{key}~{owner}" if owner else key
