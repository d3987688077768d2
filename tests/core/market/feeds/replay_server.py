"""A server on 127.0.0.1 that sends again what a venue once sent (tests/fixtures/venue_wire), with a book of plain dictionaries.

Whoever subscribes first is sent the captured snapshot, and later ones the book as it is by then in the same form. A venue's
protocol is a `Wire`: how its messages read, and what it answers.
"""

import gzip
import heapq
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.market.book import FloatArray, interleave
from tests.core.market.feeds.delta_server import KrakenServer, VenueServer

FIXTURES: Final = Path(__file__).resolve().parents[3] / "fixtures"
ANSWER: Final = re.compile(r'\S+ -> [\d.]+: |\d+ (?={"lastUpdateId)')
"""Begins a line of a capture that is the answer to a request; Binance's have no address."""
PUT_RIGHT_S: Final = 4.0
"""What is lost is not put right by another message for so long."""
Item = tuple[str, Any, Any, Any]
"""Side, the list or dictionary that holds a level, and the keys of its price and size in it."""


@dataclass(frozen=True)
class Wire:
    """A captured market, and as much of its venue's protocol as it needs.

    Attributes:
        market: symbol by the venue. capture: name of its file where that is not the exchange's.
        lasts_s: seconds that the capture lasts, at an even pace.
        of: market of a message. kind: of one of this market: "snapshot", "change", "other" where it is sent all the same.
        levels: in a message. number: of a message about the book; the next one where the venue does not number them.
        kept: whether a level is one to keep whatever its size. sent: a message of the capture as it is sent.
        whole: the book as the venue's stream begins with it; of a venue whose stream does not, as it answers requests.
        as_captured: whether the stream begins with the captured snapshot. asked_for: whether by request.
        answer: to a request, by its path. told: answers to a message by socket.
    """

    exchange: str
    symbol: str
    market: str
    _: KW_ONLY
    of: Callable[..., Any]
    kind: Callable[..., str]
    levels: Callable[..., Iterable[Item]]
    whole: Callable[..., Any]
    answer: Callable[..., Any]
    told: Callable[..., list[Any]]
    number: Callable[..., int] = lambda server, _message: server.number + 1
    kept: Callable[..., bool] = lambda _item: True
    sent: Callable[..., str] = lambda _server, text: text
    as_captured: bool = True
    asked_for: bool = False
    contract: bool = False
    capture: str = ""
    lasts_s: float = 35.0


@cache
def text_of(number: float) -> str:
    """A number as venues write them: no exponent, no zeros at the end."""
    return np.format_float_positional(number, trim="-")


def listed(data: Any, asks: str = "asks", bids: str = "bids", price: Any = 0, size: Any = 1) -> Iterator[Item]:
    """The levels of a message that lists them by side."""
    for side, name in (("asks", asks), ("bids", bids)):
        for item in data.get(name, ()):
            yield side, item, price, size


def bought_or_sold(changes: list[Any]) -> Iterator[Item]:
    """Those of one that lists them by "buy" and "sell"."""
    return (("bids" if item[0] == "buy" else "asks", item, 1, 2) for item in changes)


class Replay(VenueServer):
    """A captured market; see the module."""

    gives = 1000
    """Most levels a side of a snapshot of Binance's, after the captured one."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.wire, self.exchange, self.symbol, self.market = wire, wire.exchange, wire.symbol, wire.market
        self.book: dict[str, dict[float, float]] = {"asks": {}, "bids": {}}
        self.number = 0
        self.first = ""
        """The captured snapshot, until the book has moved."""
        self._script: list[tuple[str, Any]] = []
        self._next = 0
        for is_answer, text in captured(wire.capture or wire.exchange):
            message = json.loads(text)
            kind = "snapshot" if is_answer else self.kind(message)
            if kind == "snapshot" and not self.first:
                self.first = text
                self._apply(message)
            elif kind and self.first and (kind == "other" or wire.number(self, message) > self.number):
                self._script.append((text, message))
        self.pace_s = wire.lasts_s / len(self._script)

    def __len__(self) -> int:
        return len(self._script)

    @property
    def left(self) -> int:
        """Messages that are still to come."""
        return len(self._script) - self._next

    def configure(self, exchange: Any) -> None:
        """The list of markets is this one market."""
        super().configure(exchange)
        exchange.has["fetchCurrencies"] = False
        exchange.apiKey = exchange.secret = exchange.password = "c2VjcmV0"  # Coinbase Exchange shows its stream to nobody else

        async def markets(params: Any = None) -> list[Any]:
            base, _, quote = self.symbol.partition("/")
            contract = self.wire.contract
            kind = {"type": "swap" if contract else "spot", "spot": not contract, "swap": contract}
            kind |= {"contract": contract, "active": not self.delisted, "contractSize": 1.0 if contract else None}
            names = {"base": base, "quote": quote.split(":")[0], "settle": quote.split(":")[-1] if contract else None}
            names |= {"id": self.market, "lowercaseId": self.market.lower(), "symbol": self.symbol, "linear": contract}
            exchange.open()  # as the first request does
            return [exchange.safe_market_structure({**names, **kind})]

        exchange.fetch_markets = markets

    # -- the market ---------------------------------------------------------------------------------------------------

    def step(self, levels: range | None = None) -> str:
        if self._next == len(self._script):
            return ""
        text, message = self._script[self._next]
        self._next += 1
        if self.kind(message) == "change":
            self._apply(message)
            self.go_on()
        else:
            self.number = self.wire.number(self, message)
        return self.wire.sent(self, text)

    async def until_lasting(self) -> None:
        while self._next < len(self._script) and not self._lasts(
            *self._script[self._next :][: 1 + round(PUT_RIGHT_S / self.pace_s)]
        ):
            await self.send(self.step())

    def _lasts(self, first: tuple[str, Any], *rest: tuple[str, Any]) -> bool:
        """Whether the first of some messages changes one of the ten best levels, and the rest do not change it again."""
        tenth = {"asks": sorted(self.book["asks"])[9], "bids": sorted(self.book["bids"])[-10]}
        changed, again = (
            {
                (side, float(item[price_key]))
                for _, message in messages
                if self.kind(message) == "change"
                for side, item, price_key, _ in self.wire.levels(message)
            }
            for messages in ((first,), rest)
        )
        return any(price <= tenth[side] if side == "asks" else price >= tenth[side] for side, price in changed - again)

    def misprint(self, size: Any) -> str:
        """The next message, with a size written as something else."""
        while text := self.step():
            message = json.loads(text)
            for _, item, _, size_key in self.wire.levels(message) if self.kind(message) == "change" else ():
                if self.wire.kept(item) and float(item[size_key]):
                    item[size_key] = size
                    return json.dumps(message)
        raise AssertionError("the capture has no such message any more")

    def top(self) -> FloatArray:
        asks, bids = self.best(10)
        return interleave(np.array(asks), np.array(bids))

    def best(self, count: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """The best asks and bids."""
        asks, bids = self.book["asks"], self.book["bids"]
        best = heapq.nsmallest(count, asks), heapq.nlargest(count, bids)
        return [(price, asks[price]) for price in best[0]], [(price, bids[price]) for price in best[1]]

    def texts(self, count: int = 10_000, *more: Any) -> dict[str, list[list[Any]]]:
        """The book as lists of texts, and what else stands with each level."""
        asks, bids = ([[text_of(price), text_of(size), *more] for price, size in side] for side in self.best(count))
        return {"asks": asks, "bids": bids}

    def _apply(self, message: Any) -> None:
        for side, item, price_key, size_key in self.wire.levels(message):
            price, size = float(item[price_key]), abs(float(item[size_key])) * self.wire.kept(item)
            if size:
                self.book[side][price] = size
            else:
                self.book[side].pop(price, None)
        self.number = max(self.number, self.wire.number(self, message))

    # -- the protocol -------------------------------------------------------------------------------------------------

    def kind(self, message: Any) -> str:
        """Kind of a message; nothing where it is of another market."""
        return self.wire.kind(message) if self.wire.of(message) == self.market else ""

    def snapshot(self) -> str:
        """The captured snapshot; once the book has moved, one in the same form."""
        return self.first if self._next == 0 and self.wire.as_captured else json.dumps(self.wire.whole(self))

    def begun(self, *answers: Any) -> list[Any]:
        """Answers to a subscription, and the book that the stream begins with."""
        self.snapshots += 1
        return [*answers, self.snapshot()]

    def _reply(self, path: str) -> Any:
        self.asked += "bullet" not in path
        self.snapshots += self.wire.asked_for and bool(self.sockets)
        return self.wire.answer(self, path)

    def _on_text(self, asked: Any) -> list[Any]:
        return self.wire.told(self, asked)


def captured(name: str) -> Iterator[tuple[bool, str]]:
    """The lines of a capture: whether it answers a request, and the text; answers first."""
    (path,) = FIXTURES.glob(f"*_wire/{name}.*.gz")
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    for line in sorted(lines, key=lambda line: not ANSWER.match(line)):
        answers = ANSWER.match(line)
        yield bool(answers), line[answers.end() :] if answers else line.split(" ", 1)[1]


BINANCE: Final = Wire(  # changes by number with trades among them, and a snapshot on request
    *("binance", "BTC/USDT", "BTCUSDT"),
    capture="spot_btcusdt_20240808",
    lasts_s=120.0,
    asked_for=True,
    of=lambda message: message.get("data", {}).get("s"),
    kind=lambda message: {"depthUpdate": "change", "trade": "other"}.get(message["data"].get("e"), ""),
    levels=lambda message: listed(message) if "bids" in message else listed(message["data"], "a", "b"),
    number=lambda server, message: message["lastUpdateId"] if "bids" in message else message["data"].get("u", server.number),
    whole=lambda server: {"lastUpdateId": server.number, **server.texts(server.gives)},
    answer=lambda server, _path: json.loads(server.snapshot()),
    told=lambda _server, asked: [{"result": None, "id": asked["id"]}],
)
BINANCE_ETH: Final = replace(BINANCE, symbol="ETH/USDT", market="ETHUSDT", capture="spot_ethusdt_20240808", lasts_s=80.0)
BINANCE_USDM: Final = replace(  # a perpetual, whose changes name the number before theirs
    BINANCE, symbol="BTC/USDT:USDT", contract=True, capture="usdm_btcusdt_20240718", lasts_s=50.0
)
BINANCE_US: Final = replace(BINANCE, exchange="binanceus", symbol="OMG/BUSD", market="OMGBUSD", capture="", lasts_s=35.0)


def told_by_gate(_server: Replay, asked: Any) -> list[Any]:
    if asked["channel"] == "spot.ping":
        return [{"time": 0, "channel": "spot.pong", "event": "", "error": None, "result": None}]
    answer = {"time": asked["time"], "id": asked.get("id"), "channel": asked["channel"], "event": "subscribe"}
    return [answer | {"error": None, "result": {"status": "success"}}]


GATE: Final = Wire(  # `spot.order_book_update`, which ccxt reads for Gate EU: changes by number, and a snapshot on request
    *("gateeu", "OMG/USDT", "OMG_USDT"),
    asked_for=True,
    of=lambda message: (message.get("result") or {}).get("s"),
    kind=lambda message: "change" if (message["channel"], message["event"]) == ("spot.order_book_update", "update") else "",
    levels=lambda message: listed(message) if "bids" in message else listed(message["result"], "a", "b"),
    number=lambda _server, message: int(message["id"] if "bids" in message else message["result"]["u"]),
    whole=lambda server: {"id": server.number, **server.texts(100)},
    answer=lambda server, _path: (  # the times came later than the capture
        json.loads(server.snapshot()) | {"current": 1619093534347, "update": 1619093534347}
    ),
    told=told_by_gate,
)


def told_by_bitstamp(_server: Replay, asked: Any) -> list[Any]:
    if asked["event"] == "bts:heartbeat":
        return [{"event": "bts:heartbeat", "channel": "", "data": {"status": "success"}}]
    return [{"event": "bts:subscription_succeeded", "channel": asked["data"]["channel"], "data": {}}]


BITSTAMP: Final = Wire(  # changes by microsecond, which says nothing of lost ones, and a snapshot on request
    *("bitstamp", "BAT/BTC", "batbtc"),
    asked_for=True,
    of=lambda message: message["channel"].removeprefix("diff_order_book_"),
    kind=lambda message: "change" if message["event"] == "data" else "",
    levels=lambda message: listed(message.get("data", message)),
    number=lambda _server, message: int(message.get("data", message)["microtimestamp"]),
    whole=lambda server: {"timestamp": str(server.number // 10**6), "microtimestamp": str(server.number)} | server.texts(),
    answer=lambda server, _path: json.loads(server.snapshot()),
    told=told_by_bitstamp,
)


def whole_by_gemini(server: Replay) -> Any:
    changes = [[name, *level] for name, side in (("buy", "bids"), ("sell", "asks")) for level in server.texts()[side]]
    return {"type": "l2_updates", "symbol": server.market.upper(), "changes": changes, "trades": [], "auction_events": []}


GEMINI: Final = Wire(  # market data version 2, unnumbered: the first message holds the whole book, and recent trades
    *("gemini", "FIL/USD", "filusd"),
    of=lambda message: message["symbol"].lower(),
    kind=lambda message: "snapshot" if "auction_events" in message else "change",
    levels=lambda message: bought_or_sold(message["changes"]),
    whole=whole_by_gemini,
    answer=lambda server, _path: {
        side: [{"price": price, "amount": size, "timestamp": "0"} for price, size in levels]
        for side, levels in server.texts(50).items()
    },
    told=lambda server, _asked: server.begun(),
)


def whole_by_kraken_futures(server: Replay) -> Any:
    sides = {side: [{"price": p, "qty": s} for p, s in server.book[side].items()] for side in server.book}
    return {"feed": "book_snapshot", "product_id": server.market, "timestamp": 0, "seq": server.number, "tickSize": None, **sides}


KRAKEN_FUTURES: Final = Wire(  # one level a message, numbered by product
    *("krakenfutures", "XBT/USD:USD", "FI_XBTUSD_210730"),
    contract=True,
    of=lambda message: message.get("product_id"),
    kind=lambda message: {"book_snapshot": "snapshot", "book": "change"}.get(message["feed"], ""),
    levels=lambda message: (
        listed(message, price="price", size="qty")
        if message["feed"] == "book_snapshot"
        else [("bids" if message["side"] == "buy" else "asks", message, "price", "qty")]
    ),
    number=lambda _server, message: int(message["seq"]),
    whole=whole_by_kraken_futures,
    answer=lambda server, _path: {
        "result": "success",
        "serverTime": "2021-07-22T23:02:07.000Z",
        "orderBook": dict(zip(("asks", "bids"), server.best(1000), strict=True)),
    },
    told=lambda server, _asked: server.begun({"event": "subscribed", "feed": "book", "product_ids": [server.market]}),
)


def numbered_by_okx(server: Replay, text: str) -> str:
    message = json.loads(text)
    message["data"][0] |= {"prevSeqId": server.number - 1, "seqId": server.number}
    return json.dumps(message)


def whole_by_okx(server: Replay) -> Any:
    data = {**server.texts(400, "0", "1"), "ts": "1652459225381", "prevSeqId": -1, "seqId": server.number}
    return {"arg": {"channel": "books", "instId": server.market}, "action": "snapshot", "data": [data]}


OKX: Final = Wire(  # its messages of 2022 had no numbers yet: they have them here
    *("okx", "BTC/USDT", "BTC-USDT"),
    as_captured=False,
    of=lambda message: message.get("arg", {}).get("instId") if message["arg"]["channel"] == "books" else None,
    kind=lambda message: {"snapshot": "snapshot", "update": "change"}.get(message.get("action", ""), ""),
    levels=lambda message: listed(message["data"][0]),
    sent=numbered_by_okx,
    whole=whole_by_okx,
    answer=lambda server, _path: {"code": "0", "msg": "", "data": [{**server.texts(100, "0", "1"), "ts": "1652459225381"}]},
    told=lambda server, asked: ["pong"] if asked == "ping" else server.begun({"event": "subscribe", "arg": asked["args"][0]}),
)
COINBASE: Final = Wire(  # Coinbase Exchange's level2, unnumbered, shown to account holders
    *("coinbaseexchange", "YFI/BTC", "YFI-BTC"),
    of=lambda message: message.get("product_id"),
    kind=lambda message: {"snapshot": "snapshot", "l2update": "change"}.get(message["type"], ""),
    levels=lambda message: listed(message) if message["type"] == "snapshot" else bought_or_sold(message["changes"]),
    whole=lambda server: {"type": "snapshot", "product_id": server.market, **server.texts()},
    answer=lambda server, _path: {"sequence": 1, **server.texts(10_000, 1)},
    told=lambda server, _asked: server.begun(
        {"type": "subscriptions", "channels": [{"name": "level2", "product_ids": [server.market]}]}
    ),
)
CHANNEL: Final = 232955


def kind_by_bitfinex(message: Any) -> str:
    if not isinstance(message, list):
        return ""
    if message[0] != CHANNEL or not isinstance(message[1], list):
        return "other"
    return "snapshot" if isinstance(message[1][0], list) else "change"


def whole_by_bitfinex(server: Replay) -> list[Any]:
    levels = [[p, 1, sign * s] for sign, side in ((1, "bids"), (-1, "asks")) for p, s in server.book[side].items()]
    return [CHANNEL, levels, server.number]


def told_by_bitfinex(server: Replay, asked: Any) -> list[Any]:
    if asked["event"] == "conf":
        return [{"event": "conf", "status": "OK", "flags": asked["flags"]}]
    answer = {"event": "subscribed", "channel": "book", "chanId": CHANNEL, "symbol": server.market}
    return server.begun(answer | {"prec": "P0", "freq": "F0", "len": "100", "pair": server.market[1:]})


BITFINEX: Final = Wire(  # by channel, numbered over all channels of the connection, as was asked for when they were captured
    *("bitfinex", "IOTA/ETH", "tIOTETH"),
    of=lambda _message: "tIOTETH",
    kind=kind_by_bitfinex,
    levels=lambda message: (
        ("bids" if float(item[2]) > 0 else "asks", item, 0, 2)
        for item in (message[1] if isinstance(message[1][0], list) else [message[1]])
    ),
    number=lambda _server, message: int(message[-1]),
    kept=lambda item: item[1] != 0,
    whole=whole_by_bitfinex,
    answer=lambda server, _path: whole_by_bitfinex(server)[1],
    told=told_by_bitfinex,
)


def whole_by_kucoin(server: Replay) -> Any:
    data = {**server.texts(50), "timestamp": 1619378326663}
    return {"type": "message", "topic": f"/spotMarket/level2Depth50:{server.market}", "subject": "level2", "data": data}


def answer_of_kucoin(server: Replay, path: str) -> Any:
    if "bullet" in path:
        place = {"endpoint": f"ws://127.0.0.1:{server.port}/endpoint", "pingInterval": 18000, "pingTimeout": 10000}
        return {"code": "200000", "data": {"token": "T", "instanceServers": [place | {"encrypt": True}]}}
    return {"code": "200000", "data": {"time": 1619378326628, "sequence": str(server.number), **server.texts(100)}}


KUCOIN: Final = Wire(  # the app takes the fifty best levels whole in each message; here they are made from the captured changes
    *("kucoin", "SNX/BTC", "SNX-BTC"),
    as_captured=False,
    of=lambda message: message["topic"].rpartition(":")[2],
    kind=lambda _message: "change",
    levels=lambda message: (  # a price of zero only takes a number
        one for one in listed(message["data"].get("changes", message["data"])) if float(one[1][0])
    ),
    number=lambda _server, message: int(message["data"].get("sequence") or message["data"]["sequenceEnd"]),
    sent=lambda server, _text: json.dumps(whole_by_kucoin(server)),
    whole=whole_by_kucoin,
    answer=answer_of_kucoin,
    told=lambda server, asked: (
        [{"id": asked["id"], "type": "pong"}] if asked["type"] == "ping" else server.begun({"id": asked["id"], "type": "ack"})
    ),
)
WIRES: Final = (BINANCE_US, BITFINEX, BITSTAMP, COINBASE, GATE, GEMINI, KRAKEN_FUTURES, KUCOIN, OKX)


# -- servers that trade, too: at each connection they send their last twenty trades again -------------------------------


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

    again, trades = 20, True

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
