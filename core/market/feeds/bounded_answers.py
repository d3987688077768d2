"""Bounds of what a venue answers: its bytes, unpacked, and the host from which they come."""

import zlib
from functools import cache
from typing import Any, Final

from core.market.feeds.failures import WrongAnswer

MAX_ANSWER: Final = 64 << 20
"""Most bytes of an answer or a message, unpacked: the longest list of markets has some 20 million."""


def bound(exchange: Any) -> None:
    """Have a new ccxt exchange object read no answer beyond `MAX_ANSWER`, and follow no redirect to another host."""
    opened = exchange.open

    def open_bounded(lazy: bool = False) -> None:
        before = exchange.session
        opened(lazy)
        if exchange.session is not before and exchange.own_session:
            plain, exchange.session = exchange.session, _session(exchange)
            plain.detach()

    exchange.open = open_bounded


def _session(exchange: Any) -> Any:
    """A session over the connector that ccxt made; where an answer goes too far it raises `WrongAnswer`."""
    import aiohttp

    async def stay(request: Any, handler: Any) -> Any:
        response = await handler(request)
        to = response.headers.get("Location")
        if to and 300 <= response.status < 400 and (host := request.url.join(type(request.url)(to)).host) != request.url.host:
            response.close()
            raise WrongAnswer("{name} sends the reader on to another host, {host}", name=exchange.name, host=str(host))
        return response

    class BoundedAnswer(aiohttp.ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                parts, size = [], 0
                async for part in self.content.iter_any():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_ANSWER:
                        self.close()
                        raise WrongAnswer("{name} answers with more than {most} MiB", name=exchange.name, most=MAX_ANSWER >> 20)
                self._body = b"".join(parts)
            return self._body or b""

    return aiohttp.ClientSession(
        connector=exchange.tcp_connector, trust_env=exchange.aiohttp_trust_env, response_class=BoundedAnswer, middlewares=(stay,)
    )


@cache
def bound_messages() -> None:
    """Have ccxt unpack no message of a socket beyond `MAX_ANSWER`; it reads none of over 10 MiB packed."""
    from ccxt.async_support.base.ws import client

    client.gunzip = lambda data: _unpacked(data, 16 + zlib.MAX_WBITS).decode()
    client.inflate = lambda data: _unpacked(data, -zlib.MAX_WBITS)


def _unpacked(data: bytes, wbits: int) -> bytes:
    unpacking = zlib.decompressobj(wbits)
    whole = unpacking.decompress(data, MAX_ANSWER)
    if unpacking.unconsumed_tail:
        raise ValueError("a message is too long")
    return whole
