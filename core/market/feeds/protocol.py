"""What a feed is: one protocol for the live exchange, a recording and a simulation.

A feed is an asynchronous stream of events. It runs inside the process's one background loop, where everything it owns is
created, used and closed; its controls may be called from any thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from core.market.book import OrderBookSnapshot


class FeedState(StrEnum):
    """What a feed is doing right now."""

    CONNECTING = "connecting"
    LIVE = "live"
    REPLAYING = "replaying"
    SIMULATING = "simulating"
    PAUSED = "paused"
    RECONNECTING = "reconnecting"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Trade:
    """One trade. `side` is the aggressor's, where the venue says it; price in quote currency, size in the venue's unit."""

    price: float
    size: float
    side: Literal["buy", "sell"] | None
    exchange_ms: int


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """The feed's state changed. `message` is one sentence for a person, empty where the state says it all.

    `gap` is True where books may have been missed, so that no window may span this moment.
    """

    state: FeedState
    message: str = ""
    gap: bool = False


FeedEvent = OrderBookSnapshot | Trade | StatusChange


class FeedFailed(Exception):
    """The feed cannot go on and trying again would not help (a bad symbol, say); the message is for a person."""


class Feed(Protocol):
    """A source of books.

    Attributes:
        key: what makes two feeds the same feed, for sharing one among viewers: "live/binance/BTC/USDT", ...
        market: symbol to look the market up in a checkpoint's card: "BTC/USDT", "NEXO/USDT", "simulated", ...
        clock: "wall" where a book holds until the next one comes (sample by this machine's clock), "event" where the
            feed's own timestamps drive the grid (recordings and simulations, at any speed).
    """

    key: str
    market: str
    clock: Literal["wall", "event"]

    def events(self) -> AsyncIterator[FeedEvent]:
        """Books, trades and changes of state until the end; closes what it opened when the iteration is closed.

        Raises:
            FeedFailed: where it cannot go on.
        """
        ...
