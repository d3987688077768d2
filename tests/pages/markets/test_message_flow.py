"""The flow of a message to its pixel that docs/architecture.md lists, from ccxt's real client to a viewer."""

import asyncio
import re
import weakref
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from core.market.feeds.background import BackgroundLoop
from core.market.feeds.live import LiveFeed
from core.market.session import MarketSession
from core.market.stream import FrameKind
from pages.markets import stream_route
from pages.markets.stream_route import TICKETS, Ticket
from tests.core.market.feeds.delta_server import BinanceDeltaServer
from tests.core.market.feeds_for_tests import wait_until
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor
from tests.pages.markets.test_stream_route import Visitor
from tests.pages.test_flows import ROOT, entered, listed, section

FLOW = "A message to its pixel"
HERE = listed(FLOW)
BROWSERS = re.findall(r"^\d+\. `(\w+)` of `(\w+\.js)`", section(FLOW), re.MULTILINE)


def test_a_message_to_its_pixel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = tiny_predictor(tmp_path, real_rows(), config=tiny_config(steps=12))

    @asynccontextmanager
    async def watched(server: BinanceDeltaServer) -> Any:
        session = MarketSession(LiveFeed(server.exchange, server.symbol), predictor)
        monkeypatch.setattr(stream_route, "hub", lambda: Mock(join=Mock(return_value=session)))
        loop.submit(session.run())
        visitor = Visitor(TICKETS.keep(Ticket(viewer="me", session=weakref.ref(session), language="en")))
        serving = asyncio.create_task(stream_route.market_stream(visitor.socket))
        yield session, visitor
        visitor.leave()
        await serving
        await asyncio.to_thread(loop.stop)

    async def scenario(calls: list[str]) -> None:
        async with BinanceDeltaServer() as server, watched(server) as (session, visitor):
            await asyncio.to_thread(wait_until, lambda: len(server.sockets) > 0)
            for _ in range(5):
                await server.send(server.step())
            await asyncio.to_thread(wait_until, lambda: session.follower.newest)
            for _ in range(20):  # a message may come in the middle of a step
                await _next_step(visitor, session)
                calls.clear()
                await server.send(server.step())
                await _next_step(visitor, session)
                entered = iter(tuple(calls))
                if all(name in entered for name in HERE):  # in this order, among others
                    return
            raise AssertionError([name for name in calls if name in HERE])

    with entered() as calls:
        loop = BackgroundLoop("test")
        try:
            asyncio.run(asyncio.wait_for(scenario(calls), 60))
        finally:
            loop.stop()  # where it failed
    assert len(HERE) + len(BROWSERS) == len(re.findall(r"^\d+\. ", section(FLOW), re.MULTILINE)) <= 15
    for name, script in BROWSERS:
        assert re.search(rf"^(export function |  ){name}\(", (ROOT / "assets/scripts" / script).read_text(), re.MULTILINE), name


async def _next_step(visitor: Visitor, session: MarketSession) -> None:
    """Read what comes, and say so, until a frame of a later step than now."""
    now = session.step
    while True:
        kind, step = await visitor.frame()
        visitor.say(str(1_000_000))
        if kind is FrameKind.STEP and step > now:
            return
