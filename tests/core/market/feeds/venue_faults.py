"""Faults of an exchange, each as what a server of the loopback does: see `fault_outcomes`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from core.market.feeds import clock
from core.market.feeds.clock import CLOCK
from tests.core.market.feeds.delta_server import DeltaServer, VenueServer
from tests.core.market.feeds.replay_server import Replay


class Exchange:
    """A server whose market moves on until it is stopped.

    Attributes:
        sends: whether messages go out. moves: whether the market moves. pace_s: seconds between two messages.
        stall_s: how long this process, the venue's and the feed's at once, was held up at most.
    """

    def __init__(self, server: VenueServer) -> None:
        self.server = server
        server.clock = lambda: CLOCK.now_ns() / 1e9
        self.sends = self.moves = True
        self.pace_s, self.at_once, self.stall_s = server.pace_s, 1, 0.0

    async def run(self) -> None:
        """Change the book, and tell of it; a captured market begins when somebody listens."""
        while isinstance(self.server, Replay) and not self.server.sockets:
            await asyncio.sleep(0.05)
        while True:
            for _ in range(self.at_once if self.moves else 0):
                text = self.server.step(range(5))
                if self.sends:
                    await self.server.send(text)
            before = time.monotonic()
            await asyncio.sleep(self.pace_s)
            self.stall_s = max(self.stall_s, time.monotonic() - before - self.pace_s)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault: how it begins, how long it lasts, how it ends.

    Attributes:
        name: as the table says it. at_start: whether it is there before the feed is. ends: whether the feed is to end of it.
        captured, made: whether it can happen to a captured market, and to a made-up one.
    """

    name: str
    begin: Callable[[Exchange], Awaitable[None]]
    end: Callable[[Exchange], Awaitable[None]] | None = None
    lasts_s: float = 0.0
    at_start: bool = False
    ends: bool = False
    alone: bool = False
    captured: bool = False
    made: bool = True


def _attribute(name: str, value: Any, *, of_server: bool = True) -> Callable[[Exchange], Awaitable[None]]:
    async def put(exchange: Exchange) -> None:
        setattr(exchange.server if of_server else exchange, name, value)

    return put


async def _cut(exchange: Exchange) -> None:
    exchange.server.cut()


async def _heartbeats(exchange: Exchange) -> None:
    exchange.sends = False

    async def beat() -> None:
        while not exchange.sends:
            await exchange.server.send(exchange.server.heartbeat())
            await asyncio.sleep(0.2)

    exchange.beating = asyncio.create_task(beat())  # type: ignore[attr-defined]


def _text(change: Callable[[str], str]) -> Callable[[Exchange], Awaitable[None]]:
    """A message that is changed on its way."""

    async def send(exchange: Exchange) -> None:
        await exchange.server.until_lasting()
        await exchange.server.send(change(exchange.server.step(range(6, 7))))

    return send


def _number(text: str) -> Callable[[Exchange], Awaitable[None]]:
    """A size, written as something else."""

    async def send(exchange: Exchange) -> None:
        await exchange.server.send(exchange.server.misprint(text))

    return send


async def _crossed(exchange: Exchange) -> None:
    server: Any = exchange.server
    await server.send(server.cross())


async def _twice(exchange: Exchange) -> None:
    text = exchange.server.step(range(6, 7))
    await exchange.server.send(text)
    await exchange.server.send(text)


async def _lost(exchange: Exchange) -> None:
    await exchange.server.until_lasting()
    exchange.server.step(range(6, 7))


async def _swapped(exchange: Exchange) -> None:
    await exchange.server.until_lasting()
    first, second = exchange.server.step(range(6, 7)), exchange.server.step(range(6, 7))
    await exchange.server.send(second)
    await exchange.server.send(first)


def _broken_book(change: Callable[[DeltaServer], object]) -> Callable[[Exchange], Awaitable[None]]:
    """The venue's own book becomes one that no market has, until the fault is over."""

    async def send(exchange: Exchange) -> None:
        server, exchange.moves = exchange.server, False
        assert isinstance(server, DeltaServer)
        before = server.view()
        change(server)
        await server.send(server.changed_since(before))

    return send


def _leave_five(server: DeltaServer) -> None:
    for side, sign in ((server.asks, 1), (server.bids, -1)):
        for price in sorted(side, key=lambda price: sign * price)[5:]:
            del side[price]


async def _halt(exchange: Exchange) -> None:
    exchange.server.halted, exchange.moves = True, False


async def _resume(exchange: Exchange) -> None:
    exchange.server.halted, exchange.moves = False, True


async def _delist(exchange: Exchange) -> None:
    exchange.server.delisted, exchange.moves = True, False
    exchange.server.history.append((exchange.server.clock(), np.full(40, np.nan)))


async def _away(exchange: Exchange) -> None:
    await exchange.server.go_away()


async def _back(exchange: Exchange) -> None:
    await exchange.server.open_port()


async def _burst(exchange: Exchange) -> None:
    exchange.at_once = 10


def _machine_clock(seconds: float) -> Callable[[Exchange], Awaitable[None]]:
    async def put(exchange: Exchange) -> None:
        clock.time = _MovedTime(seconds)  # type: ignore[assignment]  # the steady clock's view of the wall clock alone

    return put


def real_clock() -> None:
    clock.time = time
    CLOCK._anchor_ns = time.time_ns() - time.monotonic_ns()


class _MovedTime:
    """`time` with the wall clock set otherwise."""

    def __init__(self, seconds: float) -> None:
        self._by = int(seconds * 1e9)

    def time_ns(self) -> int:
        return time.time_ns() + self._by

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


def _refusals() -> list[Fault]:
    """Refusals of requests at the start, and of sockets at the handshake."""
    found = []
    for status in (403, 418, 429, 451, 500, 503):
        for name, what in (("refuses_requests", "requests at the start"), ("refuses_sockets", "the handshake")):
            begin, end = _attribute(name, status), _attribute(name, None)
            ends = status == 451
            captured = status == 503 or (status, name) in ((403, "refuses_requests"), (429, "refuses_sockets"))
            fault = Fault(
                name=f"{status} to {what}", begin=begin, end=end, lasts_s=5, at_start=True, ends=ends, captured=captured
            )
            found.append(fault)
    return found


def _moving(exchange: Exchange) -> Awaitable[None]:
    return _attribute("moves", True, of_server=False)(exchange)


QUIET: Final = _attribute("sends", False, of_server=False)
LOUD: Final = _attribute("sends", True, of_server=False)

FAULTS: Final[Sequence[Fault]] = (
    Fault(name="reset", begin=_cut, captured=True),
    Fault(name="silence for 8 s", begin=QUIET, end=LOUD, lasts_s=8, captured=True),
    Fault(name="heartbeats only for 8 s", begin=_heartbeats, end=LOUD, lasts_s=8, captured=True),
    Fault(name="garbled message", begin=_text(lambda text: "\x00<html>Bad gateway</html>"), captured=True),
    Fault(name="truncated message", begin=_text(lambda text: text[:-30]), captured=True),
    Fault(name="gap", begin=_lost, captured=True),
    Fault(name="duplicate", begin=_twice, captured=True),
    Fault(name="reorder", begin=_swapped, captured=True),
    Fault(name="crossed for 2 s", begin=_broken_book(lambda s: s.bids.update({min(s.asks) + 3: 500})), end=_moving, lasts_s=2),
    Fault(name="empty side for 2 s", begin=_broken_book(lambda s: s.asks.clear()), end=_moving, lasts_s=2),
    Fault(name="locked for 20 s", begin=_broken_book(lambda s: s.bids.update({min(s.asks): 500})), end=_moving, lasts_s=20),
    Fault(name="five levels for 20 s", begin=_broken_book(_leave_five), end=_moving, lasts_s=20),
    Fault(name="halted for 16 s", begin=_halt, end=_resume, lasts_s=16),
    Fault(name="price of zero for 2 s", begin=_broken_book(lambda s: s.asks.update({0: 500})), end=_moving, lasts_s=2),
    Fault(name="size NaN", begin=_number("NaN"), captured=True),
    Fault(name="size 1e308", begin=_number("1e308"), captured=True),
    Fault(name="size -5", begin=_number("-5"), captured=True),
    *_refusals(),
    Fault(
        name="503 to requests for 6 s",
        begin=_attribute("refuses_requests", 503),
        end=_attribute("refuses_requests", None),
        lasts_s=6,
        captured=True,
    ),
    Fault(name="a bid above the asks", begin=_crossed, captured=True, made=False),
    Fault(name="gone for 10 s", begin=_away, end=_back, lasts_s=10, captured=True, made=False),
    Fault(name="delisted", begin=_delist, ends=True),
    Fault(name="venue's clock 1 h ahead", begin=_attribute("stamp_s", 3600.0), lasts_s=0),
    Fault(name="venue's clock 1 h behind", begin=_attribute("stamp_s", -3600.0), lasts_s=0),
    Fault(name="our clock 1 h ahead", begin=_machine_clock(3600.0), alone=True),
    Fault(name="our clock 1 h behind", begin=_machine_clock(-3600.0), alone=True),
    Fault(
        name="500 messages a second for 5 s",
        begin=_burst,
        end=_attribute("at_once", 1, of_server=False),
        lasts_s=5,
        alone=True,
    ),
    Fault(name="gone for 60 s", begin=_away, end=_back, lasts_s=60),
)
BY_NAME: Final[Mapping[str, Fault]] = {fault.name: fault for fault in FAULTS}
