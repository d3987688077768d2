"""Each trade once: a venue sends its last trades again at each connection.

A trade is known by the venue's id with its own numbers, or by its numbers alone: time, price, size and side, with their count.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from core.market.book import LARGEST
from core.market.events import Side, Trade, TradesBreak

MEMORY: Final = 20_000
"""Trades that are remembered: venues send fifty or a thousand again."""
MAX_MS: Final = 4_102_444_800_000
"""The year 2100, past which no time is one."""

SIDES: Final[Mapping[Any, Side]] = {"buy": "buy", "sell": "sell"}
Numbers = tuple[int | None, float | str, float | str, Side]
"""Time, price, size and side of a trade; a price or size that no market has as it was written."""


def _numbers(trade: Mapping[str, Any]) -> Numbers:
    time, side = trade.get("timestamp"), SIDES.get(trade.get("side"))
    whole = int(time) if isinstance(time, int | float) and 0 < time < MAX_MS else None
    return whole, _number(trade.get("price")), _number(trade.get("amount")), side


def _number(value: Any) -> float | str:
    return float(value) if isinstance(value, int | float) and 0 < value < LARGEST else repr(value)


def _id(trade: Mapping[str, Any]) -> str | None:
    """The venue's id as text, whatever its type; None where it has none: of some ccxt says the time in its place."""
    own = trade.get("id")
    if isinstance(own, float) and own.is_integer():
        own = int(own)
    text = "" if own is None or isinstance(own, bool) else str(own).strip()
    return None if text in ("", str(trade.get("timestamp")), str(trade.get("amount"))) else text


@dataclass
class _Known:
    """Memory of the trades of the same numbers: the connection in which each was sent last.

    Attributes:
        ids: by id, the one that was sent longest ago first. loose: of those without an id, in the same order.
    """

    ids: OrderedDict[str, int] = field(default_factory=OrderedDict)
    loose: deque[int] = field(default_factory=deque)


class TradeProof:
    """Tells trades from those that were sent before; outlives the connections of a feed. Its memory is bounded.

    Within one connection, equal numbers without an id are as many trades. In the next one as many of them may come again.

    Attributes:
        untimed, odd: trades without a time, and without a sensible price or size, each counted once; no tape can hold them.
        followed: whether trades are followed at all. cut_ms: since when they are not just now, None while they are.
    """

    def __init__(self) -> None:
        self.untimed = self.odd = 0
        self.followed = False
        self._size = 0
        self._connection = 0
        self._known: OrderedDict[Numbers, _Known] = OrderedDict()
        self.cut_ms: int | None = None

    def new_trades(self, message: Iterable[Mapping[str, Any]]) -> list[Trade]:
        """The trades of a message, in ccxt's form, that were not there before, by their time."""
        fresh = []
        for one in message:
            numbers, own = _numbers(one), _id(one)
            if self._seen(numbers, own):
                continue
            time, price, size, side = numbers
            if time is None:
                self.untimed += 1
            elif isinstance(price, str) or isinstance(size, str):
                self.odd += 1
            else:
                fresh.append(Trade(price=price, size=size, side=side, exchange_ms=time, id=own or ""))
        return sorted(fresh, key=lambda trade: trade.exchange_ms)

    def cut(self, at_ms: int) -> None:
        """The trades' connection broke: what comes by the next one may have come before."""
        self._connection += 1
        if self.followed and self.cut_ms is None:
            self.cut_ms = at_ms

    def resumed(self, at_ms: int) -> TradesBreak | None:
        """The trades are followed again; returns the time in which they were not, None where there was none."""
        since, self.cut_ms = self.cut_ms, None
        return None if since is None else TradesBreak(from_ms=since, until_ms=max(at_ms, since))

    def _seen(self, numbers: Numbers, own: str | None) -> bool:
        known, now = self._known.setdefault(numbers, _Known()), self._connection
        self._known.move_to_end(numbers)
        if own is not None and own in known.ids:
            known.ids[own] = now
            known.ids.move_to_end(own)
            return True
        if known.loose and known.loose[0] < now:  # sent before without an id, or with none now
            known.loose.popleft()
            self._keep(known, own)
            return True
        if own is None and known.ids and next(iter(known.ids.values())) < now:
            first = next(iter(known.ids))
            known.ids[first] = now
            known.ids.move_to_end(first)
            return True
        self._keep(known, own)
        self._size += 1
        while self._size > MEMORY:
            self._forget_oldest()
        return False

    def _forget_oldest(self) -> None:
        numbers, known = next(iter(self._known.items()))
        if known.loose:
            known.loose.popleft()
        else:
            known.ids.popitem(last=False)
        if not known.ids and not known.loose:
            del self._known[numbers]
        self._size -= 1

    def _keep(self, known: _Known, own: str | None) -> None:
        if own is None:
            known.loose.append(self._connection)
        else:
            known.ids[own] = self._connection
