"""Servers on 127.0.0.1 that speak Kraken's and Bybit's market-data protocols, as ccxt reads them, about a made-up market.

One market, its book a dictionary per side. Each step changes it, and goes out as one message of changes unless a test loses it.
"""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from aiohttp import WSMsgType, web

from core.market.book import FloatArray, interleave

Side = dict[int, int]
"""Price in ticks to size in lots."""
Change = tuple[str, int, int]
"""Side, price in ticks, size in lots (0: removed)."""


class DeltaServer(ABC):
    """A venue with one market of 60 levels a side; a tick is 0.1 and a lot 0.001."""

    exchange: str
    symbol: str
    depth: int

    def __init__(self, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self._bid = 600_000
        self.asks: Side = {self._bid + 1 + i: self._size() for i in range(60)}
        self.bids: Side = {self._bid - i: self._size() for i in range(60)}
        self.sockets: set[web.WebSocketResponse] = set()
        self.number = 1_000
        self.snapshots = self.asked = 0
        self.history: list[tuple[float, FloatArray]] = []
        self.port = 0

    async def __aenter__(self) -> DeltaServer:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    # -- the market ---------------------------------------------------------------------------------------------------

    def step(self, levels: range | None = None) -> str:
        """Change the book, only at these levels where given; returns the message about it, which is not sent yet."""
        before = self._view()
        if levels is None and self._random.random() < 0.3:
            self._bid += int(self._random.integers(-1, 2))
        for side, first, sign in ((self.asks, self._bid + 1, 1), (self.bids, self._bid, -1)):
            for price in [price for price in side if sign * price < sign * first]:
                del side[price]
            for i in range(60):
                side.setdefault(first + sign * i, self._size())
            side[first + sign * int(self._random.choice(levels or range(12)))] = self._size()
        after = self._view()
        self.number += 1
        self.history.append((time.time(), self.top()))
        changes = [(*key, after.get(key, 0)) for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
        return json.dumps(self._delta(changes))

    async def send(self, text: str) -> None:
        """Send a message to everyone."""
        for socket in list(self.sockets):
            with contextlib.suppress(ConnectionError):
                await socket.send_str(text)

    def best(self, count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The best asks and bids, price in ticks and size in lots."""
        return sorted(self.asks.items())[:count], sorted(self.bids.items(), reverse=True)[:count]

    def top(self) -> FloatArray:
        """(40,) the ten best levels a side."""
        asks, bids = (np.array([(price / 10, size / 1000) for price, size in side]) for side in self.best(10))
        return interleave(asks, bids)

    def _view(self) -> dict[tuple[str, int], int]:
        asks, bids = self.best(self.depth)
        return {("a", price): size for price, size in asks} | {("b", price): size for price, size in bids}

    def _size(self) -> int:
        return int(self._random.integers(1, 5_000))

    # -- the protocol -------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return web.json_response(self._reply(request.match_info["path"]))
        socket = web.WebSocketResponse(heartbeat=None)
        await socket.prepare(request)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            for answer in self._on_text(json.loads(message.data)):
                await socket.send_str(json.dumps(answer))
                self.sockets.add(socket)
        self.sockets.discard(socket)
        return socket

    @abstractmethod
    def configure(self, exchange: Any) -> None:
        """Point a ccxt exchange object here."""

    @abstractmethod
    def _reply(self, path: str) -> Any: ...

    @abstractmethod
    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]: ...

    @abstractmethod
    def _delta(self, changes: list[Change]) -> dict[str, Any]: ...


class KrakenServer(DeltaServer):
    """Kraken's websocket v2, with its checksum (docs.kraken.com, "Book: checksum")."""

    exchange, symbol, depth = "kraken", "BTC/USD", 25

    def configure(self, exchange: Any) -> None:
        exchange.enableRateLimit = False
        exchange.urls["api"]["public"] = f"http://127.0.0.1:{self.port}"
        exchange.urls["api"]["ws"]["publicV2"] = f"ws://127.0.0.1:{self.port}/v2"

    def _reply(self, path: str) -> Any:
        if path.endswith("Assets"):
            names = {"XXBT": "XBT", "ZUSD": "USD"}
            return {
                "error": [],
                "result": {
                    name: {"aclass": "currency", "altname": alt, "decimals": 10, "display_decimals": 5, "status": "enabled"}
                    for name, alt in names.items()
                },
            }
        if path.endswith("AssetPairs"):
            pair = {"altname": "XBTUSD", "wsname": "XBT/USD", "base": "XXBT", "quote": "ZUSD", "status": "online"}
            return {"error": [], "result": {"XXBTZUSD": pair | {"pair_decimals": 1, "lot_decimals": 8, "ordermin": "0.0001"}}}
        self.asked += 1
        asks, bids = ([[f"{p / 10:.1f}", f"{s / 1000:.3f}", 1_700_000_000] for p, s in side] for side in self.best(100))
        return {"error": [], "result": {"XXBTZUSD": {"asks": asks, "bids": bids}}}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        if asked.get("method") != "subscribe" or asked["params"]["channel"] != "book":
            return []
        self.snapshots += 1
        asks, bids = ([{"price": p / 10, "qty": s / 1000} for p, s in side] for side in self.best(self.depth))
        data = {"symbol": self.symbol, "asks": asks, "bids": bids, "checksum": self.checksum()}
        return [{"channel": "book", "type": "snapshot", "data": [data]}]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {
            name: [{"price": price / 10, "qty": size / 1000} for side, price, size in changes if side == key]
            for name, key in (("asks", "a"), ("bids", "b"))
        }
        data = {"symbol": self.symbol, **sides, "checksum": self.checksum(), "timestamp": "2023-10-06T17:35:55.440295Z"}
        return {"channel": "book", "type": "update", "data": [data]}

    def checksum(self) -> int:
        """Of whole numbers: prices have one decimal and sizes eight, so that leaving out the point multiplies by ten to that."""
        asks, bids = self.best(10)
        return zlib.crc32("".join(f"{price}{size * 10**5}" for price, size in asks + bids).encode())


class BybitServer(DeltaServer):
    """Bybit's v5 public streams."""

    exchange, symbol, depth = "bybit", "BTC/USDT", 50

    def configure(self, exchange: Any) -> None:
        exchange.enableRateLimit = False
        exchange.options["fetchMarkets"] = {"types": ["spot"]}
        exchange.urls["api"]["public"] = f"http://127.0.0.1:{self.port}"
        exchange.urls["api"]["ws"]["public"]["spot"] = f"ws://127.0.0.1:{self.port}/v5/public/spot"

    def _reply(self, path: str) -> Any:
        if path.endswith("instruments-info"):
            entry = {"symbol": "BTCUSDT", "baseCoin": "BTC", "quoteCoin": "USDT", "status": "Trading", "marginTrading": "none"}
            lots = {"basePrecision": "0.001", "quotePrecision": "0.1", "minOrderQty": "0.001", "maxOrderQty": "100"}
            entry |= {"lotSizeFilter": lots, "priceFilter": {"tickSize": "0.1"}}
            return {"retCode": 0, "retMsg": "OK", "result": {"category": "spot", "list": [entry]}}
        self.asked += 1
        return {"retCode": 0, "retMsg": "OK", "result": self._book(200)}

    def _book(self, depth: int) -> dict[str, Any]:
        asks, bids = ([[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for p, s in side] for side in self.best(depth))
        return {"s": "BTCUSDT", "a": asks, "b": bids, "ts": 1672765737733, "u": self.number}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        if asked.get("op") != "subscribe" or not asked["args"][0].startswith("orderbook."):
            return []
        self.snapshots += 1
        answer = {"success": True, "ret_msg": "", "op": "subscribe"}
        return [answer, {"topic": "orderbook.50.BTCUSDT", "type": "snapshot", "ts": 1, "data": self._book(self.depth)}]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {key: [[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for side, p, s in changes if side == key] for key in ("a", "b")}
        data = {"s": "BTCUSDT", **sides, "u": self.number, "seq": 7 * self.number}
        return {"topic": "orderbook.50.BTCUSDT", "type": "delta", "ts": 2, "data": data}


class UnnumberedBybitServer(BybitServer):
    """Bybit with update numbers that say nothing, in place of a venue that has none."""

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        message = super()._delta(changes)
        message["data"]["u"] *= 3
        return message
