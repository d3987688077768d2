"""Servers on 127.0.0.1 that trade, too: at each connection they send their last twenty trades again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tests.core.market.feeds.delta_server import KrakenServer, VenueServer
from tests.core.market.feeds.replay_server import GEMINI, Replay, Wire

AGAIN: Final = 20


@dataclass(frozen=True)
class Sold:
    """One trade of a venue; without an id where it has none, without a time where the venue forgot it."""

    time_ms: int | None
    price: float
    size: float
    side: str
    id: str | int | None = None

    @property
    def numbers(self) -> tuple[Any, ...]:
        return self.time_ms, self.price, self.size, self.side


class Trading(VenueServer):
    """What the protocols share.

    Attributes:
        traded: all that happened, in its order. again: how many a new connection is sent.
    """

    again, trades = AGAIN, True

    def __init__(self, *wire: Wire) -> None:
        super().__init__(*wire)
        self.traded: list[Sold] = []

    async def trade(self, *sold: Sold, loud: bool = True) -> None:
        """Trades of one message; where it is not `loud`, nobody is told."""
        self.traded += sold
        if loud:
            for text in self.texts_of(sold):
                await self.send(text)

    def texts_of(self, sold: Sequence[Sold]) -> list[str]:
        raise NotImplementedError

    @property
    def last(self) -> list[Sold]:
        return self.traded[-self.again :] if self.again else []


class TradingKraken(Trading, KrakenServer):
    """Kraken: a snapshot of trades begins their channel; ids are whole numbers."""

    def _on_text(self, asked: dict[str, Any]) -> list[Any]:
        if asked.get("method") == "subscribe" and asked["params"]["channel"] == "trade":
            return [self._message("snapshot", self.last)] if self.last else [{"channel": "heartbeat"}]
        return super()._on_text(asked)

    def texts_of(self, sold: Sequence[Sold]) -> list[str]:
        return [json.dumps(self._message("update", sold))]

    def _message(self, kind: str, sold: Sequence[Sold]) -> dict[str, Any]:
        data = []
        for one in sold:
            entry: dict[str, Any] = {"symbol": self.symbol, "side": one.side, "price": one.price, "qty": one.size}
            if one.id is not None:
                entry["trade_id"] = one.id
            if one.time_ms is not None:
                entry["timestamp"] = datetime.fromtimestamp(one.time_ms / 1e3, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
            data.append(entry)
        return {"channel": "trade", "type": kind, "data": data}


class TradingGemini(Trading, Replay):
    """Gemini: the first message of a connection holds the book and the last trades, newest first."""

    def __init__(self) -> None:
        super().__init__(GEMINI)

    def snapshot(self) -> str:
        return json.dumps(self.wire.whole(self) | {"trades": [self._entry(one) for one in reversed(self.last)]})

    def texts_of(self, sold: Sequence[Sold]) -> list[str]:
        return [json.dumps(self._entry(one)) for one in sold]

    def _entry(self, one: Sold) -> dict[str, Any]:
        entry: dict[str, Any] = {"type": "trade", "symbol": self.market.upper(), "price": str(one.price), "side": one.side}
        entry |= {"quantity": str(one.size)} | ({} if one.id is None else {"event_id": one.id})
        return entry | ({} if one.time_ms is None else {"timestamp": one.time_ms})
