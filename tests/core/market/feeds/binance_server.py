"""A server on 127.0.0.1 that speaks Binance's market-data protocol from recorded messages, for ccxt's real client to talk to.

Spot and USD-M: exchangeInfo, depth snapshots, and sockets with SUBSCRIBE, diff-depth and trade streams. It keeps a book of its
own (two plain dicts) to answer snapshots from, and misbehaves on request.
"""

import asyncio
import contextlib
import gzip
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from aiohttp import WSMsgType, web

from core.market.book import FloatArray, interleave

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "binance_wire"

Levels = dict[str, str]
"""Price to size, both as Binance wrote them."""


@dataclass
class Wire:
    """Recorded messages of one market, in the order they came."""

    name: str
    before: list[dict[str, Any]]
    """Depth messages that came before the snapshot."""
    snapshot: dict[str, Any]
    after: list[dict[str, Any]]
    """Depth and trade messages that came after it."""
    tickers: dict[int, dict[str, Any]]
    """Best prices by update number."""

    @property
    def linear(self) -> bool:
        return self.name.startswith("usdm")

    @property
    def symbol(self) -> str:
        base = self.name.split("_")[1].removesuffix("usdt").upper()
        return f"{base}/USDT:USDT" if self.linear else f"{base}/USDT"


def read_wire(path: Path) -> Wire:
    with gzip.open(path, "rt") as file:
        messages = [json.loads(line.split(" ", 1)[1]) for line in file]
    at = next(i for i, message in enumerate(messages) if "lastUpdateId" in message)

    def data_of(part: list[dict[str, Any]], *streams: str) -> list[dict[str, Any]]:
        return [m["data"] for m in part if any(stream in m.get("stream", "") for stream in streams)]

    return Wire(
        name=path.name.split(".")[0],
        before=data_of(messages[:at], "@depth"),
        snapshot=messages[at],
        after=data_of(messages[at:], "@depth", "@trade"),
        tickers={ticker["u"]: ticker for ticker in data_of(messages, "@bookTicker")},
    )


def fixture(name: str) -> Wire:
    return read_wire(FIXTURES / f"{name}.jsonl.gz")


@dataclass
class BinanceServer:
    """Replays a `Wire` message by message, as the test asks.

    Args:
        snapshot_cap: most levels a side a snapshot gives.
        failing: HTTP status with which snapshots are refused, while set. handshake: the same for sockets.
        retry_after: header of such a refusal.
        lists: answers to the next requests for the list of markets, in place of the right one.
    """

    wire: Wire
    exchange: str = "binance"
    pace_s: float = 0.1
    snapshot_cap: int = 5000
    failing: int | None = None
    handshake: int | None = None
    retry_after: str | None = None
    lists: list[str] = field(default_factory=list)
    delisted: bool = False
    refusals: list[float] = field(default_factory=list)
    history: list[tuple[float, FloatArray]] = field(default_factory=list)
    """The ten best levels a side after each message, and when, seconds since the epoch; kept from `start_history` on."""
    _keeps_history: bool = False
    sockets: dict[web.WebSocketResponse, set[str]] = field(default_factory=dict)
    snapshots: int = 0
    connections: int = 0
    port: int = 0
    subscribed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.bids: Levels = dict(self.wire.snapshot["bids"])
        self.asks: Levels = dict(self.wire.snapshot["asks"])
        self.last_id: int = self.wire.snapshot["lastUpdateId"]
        self.next = 0
        for message in self.wire.before:  # the last of them reaches past the snapshot
            self._apply(message)

    @property
    def symbol(self) -> str:
        return self.wire.symbol

    # -- life ---------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/{api}/{version}/exchangeInfo", self._exchange_info)
        app.router.add_get("/{api}/{version}/depth", self._depth)
        app.router.add_get("/{kind}/ws/{number}", self._socket)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await self.open_port()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    async def open_port(self) -> None:
        self._site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await self._site.start()
        self.port = self._runner.addresses[0][1]

    async def close_port(self) -> None:
        """Take no more connections; those there stay."""
        await self._site.stop()

    def configure(self, exchange: Any) -> None:
        """Point a ccxt exchange object here."""
        exchange.enableRateLimit = False  # this server sets no limit, and the tests need not wait for one
        web_root, socket_root = f"http://127.0.0.1:{self.port}", f"ws://127.0.0.1:{self.port}"
        api = exchange.urls["api"]
        api["public"], api["fapiPublic"] = f"{web_root}/api/v3", f"{web_root}/fapi/v1"
        # ccxt tells spot from futures by "/stream" in the address, and puts "public" into the futures one itself
        api["ws"]["spot"], api["ws"]["linear"] = f"{socket_root}/stream/ws", f"{socket_root}/ws"

    # -- faults -------------------------------------------------------------------------------------------------------

    async def send(self, text: str) -> None:
        """Send this text to everyone who follows the book."""
        for socket, streams in list(self.sockets.items()):
            if any("@depth" in stream for stream in streams):
                with contextlib.suppress(ConnectionError):
                    await socket.send_str(text)

    def step(self, levels: range | None = None) -> str:
        """The next depth message, which is not sent yet."""
        return json.dumps(self.next_depth())

    async def ping(self) -> None:
        """A heartbeat."""
        for socket in list(self.sockets):
            with contextlib.suppress(ConnectionError):
                await socket.ping()

    def next_depth(self) -> dict[str, Any]:
        """Let the next depth message happen without sending it; returns it."""
        while True:
            message = self._advance()
            if message["e"] == "depthUpdate":
                return message

    def _refuse(self, status: int) -> web.Response:
        self.refusals.append(time.monotonic())
        return web.Response(status=status, text="no", headers={"Retry-After": self.retry_after} if self.retry_after else None)

    def start_history(self) -> None:
        """Keep every book from here on, the present one included: a row may still show it when the first message is under way."""
        self._keeps_history = True
        self._remember(0.0)

    # -- replay -------------------------------------------------------------------------------------------------------

    async def send_next(self) -> dict[str, Any]:
        """Send the next recorded message to whoever subscribed to its stream; returns it."""
        message = self._advance()
        await self._publish(message)
        return message

    async def send_depth(self) -> dict[str, Any]:
        """`send_next` until a depth message has gone out; returns it."""
        while True:
            message = await self.send_next()
            if message["e"] == "depthUpdate":
                return message

    def lose(self, count: int) -> None:
        """Let `count` depth messages happen without sending them: a gap in the sequence."""
        while count:
            count -= self._advance()["e"] == "depthUpdate"

    async def drop(self) -> None:
        """Cut every socket without a closing handshake."""
        self.subscribed.clear()
        for socket in list(self.sockets):
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
        while self.sockets:
            await asyncio.sleep(0.01)

    def freeze(self) -> None:
        """Read nothing more from anyone."""
        for socket in self.sockets:
            if socket._req is not None and socket._req.transport is not None:
                socket._req.transport.pause_reading()  # type: ignore[attr-defined]

    def best(self) -> tuple[float, float, float, float]:
        """Best ask, its size, best bid, its size."""
        ask, bid = self.top(1)
        return (*ask[0], *bid[0])

    def top(self, count: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """The best asks and bids of the server's own book."""
        asks = sorted((float(price), float(size)) for price, size in self.asks.items())[:count]
        bids = sorted(((float(price), float(size)) for price, size in self.bids.items()), reverse=True)[:count]
        return asks, bids

    def _advance(self) -> dict[str, Any]:
        message = self.wire.after[self.next]
        self.next += 1
        if message["e"] == "depthUpdate":
            self._apply(message)
        return message

    def _apply(self, message: dict[str, Any]) -> None:
        if message["u"] <= self.last_id:
            return
        for levels, changes in ((self.bids, message["b"]), (self.asks, message["a"])):
            for price, size in changes:
                if float(size):
                    levels[price] = size
                else:
                    levels.pop(price, None)
        self.last_id = message["u"]
        if self._keeps_history:
            self._remember(time.time())

    def _remember(self, since: float) -> None:
        asks, bids = self.top(10)
        self.history.append((since, interleave(np.array(asks), np.array(bids))))

    # -- the protocol -------------------------------------------------------------------------------------------------

    async def _exchange_info(self, request: web.Request) -> web.Response:
        if self.lists:
            return web.Response(text=self.lists.pop(0), content_type="application/json")
        describe = _futures_symbol if request.match_info["api"] == "fapi" else _spot_symbol
        symbols = [describe(base) | ({"status": "BREAK"} if self.delisted else {}) for base in ("BTC", "ETH")]
        return web.json_response({"timezone": "UTC", "serverTime": 0, "rateLimits": [], "symbols": symbols})

    async def _depth(self, request: web.Request) -> web.Response:
        if self.failing is not None:
            return self._refuse(self.failing)
        if self.delisted:
            return web.json_response({"lastUpdateId": self.last_id, "bids": [], "asks": []})
        if request.query["symbol"] not in ("BTCUSDT", "ETHUSDT"):
            return web.json_response({"code": -1121, "msg": "Invalid symbol."}, status=400)
        self.snapshots += 1
        if self.next == 0 and self.sockets:  # as it was recorded: messages were coming in before the snapshot did
            for message in self.wire.before:
                await self._publish(message)
            return web.json_response(self.wire.snapshot)
        count = min(int(request.query.get("limit", 100)), self.snapshot_cap)
        bids = sorted(self.bids.items(), key=lambda level: -float(level[0]))[:count]
        asks = sorted(self.asks.items(), key=lambda level: float(level[0]))[:count]
        stamp = {key: self.wire.snapshot[key] for key in ("E", "T") if key in self.wire.snapshot}
        return web.json_response({"lastUpdateId": self.last_id, **stamp, "bids": bids, "asks": asks})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if self.handshake is not None:
            return self._refuse(self.handshake)
        socket = web.WebSocketResponse(heartbeat=None)
        await socket.prepare(request)
        self.connections += 1
        self.sockets[socket] = set()
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                asked = json.loads(message.data)
                if asked["method"] == "SUBSCRIBE":
                    self.sockets[socket].update(asked["params"])
                await self._send(socket, {"result": None, "id": asked["id"]})
                if any("@depth" in stream for stream in self.sockets[socket]):
                    self.subscribed.set()
        finally:
            del self.sockets[socket]
        return socket

    async def _publish(self, message: dict[str, Any]) -> None:
        kind = "@trade" if message["e"] == "trade" else "@depth"
        for socket, streams in list(self.sockets.items()):
            if any(kind in stream for stream in streams):
                await self._send(socket, message)

    @staticmethod
    async def _send(socket: web.WebSocketResponse, message: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            await socket.send_str(json.dumps(message))


def _spot_symbol(base: str) -> dict[str, Any]:
    return {
        "symbol": f"{base}USDT",
        "status": "TRADING",
        "baseAsset": base,
        "baseAssetPrecision": 8,
        "quoteAsset": "USDT",
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "orderTypes": ["LIMIT", "MARKET"],
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": True,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": "0.01000000", "maxPrice": "1000000.00000000", "tickSize": "0.01000000"},
            {"filterType": "LOT_SIZE", "minQty": "0.00001000", "maxQty": "9000.00000000", "stepSize": "0.00001000"},
        ],
        "permissions": ["SPOT"],
    }


def _futures_symbol(base: str) -> dict[str, Any]:
    return {
        "symbol": f"{base}USDT",
        "pair": f"{base}USDT",
        "contractType": "PERPETUAL",
        "deliveryDate": 4133404800000,
        "onboardDate": 1569398400000,
        "status": "TRADING",
        "baseAsset": base,
        "quoteAsset": "USDT",
        "marginAsset": "USDT",
        "pricePrecision": 2,
        "quantityPrecision": 3,
        "baseAssetPrecision": 8,
        "quotePrecision": 8,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": "556.80", "maxPrice": "4529764", "tickSize": "0.10"},
            {"filterType": "LOT_SIZE", "minQty": "0.001", "maxQty": "1000", "stepSize": "0.001"},
        ],
        "orderTypes": ["LIMIT", "MARKET"],
        "timeInForce": ["GTC"],
    }
