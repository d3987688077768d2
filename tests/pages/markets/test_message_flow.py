"""The flow of a message to its pixel that docs/architecture.md lists, from ccxt's real client to a viewer."""

import asyncio
import re
import sys
import threading
import weakref
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
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

ROOT = Path(__file__).resolve().parents[3]
OURS = tuple(str(ROOT / folder) for folder in ("core", "pages"))
SECTION = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("### A message to its pixel\n")[1].split("\n#")[0]
HERE = [name.replace(":", ".") for name in re.findall(r"^\d+\. `((?:core|pages)\.[\w.:]+)`", SECTION, re.MULTILINE)]
BROWSERS = re.findall(r"^\d+\. `(\w+)` of `(\w+\.js)`", SECTION, re.MULTILINE)


@pytest.fixture
def calls() -> Any:
    """The project's functions as any thread enters them, since it was last emptied."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(OURS):
            module = ".".join(Path(path).relative_to(ROOT).with_suffix("").parts)
            entered.append(f"{module}.{frame.f_code.co_qualname.replace('.<locals>', '')}")

    threading.setprofile(note)
    sys.setprofile(note)
    yield entered
    sys.setprofile(None)
    threading.setprofile(None)


def test_a_message_to_its_pixel(calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = tiny_predictor(tmp_path, real_rows(), config=tiny_config(steps=12))
    loop = BackgroundLoop("test")

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

    async def scenario() -> None:
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

    try:
        asyncio.run(asyncio.wait_for(scenario(), 60))
    finally:
        loop.stop()  # where it failed
    assert len(HERE) + len(BROWSERS) == len(re.findall(r"^\d+\. ", SECTION, re.MULTILINE)) <= 15
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
