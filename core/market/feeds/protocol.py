"""The protocol of a feed: the one interface of a live exchange, a recording and a simulation.

A feed is an asynchronous stream of events. It runs in the process's one background loop, which creates, uses and closes
everything that the feed owns; its controls may be called from any thread.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias

from core.market.book import OrderBookSnapshot
from core.market.events import BookLost, Confirmation, Confirmed, Gap, Row, Trade, TradesBreak
from core.market.feeds.situations import Since
from core.messages import Refusal

Clock: TypeAlias = Literal["wall", "event"]


class Status(StrEnum):
    """Status of a feed, as it says itself and as a page shows it.

    WARMING, INTERRUPTED, STALE and STALLED are a session's findings: no feed says them.
    """

    CONNECTING = "connecting"
    WARMING = "warming"
    LIVE = "live"
    REPLAYING = "replaying"
    SIMULATING = "simulating"
    PAUSED = "paused"
    RECONNECTING = "reconnecting"
    INTERRUPTED = "interrupted"
    """The venue answers, and no row can be made: see `core.market.feeds.situations`."""
    STALE = "stale"
    STALLED = "stalled"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """The feed's state changed.

    Attributes:
        message: one sentence for a person, or empty.
        gap: whether books may have been missed. Rows that were not confirmed by then are dropped, and no window spans it.
        resync: whether the connection held, and only the book is asked for anew.
        situations: states of the market that pass, the oldest first; the message names them.
    """

    state: Status
    message: str = ""
    gap: bool = False
    resync: bool = False
    situations: tuple[Since, ...] = ()


FeedEvent: TypeAlias = OrderBookSnapshot | Trade | TradesBreak | StatusChange | Confirmation | BookLost | Row | Confirmed | Gap


class FeedFailed(Refusal):
    """The feed cannot continue and a retry would not help (a bad symbol, for example); the message is a sentence for a person."""


class Feed(Protocol):
    """A source of books.

    Attributes:
        key: identifies the feed, so that viewers share it: "live/binance/BTC/USDT", ...
        market: the symbol by which a checkpoint's card knows the market: "BTC/USDT", "NEXO/USDT", "simulated", ...
        clock: "wall" where rows are sampled by this machine's clock (a live exchange), "event" where the feed's own timestamps
            make the grid (recordings and simulations, at any speed).
        tick: the market's smallest step of price, quote currency; 0 where it is not known (a venue not connected yet).
        unit: of sizes, "BTC" or "contracts of 0.01 BTC"; "" where it is not known.
    """

    key: str
    market: str
    clock: Clock
    tick: float
    unit: str

    def events(self) -> AsyncIterator[FeedEvent]:
        """Books, trades and changes of state until the end. Closing the iterator closes everything the feed opened.

        Raises:
            FeedFailed: where the feed cannot continue.
        """
        ...


def is_cancelled() -> bool:
    """Tells whether the running task is being cancelled: ccxt cancels futures of its own when a socket breaks."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
