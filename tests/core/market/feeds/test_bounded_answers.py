"""A venue's answer has a bound in bytes, unpacked, and comes from its own host."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from core.market.feeds import bounded_answers
from core.market.feeds.bounded_answers import MAX_ANSWER
from core.market.feeds.failures import RetryVerdict, WrongAnswer, classify_failure
from core.market.feeds.venues import ccxt_modules, close_exchange
from tests.core.market.feeds.delta_server import BinanceDeltaServer

MARKETS = {"timezone": "UTC", "serverTime": 0, "rateLimits": [], "symbols": []}


def ask(respond: Callable[[str], Any]) -> Any:
    """The answer of a venue to a request of ccxt, by its path."""

    class Answering(BinanceDeltaServer):
        def _reply(self, path: str) -> Any:
            return respond(path)

    async def scenario() -> Any:
        async with Answering() as server:
            exchange = server.make_exchange("binance", "BTC/USDT")
            try:
                return await exchange.publicGetExchangeInfo()
            finally:
                await close_exchange(exchange)

    return asyncio.run(scenario())


def test_an_answer_that_unpacks_beyond_the_bound_is_given_up() -> None:
    packed = gzip.compress(json.dumps(MARKETS | {"more": " " * MAX_ANSWER}).encode(), 9)
    assert len(packed) < 100_000
    with pytest.raises(WrongAnswer, match="^Binance answers with more than 64 MiB$") as raised:
        ask(lambda path: web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}))
    assert classify_failure(raised.value, "Binance", "A/B").verdict is RetryVerdict.DOUBTFUL


def test_a_packed_answer_within_the_bound_is_read() -> None:
    packed = gzip.compress(json.dumps(MARKETS).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    assert ask(lambda path: web.Response(body=packed, headers=headers)) == MARKETS


def test_no_redirect_leaves_the_host_and_one_that_stays_is_followed() -> None:
    def away(path: str) -> None:
        raise web.HTTPFound("http://127.0.0.2:9/secret")

    def within(path: str) -> Any:
        if path == "there":
            return MARKETS
        raise web.HTTPFound("/there")

    with pytest.raises(WrongAnswer, match=r"^Binance sends the reader on to another host, 127\.0\.0\.2$"):
        ask(away)
    assert ask(within) == MARKETS


def test_a_message_that_unpacks_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ccxt_modules()
    from ccxt.async_support.base.ws import client

    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    text = '{"ping": 1}' * 200
    deflated = raw.compress(text.encode()) + raw.flush()
    assert client.gunzip(gzip.compress(text.encode())) == text
    assert client.inflate(deflated).decode() == text
    monkeypatch.setattr(bounded_answers, "MAX_ANSWER", 1_000)
    for unpack, packed in ((client.gunzip, gzip.compress(text.encode())), (client.inflate, deflated)):
        with pytest.raises(ValueError, match="too long"):
            unpack(packed)
