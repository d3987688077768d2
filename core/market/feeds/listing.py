"""Whether a venue's list of markets says that a market is traded: one that it halts may be traded again."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

NARROW: Final = ("okx", "okxus", "myokx", "kraken")
NARROW_SPOT: Final = ("binance", "binanceus", "bybit", "bybiteu")
"""Venues that list one market alone where asked to, any or a spot one."""
HALTED_S: Final = 1.5
QUIET_S: Final = 10.0
"""Seconds between two looks at the list, of a market that is halted, and of one that stands still."""
WHOLE_S: Final = 60.0
"""The same of one that stands still, where the whole list is asked for, up to ten megabytes."""
COST: Final = 4.0
"""A look is followed by a pause of so many times what it took, at least."""

log = logging.getLogger(__name__)


class Listing:
    """Entry of one market in its venue's list. It outlives the feed's connections.

    A list that calls a market halted while it is traded is not believed until it calls it traded again: some venues' words for a
    market that takes limit orders alone count as halted.

    Attributes:
        halted: whether the market is not traded now.
    """

    def __init__(self) -> None:
        self.halted = False
        self._was_active = self._disbelieved = False
        self._next_s = 0.0

    def update(self, market: Mapping[str, Any] | None) -> None:
        """Take in the market's entry; one that does not say whether it is traded counts as traded."""
        halted = market is not None and market.get("active") is False
        if not halted:
            self._was_active, self._disbelieved = True, False
        self.halted = halted and not self._disbelieved

    def book_changed(self) -> None:
        """The book of a halted market changed: orders are taken back in a halt, too, but where there was nothing else ever."""
        if not self._was_active:
            self.traded()

    def traded(self) -> None:
        """There was a trade, whatever the list says."""
        self.halted, self._disbelieved = False, True

    def is_due(self, exchange: Any, symbol: str, quiet_s: float, after_s: float) -> bool:
        """Tells whether to look: soon while the market is halted; else once it has stood still for `after_s`, now and then."""
        still = quiet_s >= (after_s if narrows(exchange, symbol) else max(after_s, WHOLE_S))
        return (self.halted or still) and time.monotonic() >= self._next_s

    async def look(self, exchange: Any, symbol: str) -> None:
        """Ask for the market's entry; an answer that lacks it, or does not come, says nothing."""
        began_s, narrow = time.monotonic(), narrows(exchange, symbol)
        try:
            found = [one for one in await _asked(exchange, symbol) if one.get("symbol") == symbol]
            if found:
                self.update(found[0])
        except Exception as error:
            log.debug("the list of markets of %s could not be read: %r", exchange.id, error)
        now_s = time.monotonic()
        self._next_s = now_s + max(HALTED_S if self.halted else QUIET_S if narrow else WHOLE_S, COST * (now_s - began_s))


def narrows(exchange: Any, symbol: str) -> bool:
    """Tells whether the venue lists one market alone where asked to."""
    return exchange.id in NARROW or (exchange.id in NARROW_SPOT and bool(exchange.markets[symbol].get("spot")))


async def _asked(exchange: Any, symbol: str) -> Sequence[Mapping[str, Any]]:
    """The market's entry, alone or among all others."""
    market = exchange.markets[symbol]
    found: Sequence[Mapping[str, Any]]
    if not narrows(exchange, symbol):
        found = await exchange.fetch_markets()
    elif exchange.id in ("bybit", "bybiteu"):
        found = await exchange.fetch_spot_markets({"symbol": market["id"]})
    elif exchange.id in ("okx", "okxus", "myokx"):
        found = await exchange.fetch_markets_by_type(market["type"], {"instId": market["id"]})
    else:
        found = await exchange.fetch_markets({"pair" if exchange.id == "kraken" else "symbol": market["id"]})
    return found
