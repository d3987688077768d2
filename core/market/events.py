"""Events that files, windows and sessions take from any feed: rows of the grid, trades, and what interrupts either."""

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from core.market.bands import Bands
from core.market.book import FloatArray, bid_ask_spread, mid_price

Side: TypeAlias = Literal["buy", "sell"] | None
"""The aggressor of a trade; None where the venue does not say."""


@dataclass(frozen=True, kw_only=True)
class Trade:
    """One trade: price in quote currency, size in the venue's unit, `side` the aggressor's (None where the venue omits it).

    Attributes:
        id: the venue's; "" where it has none, or the file does not keep it.
    """

    price: float
    size: float
    side: Side
    exchange_ms: int
    id: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class TradesBreak:
    """Trades were not followed from one time to another, milliseconds since the epoch; those still sent of then follow it."""

    from_ms: int
    until_ms: int


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """The venue confirmed the books up to this time (D27); for venues whose books do not confirm those before them.

    Attributes:
        until_ns: on `core.market.feeds.clock`'s clock.
    """

    until_ns: int


@dataclass(frozen=True, kw_only=True)
class BookLost:
    """The venue's book is unknown from this time until the next snapshot: it sent one that cannot be used.

    Attributes:
        from_ns: on `core.market.feeds.clock`'s clock.
    """

    from_ns: int


class Row(NamedTuple):
    """A row of the grid: one shape from here to the model, the screen, the files and other processes.

    Attributes:
        timestamp: milliseconds since the epoch, a multiple of 250.
        levels: the book at that time, (40 + 4m,): ten levels a side, then deeper ones.
        received_ns, formed_ns: when its book arrived, and when the row was made, on `core.market.feeds.clock`'s clock.
        provisional: whether no later message has confirmed it yet (D27).
        bands: all that the venue sends, in price bands, where the book brought them.
    """

    timestamp: int
    levels: FloatArray
    received_ns: int = 0
    formed_ns: int = 0
    provisional: bool = False
    bands: Bands | None = None

    @property
    def mid(self) -> float:
        """The mid-price, quote currency."""
        return float(mid_price(self.levels))

    @property
    def spread(self) -> float:
        """Best ask less best bid, quote currency."""
        return float(bid_ask_spread(self.levels))


@dataclass(frozen=True)
class Confirmed:
    """Rows up to this time are confirmed, milliseconds since the epoch (D27)."""

    until_ms: int


@dataclass(frozen=True)
class Gap:
    """Books may have been missed: provisional rows are no rows, and no window spans it.

    Attributes:
        kind: of the interruption: reconnect, resync, or clock. at_ms: when it was noticed.
    """

    kind: str = "reconnect"
    at_ms: int = 0
    message: str = ""


GridItem: TypeAlias = Row | Confirmed | Gap | Trade | TradesBreak | BookLost
"""An item that follows from a feed's events, in their order."""
GRID_ITEMS: Final = (Row, Confirmed, Gap, Trade, TradesBreak, BookLost)
