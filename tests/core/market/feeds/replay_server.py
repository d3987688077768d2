"""Servers on 127.0.0.1 that send again what venues once sent (tests/fixtures/venue_wire), each with a book of plain dictionaries.

Whoever subscribes first is sent the captured snapshot, and later ones the book as it is by then in the same form.
"""

import gzip
import heapq
import itertools
import json
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.market.book import FloatArray, interleave
from tests.core.market.feeds.delta_server import VenueServer

FIXTURES: Final = Path(__file__).resolve().parents[3] / "fixtures"
ANSWER: Final = re.compile(r'\S+ -> [\d.]+: |\d+ (?={"lastUpdateId)')
"""Begins a line of a capture that is the answer to a request; Binance's have no address."""
LASTS_S: Final = 35.0
"""Seconds that a capture lasts, at an even pace."""
PUT_RIGHT_S: Final = 4.0
"""What is lost is not put right by another message for so long."""
Item = tuple[str, Any, Any, Any]
"""Side, the list or dictionary that holds a level, and the keys of its price and size in it."""


@cache
def text_of(number: float) -> str:
    """A number as venues write them: no exponent, no zeros at the end."""
    return np.format_float_positional(number, trim="-")


def listed(data: Any, asks: str = "asks", bids: str = "bids", price: Any = 0, size: Any = 1) -> Iterator[Item]:
    """The levels of a message that lists them by side."""
    for side, name in (("asks", asks), ("bids", bids)):
        for item in data.get(name, ()):
            yield side, item, price, size


class Replay(VenueServer):
    """A captured market; see the module."""

    market: str
    """Symbol by the venue."""
    contract = False
    capture = ""
    """Name of its file where that is not the exchange's."""
    lasts_s = LASTS_S

    def __init__(self) -> None:
        super().__init__()
        self.book: dict[str, dict[float, float]] = {"asks": {}, "bids": {}}
        self.number = 0
        self.first = ""
        """The captured snapshot, until the book has moved."""
        self._script: list[tuple[str, Any]] = []
        self._next = 0
        for is_answer, text in captured(self.capture or self.exchange):
            message = json.loads(text)
            kind = "snapshot" if is_answer else self.kind(message)
            if kind == "snapshot" and not self.first:
                self.first = text
                self._apply(message)
            elif kind and self.first and (kind == "other" or self.number_of(message) > self.number):
                self._script.append((text, message))
        self.pace_s = self.lasts_s / len(self._script)

    def __len__(self) -> int:
        return len(self._script)

    @property
    def left(self) -> int:
        """Messages that are still to come."""
        return len(self._script) - self._next

    def configure(self, exchange: Any) -> None:
        """Every address leads here, the host as the first part of the path; the list of markets is this one market."""
        exchange.enableRateLimit = False
        exchange.urls["api"] = self._moved(exchange.urls["api"])
        exchange.has["fetchCurrencies"] = False
        exchange.apiKey = exchange.secret = exchange.password = "c2VjcmV0"  # Coinbase Exchange shows its stream to nobody else

        async def markets(params: Any = None) -> list[Any]:
            base, _, quote = self.symbol.partition("/")
            kind = {"type": "swap" if self.contract else "spot", "spot": not self.contract, "swap": self.contract}
            kind |= {"contract": self.contract, "active": not self.delisted, "contractSize": 1.0 if self.contract else None}
            names = {"base": base, "quote": quote.split(":")[0], "settle": quote.split(":")[-1] if self.contract else None}
            names |= {"id": self.market, "lowercaseId": self.market.lower(), "symbol": self.symbol, "linear": self.contract}
            exchange.open()  # as the first request does
            return [exchange.safe_market_structure({**names, **kind})]

        exchange.fetch_markets = markets

    def _moved(self, urls: Any) -> Any:
        if isinstance(urls, dict):
            return {name: self._moved(url) for name, url in urls.items()}
        return re.sub(r"^(http|ws)s?://", rf"\1://127.0.0.1:{self.port}/", urls)

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
            self.number = self.number_of(message)
        return text

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
                for side, item, price_key, _ in self.levels(message)
            }
            for messages in ((first,), rest)
        )
        return any(price <= tenth[side] if side == "asks" else price >= tenth[side] for side, price in changed - again)

    def misprint(self, size: str) -> str:
        """The next message, with a size written as something else."""
        while text := self.step():
            message = json.loads(text)
            for _, item, _, size_key in self.levels(message) if self.kind(message) == "change" else ():
                if self.kept(item) and float(item[size_key]):
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

    def texts(self, count: int = 10_000) -> dict[str, list[list[str]]]:
        """The book as lists of texts."""
        asks, bids = ([[text_of(price), text_of(size)] for price, size in side] for side in self.best(count))
        return {"asks": asks, "bids": bids}

    def _apply(self, message: Any) -> None:
        for side, item, price_key, size_key in self.levels(message):
            price, size = float(item[price_key]), abs(float(item[size_key])) * self.kept(item)
            if size:
                self.book[side][price] = size
            else:
                self.book[side].pop(price, None)
        self.number = max(self.number, self.number_of(message))

    def kept(self, item: Any) -> bool:
        """Whether a level is one to keep whatever its size."""
        return True

    # -- the protocol -------------------------------------------------------------------------------------------------

    @abstractmethod
    def kind(self, message: Any) -> str:
        """ "snapshot", "change", "other" where it is to be sent all the same, or nothing."""

    @abstractmethod
    def levels(self, message: Any) -> Iterator[Item]:
        """The levels in a message."""

    def number_of(self, message: Any) -> int:
        """The number of a message about the book; the next one where the venue does not number them."""
        return self.number + 1

    def snapshot(self) -> str:
        """The captured snapshot; once the book has moved, one in the same form."""
        return self.first if self._next == 0 else json.dumps(self.whole())

    def whole(self) -> Any:
        """The book as the venue's stream begins with it; of a venue whose stream does not, as it answers requests."""
        raise NotImplementedError

    def begun(self, *answers: Any) -> list[Any]:
        """Answers to a subscription, and the book that the stream begins with."""
        self.snapshots += 1
        return [*answers, self.snapshot()]


def captured(name: str) -> Iterator[tuple[bool, str]]:
    """The lines of a capture: whether it answers a request, and the text; answers first."""
    (path,) = FIXTURES.glob(f"*_wire/{name}.*.gz")
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    for line in sorted(lines, key=lambda line: not ANSWER.match(line)):
        answers = ANSWER.match(line)
        yield bool(answers), line[answers.end() :] if answers else line.split(" ", 1)[1]


class BinanceReplay(Replay):
    """Binance: changes by number with trades among them, and a snapshot on request."""

    exchange, symbol, market = "binance", "BTC/USDT", "BTCUSDT"
    capture, lasts_s = "spot_btcusdt_20240808", 120.0
    gives = 1000
    """Most levels a side of a snapshot, after the captured one."""

    def kind(self, message: Any) -> str:
        data = message.get("data", {})
        return {"depthUpdate": "change", "trade": "other"}.get(data.get("e"), "") if data.get("s") == self.market else ""

    def levels(self, message: Any) -> Iterator[Item]:
        yield from listed(message) if "bids" in message else listed(message["data"], "a", "b")

    def number_of(self, message: Any) -> int:
        return int(message["lastUpdateId"] if "bids" in message else message["data"].get("u", self.number))

    def whole(self) -> Any:
        return {"lastUpdateId": self.number, **self.texts(self.gives)}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        self.snapshots += bool(self.sockets)
        return json.loads(self.snapshot())

    def _on_text(self, asked: Any) -> list[Any]:
        return [{"result": None, "id": asked["id"]}]


class BinanceEthReplay(BinanceReplay):
    """Another of its spot markets."""

    symbol, market = "ETH/USDT", "ETHUSDT"
    capture, lasts_s = "spot_ethusdt_20240808", 80.0


class BinanceUsdmReplay(BinanceReplay):
    """A perpetual of Binance, whose changes name the number before theirs."""

    symbol, contract = "BTC/USDT:USDT", True
    capture, lasts_s = "usdm_btcusdt_20240718", 50.0


class BinanceUsReplay(BinanceReplay):
    """Binance US."""

    exchange, symbol, market = "binanceus", "OMG/BUSD", "OMGBUSD"
    capture, lasts_s = "binanceus", LASTS_S


class GateReplay(Replay):
    """Gate's `spot.order_book_update`, which ccxt reads for Gate EU: changes by number, and a snapshot on request."""

    exchange, symbol, market = "gateeu", "OMG/USDT", "OMG_USDT"

    def kind(self, message: Any) -> str:
        about = message.get("channel") == "spot.order_book_update" and message["event"] == "update"
        return "change" if about and message["result"]["s"] == self.market else ""

    def levels(self, message: Any) -> Iterator[Item]:
        yield from listed(message) if "bids" in message else listed(message["result"], "a", "b")

    def number_of(self, message: Any) -> int:
        return int(message["id"] if "bids" in message else message["result"]["u"])

    def whole(self) -> Any:
        return {"id": self.number, **self.texts(100)}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        return json.loads(self.snapshot()) | {"current": 1619093534347, "update": 1619093534347}  # came later than the capture

    def _on_text(self, asked: Any) -> list[Any]:
        if asked["channel"] == "spot.ping":
            return [{"time": 0, "channel": "spot.pong", "event": "", "error": None, "result": None}]
        answer = {"time": asked["time"], "id": asked.get("id"), "channel": asked["channel"], "event": "subscribe"}
        return [answer | {"error": None, "result": {"status": "success"}}]


class BitstampReplay(Replay):
    """Bitstamp: changes by microsecond, which says nothing of lost ones, and a snapshot on request."""

    exchange, symbol, market = "bitstamp", "BAT/BTC", "batbtc"

    def kind(self, message: Any) -> str:
        return "change" if message["channel"] == f"diff_order_book_{self.market}" and message["event"] == "data" else ""

    def levels(self, message: Any) -> Iterator[Item]:
        yield from listed(message.get("data", message))

    def number_of(self, message: Any) -> int:
        return int(message.get("data", message)["microtimestamp"])

    def whole(self) -> Any:
        return {"timestamp": str(self.number // 10**6), "microtimestamp": str(self.number), **self.texts()}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        return json.loads(self.snapshot())

    def _on_text(self, asked: Any) -> list[Any]:
        if asked["event"] == "bts:heartbeat":
            return [{"event": "bts:heartbeat", "channel": "", "data": {"status": "success"}}]
        return [{"event": "bts:subscription_succeeded", "channel": asked["data"]["channel"], "data": {}}]


class GeminiReplay(Replay):
    """Gemini's market data version 2, unnumbered: the first message holds the whole book, and recent trades."""

    exchange, symbol, market = "gemini", "FIL/USD", "filusd"

    def kind(self, message: Any) -> str:
        if message["type"] != "l2_updates" or message["symbol"] != self.market.upper():
            return ""
        return "snapshot" if "auction_events" in message else "change"

    def levels(self, message: Any) -> Iterator[Item]:
        for item in message["changes"]:
            yield ("bids" if item[0] == "buy" else "asks"), item, 1, 2

    def whole(self) -> Any:
        changes = [[name, *level] for name, side in (("buy", "bids"), ("sell", "asks")) for level in self.texts()[side]]
        return {"type": "l2_updates", "symbol": self.market.upper(), "changes": changes, "trades": [], "auction_events": []}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        book = self.texts(50)
        return {side: [{"price": price, "amount": size, "timestamp": "0"} for price, size in book[side]] for side in book}

    def _on_text(self, asked: Any) -> list[Any]:
        return self.begun()


class KrakenFuturesReplay(Replay):
    """Kraken Futures: one level a message, numbered by product."""

    exchange, symbol, market, contract = "krakenfutures", "XBT/USD:USD", "FI_XBTUSD_210730", True

    def kind(self, message: Any) -> str:
        if message.get("product_id") != self.market:
            return ""
        return {"book_snapshot": "snapshot", "book": "change"}.get(message["feed"], "")

    def levels(self, message: Any) -> Iterator[Item]:
        if message["feed"] == "book_snapshot":
            yield from listed(message, price="price", size="qty")
        else:
            yield ("bids" if message["side"] == "buy" else "asks"), message, "price", "qty"

    def number_of(self, message: Any) -> int:
        return int(message["seq"])

    def whole(self) -> Any:
        sides = {side: [{"price": p, "qty": s} for p, s in self.book[side].items()] for side in self.book}
        return {"feed": "book_snapshot", "product_id": self.market, "timestamp": 0, "seq": self.number, "tickSize": None, **sides}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        asks, bids = self.best(1000)
        return {"result": "success", "serverTime": "2021-07-22T23:02:07.000Z", "orderBook": {"asks": asks, "bids": bids}}

    def _on_text(self, asked: Any) -> list[Any]:
        return self.begun({"event": "subscribed", "feed": "book", "product_ids": [self.market]})


class OkxReplay(Replay):
    """OKX: changes with a checksum of the 25 best levels a side. In 2022 they had no numbers, which ccxt would check."""

    exchange, symbol, market = "okx", "BTC/USDT", "BTC-USDT"

    def kind(self, message: Any) -> str:
        if message.get("arg", {}) != {"channel": "books", "instId": self.market}:
            return ""
        return {"snapshot": "snapshot", "update": "change"}.get(message.get("action", ""), "")

    def levels(self, message: Any) -> Iterator[Item]:
        yield from listed(message["data"][0])

    def whole(self) -> Any:
        sides = {side: [[*level, "0", "1"] for level in levels] for side, levels in self.texts(400).items()}
        data = {**sides, "ts": "1652459225381", "checksum": self.checksum()}
        return {"arg": {"channel": "books", "instId": self.market}, "action": "snapshot", "data": [data]}

    def checksum(self) -> int:
        """Best bid, best ask, second bid ..., each as price:size."""
        book = self.texts(25)
        pairs = itertools.chain(*itertools.zip_longest(book["bids"], book["asks"]))
        crc = zlib.crc32(":".join(":".join(pair) for pair in pairs if pair).encode())
        return crc - 2**32 * (crc >= 2**31)

    def _reply(self, path: str) -> Any:
        self.asked += 1
        sides = {side: [[*level, "0", "1"] for level in levels] for side, levels in self.texts(100).items()}
        return {"code": "0", "msg": "", "data": [{**sides, "ts": "1652459225381"}]}

    def _on_text(self, asked: Any) -> list[Any]:
        if asked == "ping":
            return ["pong"]
        return self.begun({"event": "subscribe", "arg": asked["args"][0]})


class CoinbaseReplay(Replay):
    """Coinbase Exchange's level2, unnumbered, shown to account holders."""

    exchange, symbol, market = "coinbaseexchange", "YFI/BTC", "YFI-BTC"

    def kind(self, message: Any) -> str:
        if message.get("product_id") != self.market:
            return ""
        return {"snapshot": "snapshot", "l2update": "change"}.get(message["type"], "")

    def levels(self, message: Any) -> Iterator[Item]:
        if message["type"] == "snapshot":
            yield from listed(message)
        else:
            for item in message["changes"]:
                yield ("bids" if item[0] == "buy" else "asks"), item, 1, 2

    def whole(self) -> Any:
        return {"type": "snapshot", "product_id": self.market, **self.texts()}

    def _reply(self, path: str) -> Any:
        self.asked += 1
        return {"sequence": 1, **{side: [[*level, 1] for level in levels] for side, levels in self.texts().items()}}

    def _on_text(self, asked: Any) -> list[Any]:
        return self.begun({"type": "subscriptions", "channels": [{"name": "level2", "product_ids": [self.market]}]})


class BitfinexReplay(Replay):
    """Bitfinex: changes by channel, numbered over all channels of the connection, as was asked for when they were captured."""

    exchange, symbol, market = "bitfinex", "IOTA/ETH", "tIOTETH"
    channel = 232955

    def kind(self, message: Any) -> str:
        if not isinstance(message, list):
            return ""
        if message[0] != self.channel or not isinstance(message[1], list):
            return "other"
        return "snapshot" if isinstance(message[1][0], list) else "change"

    def levels(self, message: Any) -> Iterator[Item]:
        for item in message[1] if isinstance(message[1][0], list) else [message[1]]:
            yield ("bids" if float(item[2]) > 0 else "asks"), item, 0, 2

    def kept(self, item: Any) -> bool:
        return item[1] != 0

    def number_of(self, message: Any) -> int:
        return int(message[-1])

    def whole(self) -> Any:
        levels = [[p, 1, sign * s] for sign, side in ((1, "bids"), (-1, "asks")) for p, s in self.book[side].items()]
        return [self.channel, levels, self.number]

    def _reply(self, path: str) -> Any:
        self.asked += 1
        return self.whole()[1]

    def _on_text(self, asked: Any) -> list[Any]:
        if asked["event"] == "conf":
            return [{"event": "conf", "status": "OK", "flags": asked["flags"]}]
        answer = {"event": "subscribed", "channel": "book", "chanId": self.channel, "symbol": self.market}
        return self.begun(answer | {"prec": "P0", "freq": "F0", "len": "100", "pair": self.market[1:]})


class KucoinReplay(Replay):
    """KuCoin: the app takes the fifty best levels whole in each message; here they are made from the captured changes."""

    exchange, symbol, market = "kucoin", "SNX/BTC", "SNX-BTC"

    def kind(self, message: Any) -> str:
        return "change" if message.get("topic") == f"/market/level2:{self.market}" and "changes" in message["data"] else ""

    def levels(self, message: Any) -> Iterator[Item]:
        data = message["data"]
        for side, item, price, size in listed(data.get("changes", data)):
            if float(item[0]):  # a price of zero only takes a number
                yield side, item, price, size

    def number_of(self, message: Any) -> int:
        data = message["data"]
        return int(data["sequence"] if "sequence" in data else data["sequenceEnd"])

    def step(self, levels: range | None = None) -> str:
        return json.dumps(self.whole()) if super().step() else ""

    def whole(self) -> Any:
        data = {**self.texts(50), "timestamp": 1619378326663}
        return {"type": "message", "topic": f"/spotMarket/level2Depth50:{self.market}", "subject": "level2", "data": data}

    def misprint(self, size: str) -> str:
        self.step()
        message = deepcopy(self.whole())
        message["data"]["asks"][0][1] = size
        return json.dumps(message)

    def _reply(self, path: str) -> Any:
        if "bullet" in path:
            server = {"endpoint": f"ws://127.0.0.1:{self.port}/endpoint", "pingInterval": 18000, "pingTimeout": 10000}
            return {"code": "200000", "data": {"token": "T", "instanceServers": [server | {"encrypt": True}]}}
        self.asked += 1
        return {"code": "200000", "data": {"time": 1619378326628, "sequence": str(self.number), **self.texts(100)}}

    def _on_text(self, asked: Any) -> list[Any]:
        if asked["type"] == "ping":
            return [{"id": asked["id"], "type": "pong"}]
        self.snapshots += 1
        return [{"id": asked["id"], "type": "ack"}, self.whole()]


REPLAYS: Final[tuple[type[Replay], ...]] = (
    BinanceUsReplay,
    BitfinexReplay,
    BitstampReplay,
    CoinbaseReplay,
    GateReplay,
    GeminiReplay,
    KrakenFuturesReplay,
    KucoinReplay,
    OkxReplay,
)
