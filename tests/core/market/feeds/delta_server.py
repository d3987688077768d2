"""Servers on 127.0.0.1 that speak Binance's, Kraken's and Bybit's market-data protocols, as ccxt reads them.

One made-up market, its book a dictionary per side. Each step changes it, and goes out as one message of changes unless a test
loses it. A server can refuse, fall silent, delist its market and go away.
"""

import asyncio
import contextlib
import json
import re
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from aiohttp import WSMsgType, web

from core.market.book import BookError, FloatArray, interleave
from core.market.feeds.venues import make_exchange

Side = dict[int, int]
"""Price in ticks to size in lots."""
Change = tuple[str, int, int]
"""Side, price in ticks, size in lots (0: removed)."""


class VenueServer(ABC):
    """A venue on 127.0.0.1 that answers, streams, refuses, falls silent and goes away; what it says is up to the subclass."""

    exchange: str
    symbol: str
    pace_s = 0.1
    """Seconds between two messages."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Of the ccxt exchange object."""
    streams, trades = True, False
    """Whether it has a socket of books, and one of trades."""

    def __init__(self) -> None:
        self.sockets: set[web.WebSocketResponse] = set()
        self._sending = asyncio.Lock()
        self.snapshots = self.asked = 0
        self.history: list[tuple[float, FloatArray]] = []
        """Each book since it was first remembered, and since when it holds, seconds; NaN where no row can be made of it."""
        self.port = 0
        self.clock: Callable[[], float] = lambda: time.time()  # of whichever clock the test runs by
        self.stamp_s = 0.0
        """How far the venue's clock is ahead of this machine's."""
        self.refuses_requests: int | None = None
        self.refuses_sockets: int | None = None
        self.retry_after: str | None = None
        """Header of such a refusal."""
        self.delisted = False
        self.halted = False
        """Whether the list of markets says that the market is not traded now, while its book stands."""
        self.answers_after_s = 0.0
        """How long a subscription waits for its answer."""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr("core.market.feeds.live.make_exchange", self.make_exchange)
        return self

    def cut(self) -> None:
        """End every socket without a closing handshake."""
        for socket in list(self.sockets):
            if socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()

    async def __aexit__(self, *error: object) -> None:
        self._patch.undo()
        await self._runner.cleanup()

    async def send(self, text: str) -> None:
        """Send a message to everyone; nothing where there is none."""
        async with self._sending:
            for socket in list(self.sockets) if text else ():
                with contextlib.suppress(ConnectionError):
                    await socket.send_str(text)

    def remember(self) -> None:
        """Note the present book in the history."""
        try:
            levels = self.top()
        except BookError:
            levels = np.full(40, np.nan)
        self.history.append((self.clock(), levels))

    def go_on(self) -> None:
        """Note it where there is a history."""
        if self.history:
            self.remember()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        upgrade = request.headers.get("Upgrade", "").lower() == "websocket"
        refusal = self.refuses_sockets if upgrade else self.refuses_requests
        if refusal is not None:
            headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
            return web.Response(status=refusal, text="no", headers=headers)
        if not upgrade:
            answer = self._reply(request.match_info["path"])
            return answer if isinstance(answer, web.Response) else web.json_response(answer)
        socket = web.WebSocketResponse(heartbeat=None)
        await socket.prepare(request)
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                await asyncio.sleep(self.answers_after_s)
                async with self._sending:  # no change goes out between a snapshot and what was changed before it
                    # OKX is sent the bare word
                    for answer in self._on_text("ping" if message.data == "ping" else json.loads(message.data)):
                        self.sockets.add(socket)
                        await socket.send_str(answer if isinstance(answer, str) else json.dumps(answer))
        finally:
            self.sockets.discard(socket)
        return socket

    def make_exchange(self, exchange: str, symbol: str | None = None) -> Any:
        """As `core.market.feeds.venues.make_exchange`, which has its place while the server runs; this venue's is here."""
        made = make_exchange(exchange, symbol)
        if exchange == self.exchange:
            self.configure(made)
        return made

    def configure(self, exchange: Any) -> None:
        """Every address leads here, the host as the first part of the path."""
        exchange.enableRateLimit = False
        exchange.urls["api"] = self._moved(exchange.urls["api"])
        exchange.options |= self.options
        exchange.has |= {"watchOrderBook": self.streams, "watchTrades": self.trades}

    def _moved(self, urls: Any) -> Any:
        if isinstance(urls, dict):
            return {name: self._moved(url) for name, url in urls.items()}
        return re.sub(r"^(http|ws)s?://", rf"\1://127.0.0.1:{self.port}/", urls)

    @abstractmethod
    def step(self, levels: range | None = None) -> str:
        """Let the book change; returns the message about it, which is not sent yet."""

    async def until_lasting(self) -> None:
        """Go on until the next step lasts, when it is of the seventh level: what is lost with it is not put right by another."""
        await asyncio.sleep(0)

    @abstractmethod
    def top(self) -> FloatArray:
        """(40,) the ten best levels a side."""

    @abstractmethod
    def _reply(self, path: str) -> Any: ...

    @abstractmethod
    def _on_text(self, asked: Any) -> list[Any]: ...


class DeltaServer(VenueServer):
    """A venue with one made-up market of 60 levels a side; a tick is 0.1 and a lot 0.001."""

    depth: int

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        self._random = np.random.default_rng(seed)
        self._bid = 600_000
        self.asks: Side = {self._bid + 1 + i: self._size() for i in range(60)}
        self.bids: Side = {self._bid - i: self._size() for i in range(60)}
        self.number = 1_000

    # -- the market ---------------------------------------------------------------------------------------------------

    def step(self, levels: range | None = None) -> str:
        """Change the book, only at these levels where given; returns the message about it, which is not sent yet."""
        before = self.view()
        if levels is None and self._random.random() < 0.3:
            self._bid += int(self._random.integers(-1, 2))
        for side, first, sign in ((self.asks, self._bid + 1, 1), (self.bids, self._bid, -1)):
            for price in [price for price in side if sign * price < sign * first]:
                del side[price]
            for price in range(first, first + sign * 60, sign):
                if price not in side:
                    side[price] = self._size()
            side[first + sign * int(self._random.choice(levels or range(12)))] = self._size()
        return self.changed_since(before)

    def changed_since(self, before: dict[tuple[str, int], int]) -> str:
        """The message about what has changed in the book since a `view`; from now on the book is as it is."""
        after = self.view()
        self.number += 1
        self.go_on()
        changes = [(*key, after.get(key, 0)) for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
        return json.dumps(self._delta(changes))

    def best(self, count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The best asks and bids, price in ticks and size in lots."""
        return sorted(self.asks.items())[:count], sorted(self.bids.items(), reverse=True)[:count]

    def top(self) -> FloatArray:
        """(40,) the ten best levels a side."""
        asks, bids = (np.array([(price / 10, size / 1000) for price, size in side]) for side in self.best(10))
        return interleave(asks, bids)

    def view(self) -> dict[tuple[str, int], int]:
        """The levels that the stream tells of: side and price to size."""
        asks, bids = self.best(self.depth)
        return {("a", price): size for price, size in asks} | {("b", price): size for price, size in bids}

    def _size(self) -> int:
        return int(self._random.integers(1, 5_000))

    # -- the protocol -------------------------------------------------------------------------------------------------

    @property
    def stamp_ms(self) -> int:
        """The venue's clock."""
        return int((self.clock() + self.stamp_s) * 1e3)

    @abstractmethod
    def _delta(self, changes: list[Change]) -> dict[str, Any]: ...


class BinanceDeltaServer(DeltaServer):
    """Binance's spot streams: diff depth by update number."""

    exchange, symbol, depth = "binance", "BTC/USDT", 60

    def _reply(self, path: str) -> Any:
        if path.endswith("exchangeInfo"):
            base = "ETH" if self.delisted else "BTC"
            entry = {"symbol": f"{base}USDT", "status": "BREAK" if self.halted else "TRADING", "baseAsset": base}
            entry |= {"quoteAsset": "USDT", "isSpotTradingAllowed": True, "permissions": ["SPOT"]}
            filters = [{"filterType": "PRICE_FILTER", "minPrice": "0.1", "maxPrice": "1000000.0", "tickSize": "0.1"}]
            filters.append({"filterType": "LOT_SIZE", "minQty": "0.001", "maxQty": "9000.0", "stepSize": "0.001"})
            return {"timezone": "UTC", "serverTime": self.stamp_ms, "rateLimits": [], "symbols": [entry | {"filters": filters}]}
        if self.delisted:
            return {"code": -1121, "msg": "Invalid symbol."}
        self.asked += 1
        self.snapshots += bool(self.sockets)
        asks, bids = ([[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for p, s in side] for side in self.best(60))
        return {"lastUpdateId": self.number, "asks": asks, "bids": bids}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"result": None, "id": asked["id"]}]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {key: [[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for side, p, s in changes if side == key] for key in ("a", "b")}
        return {"e": "depthUpdate", "E": self.stamp_ms, "s": "BTCUSDT", "U": self.number, "u": self.number, **sides}


class KrakenServer(DeltaServer):
    """Kraken's websocket v2, with its checksum (docs.kraken.com, "Book: checksum")."""

    exchange, symbol, depth = "kraken", "BTC/USD", 25

    def _reply(self, path: str) -> Any:
        if path.endswith("Assets"):
            names = {"XXBT": "XBT", "ZUSD": "USD"}
            about = {"aclass": "currency", "decimals": 10, "display_decimals": 5, "status": "enabled"}
            return {"error": [], "result": {name: {**about, "altname": alt} for name, alt in names.items()}}
        if path.endswith("AssetPairs"):
            if self.delisted:
                return {"error": [], "result": {}}
            pair = {"altname": "XBTUSD", "wsname": "XBT/USD", "base": "XXBT", "quote": "ZUSD"}
            pair["status"] = "cancel_only" if self.halted else "online"
            return {"error": [], "result": {"XXBTZUSD": pair | {"pair_decimals": 1, "lot_decimals": 8, "ordermin": "0.0001"}}}
        if self.delisted:
            return {"error": ["EQuery:Unknown asset pair"]}
        self.asked += 1
        asks, bids = ([[f"{p / 10:.1f}", f"{s / 1000:.3f}", 1_700_000_000] for p, s in side] for side in self.best(100))
        return {"error": [], "result": {"XXBTZUSD": {"asks": asks, "bids": bids}}}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        if asked.get("method") == "ping":
            return [{"method": "pong", "req_id": asked.get("req_id")}]
        if asked.get("method") != "subscribe" or asked["params"]["channel"] != "book":
            return []
        if self.delisted:
            answer = {"error": "Currency pair not supported BTC/USD", "method": "subscribe", "success": False}
            return [answer | {"req_id": asked.get("req_id")}]
        self.snapshots += 1
        asks, bids = ([{"price": p / 10, "qty": s / 1000} for p, s in side] for side in self.best(self.depth))
        data = {"symbol": self.symbol, "asks": asks, "bids": bids, "checksum": self.checksum()}
        return [{"channel": "book", "type": "snapshot", "data": [data]}]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {
            name: [{"price": price / 10, "qty": size / 1000} for side, price, size in changes if side == key]
            for name, key in (("asks", "a"), ("bids", "b"))
        }
        stamp = datetime.fromtimestamp(self.stamp_ms / 1e3, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        data = {"symbol": self.symbol, **sides, "checksum": self.checksum(), "timestamp": stamp}
        return {"channel": "book", "type": "update", "data": [data]}

    def checksum(self) -> int:
        """Of whole numbers: prices have one decimal and sizes eight, so that leaving out the point multiplies by ten to that."""
        asks, bids = self.best(10)
        return zlib.crc32("".join(f"{price}{size * 10**5}" for price, size in asks + bids).encode())


class BybitServer(DeltaServer):
    """Bybit's v5 public streams."""

    exchange, symbol, depth = "bybit", "BTC/USDT", 50
    options: ClassVar = {"fetchMarkets": {"types": ["spot"]}}

    def _reply(self, path: str) -> Any:
        if path.endswith("instruments-info"):
            entry = {"symbol": "BTCUSDT", "baseCoin": "BTC", "quoteCoin": "USDT", "status": "Trading", "marginTrading": "none"}
            lots = {"basePrecision": "0.001", "quotePrecision": "0.1", "minOrderQty": "0.001", "maxOrderQty": "100"}
            entry |= {"lotSizeFilter": lots, "priceFilter": {"tickSize": "0.1"}}
            if self.delisted or self.halted:
                entry["status"] = "Closed"
            return {"retCode": 0, "retMsg": "OK", "result": {"category": "spot", "list": [entry]}}
        if self.delisted:
            return {"retCode": 10001, "retMsg": "params error: symbol invalid BTCUSDT", "result": {}}
        self.asked += 1
        return {"retCode": 0, "retMsg": "OK", "result": self._book(200)}

    def _book(self, depth: int) -> dict[str, Any]:
        asks, bids = ([[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for p, s in side] for side in self.best(depth))
        return {"s": "BTCUSDT", "a": asks, "b": bids, "ts": self.stamp_ms, "u": self.number}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        if asked.get("op") == "ping":
            return [{"success": True, "ret_msg": "pong", "op": "ping"}]
        if asked.get("op") != "subscribe" or not asked["args"][0].startswith("orderbook."):
            return []
        if self.delisted:
            text = f"Invalid symbol :[{asked['args'][0]}]"
            return [{"success": False, "ret_msg": text, "op": "subscribe", "req_id": asked.get("req_id")}]
        self.snapshots += 1
        answer = {"success": True, "ret_msg": "", "op": "subscribe"}
        return [
            answer,
            {"topic": "orderbook.50.BTCUSDT", "type": "snapshot", "ts": self.stamp_ms, "data": self._book(self.depth)},
        ]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {key: [[f"{p / 10:.1f}", f"{s / 1000:.3f}"] for side, p, s in changes if side == key] for key in ("a", "b")}
        data = {"s": "BTCUSDT", **sides, "u": self.number, "seq": 7 * self.number}
        return {"topic": "orderbook.50.BTCUSDT", "type": "delta", "ts": self.stamp_ms, "data": data}


class UnnumberedBybitServer(BybitServer):
    """Bybit with update numbers that say nothing, in place of a venue that has none."""

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        message = super()._delta(changes)
        message["data"]["u"] *= 3
        return message


class HtxServer(DeltaServer):
    """HTX' spot stream `mbp.150`: changes name the number before theirs, and the snapshot is asked for by socket."""

    exchange, symbol, depth = "htx", "BTC/USDT", 60
    options: ClassVar = {"fetchMarkets": {"types": {"spot": True, "linear": False, "inverse": False}}}

    def __init__(self, seed: int = 1) -> None:
        super().__init__(seed)
        self._told = self.number

    def _reply(self, path: str) -> Any:
        if "symbols" in path:
            entry = {"base-currency": "btc", "quote-currency": "usdt", "price-precision": 1, "amount-precision": 3}
            entry |= {"symbol": "btcusdt", "state": "online", "symbol-partition": "main", "value-precision": 8}
            return {"status": "ok", "data": [entry]}
        if "currenc" in path:
            return {"status": "ok", "code": 200, "data": []}
        self.asked += 1
        return {"status": "ok", "ts": self.stamp_ms, "tick": self._book() | {"ts": self.stamp_ms, "version": self.number}}

    def _book(self) -> dict[str, Any]:
        asks, bids = ([[p / 10, s / 1000] for p, s in side] for side in self.best(self.depth))
        return {"asks": asks, "bids": bids}

    def _on_text(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        answer = {"id": asked.get("id"), "status": "ok", "ts": self.stamp_ms}
        if "sub" in asked:
            return [answer | {"subbed": asked["sub"]}]
        if "req" not in asked:
            return []
        self.snapshots += 1
        return [answer | {"rep": asked["req"], "data": {"seqNum": self.number, **self._book()}}]

    def _delta(self, changes: list[Change]) -> dict[str, Any]:
        sides = {n: [[p / 10, s / 1000] for side, p, s in changes if side == k] for n, k in (("asks", "a"), ("bids", "b"))}
        before, self._told = self._told, self.number
        tick = {"seqNum": self.number, "prevSeqNum": before, **sides}
        return {"ch": "market.btcusdt.mbp.150", "ts": self.stamp_ms, "tick": tick}
