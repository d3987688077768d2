"""Sources of a market: values that identify a feed and create it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from core.market.feeds.live import LiveFeed
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import SimulatedFeed
from core.market.store.index import find_recording

LEAD_ROWS = 400
"""Rows of a recording or a simulation that are played at once: a hundred seconds, so that the page opens with predictions, some
of them scored."""


@dataclass(frozen=True, kw_only=True)
class MarketSource:
    """Identifies a feed and creates it.

    Attributes:
        name: of a recording, bundled or of the library; a ccxt exchange and its symbol, "kraken/BTC/USD"; a simulation's seed.
        owner: keeps viewers' playbacks apart, and those who watch with another model; "" is shared by all.
    """

    kind: Literal["recording", "live", "simulated"]
    name: str
    owner: str = ""

    @property
    def key(self) -> str:
        """The feed's key: viewers with the same key share one feed."""
        return f"{self.kind}/{self.name}~{self.owner}" if self.owner else f"{self.kind}/{self.name}"

    def played_by(self, owner: str) -> MarketSource:
        """The source as this owner's, where it is played; a live market is everyone's."""
        return self if self.kind == "live" else replace(self, owner=owner)

    def feed(self) -> LiveFeed | RecordingFeed | SimulatedFeed:
        """A new feed, not started.

        Raises:
            BookError: where a recording cannot be read, or is not there.
        """
        if self.kind == "simulated":
            return SimulatedFeed(int(self.name), lead=LEAD_ROWS, key=self.key)
        if self.kind == "live":
            exchange, _, symbol = self.name.partition("/")
            feed = LiveFeed(exchange, symbol)
            feed.key = self.key
            return feed
        recording = find_recording(self.name)
        return RecordingFeed(recording.paths, market=recording.market, lead=LEAD_ROWS, key=self.key)
