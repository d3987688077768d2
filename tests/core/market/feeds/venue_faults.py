"""Faults of an exchange, each as what a server of the loopback does, one of each kind in docs/faults.md: see `fault_outcomes`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.market.feeds.clock import CLOCK
from tests.core.market.feeds.delta_server import DeltaServer, VenueServer
from tests.core.market.feeds.replay_server import Replay


class Exchange:
    """A server whose market moves on until it is stopped.

    Attributes:
        moves: whether the market moves. pace_s: seconds between two messages.
    """

    def __init__(self, server: VenueServer) -> None:
        self.server = server
        server.clock = lambda: CLOCK.now_ns() / 1e9
        self.moves, self.pace_s = True, server.pace_s

    async def run(self) -> None:
        """Change the book, and tell of it; a captured market begins when somebody listens."""
        while isinstance(self.server, Replay) and not self.server.sockets:
            await asyncio.sleep(0.05)
        while True:
            if self.moves:
                await self.server.send(self.server.step(range(5)))
            await asyncio.sleep(self.pace_s)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault: how it begins, how long it lasts, how it ends.

    Attributes:
        name: as the table says it. ends: whether the feed is to end of it.
    """

    name: str
    begin: Callable[[Exchange], Awaitable[None]]
    end: Callable[[Exchange], Awaitable[None]] | None = None
    lasts_s: float = 0.0
    ends: bool = False


async def _cut(exchange: Exchange) -> None:
    exchange.server.cut()


async def _truncated(exchange: Exchange) -> None:
    await exchange.server.until_lasting()
    await exchange.server.send(exchange.server.step(range(6, 7))[:-30])


async def _misprinted(exchange: Exchange) -> None:
    assert isinstance(exchange.server, Replay)
    await exchange.server.send(exchange.server.misprint("NaN"))


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


async def _moving(exchange: Exchange) -> None:
    exchange.moves = True


async def _delist(exchange: Exchange) -> None:
    exchange.server.delisted, exchange.moves = True, False
    exchange.server.history.append((exchange.server.clock(), np.full(40, np.nan)))


FAULTS: Final[Sequence[Fault]] = (
    Fault(name="reset", begin=_cut),
    Fault(name="truncated message", begin=_truncated),
    Fault(name="gap", begin=_lost),
    Fault(name="reorder", begin=_swapped),
    Fault(name="crossed for 2 s", begin=_broken_book(lambda s: s.bids.update({min(s.asks) + 3: 500})), end=_moving, lasts_s=2),
    Fault(name="empty side for 2 s", begin=_broken_book(lambda s: s.asks.clear()), end=_moving, lasts_s=2),
    Fault(name="size NaN", begin=_misprinted),
    Fault(name="delisted", begin=_delist, ends=True),
)
BY_NAME: Final[Mapping[str, Fault]] = {fault.name: fault for fault in FAULTS}
