"""The live page's websocket without a browser: who is let in, who falls behind, and what is done once for all viewers."""

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import numpy as np
import pytest
from starlette.websockets import WebSocket
from streamlit.testing.v1 import AppTest

from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import Status, StatusChange
from core.market.feeds.situations import Since, Situation
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.stream import MAX_BEHIND, STATUSES, FrameKind
from core.messages import compose
from pages.markets import stream_route, terminal
from pages.markets.stream_route import MAX_UNREAD, TICKETS, Ticket
from pages.shared import permissions
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying, wait_until
from tests.core.market.helpers import real_rows, tiny_predictor

ROWS = real_rows(4)
BEGUN = 30
"""Rows that have been played before anyone watches."""


class Visitor:
    """One websocket of the route, from the browser's side."""

    def __init__(self, ticket: str) -> None:
        self.got: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._said.put_nowait({"type": "websocket.connect"})
        scope = {"type": "websocket", "path": "/", "query_string": f"ticket={ticket}".encode(), "headers": []}
        self.socket = WebSocket(scope, self._said.get, self._take)

    async def _take(self, message: Any) -> None:
        self.got.put_nowait(message)

    def say(self, text: str) -> None:
        self._said.put_nowait({"type": "websocket.receive", "text": text})

    def leave(self) -> None:
        self._said.put_nowait({"type": "websocket.disconnect", "code": 1001})

    async def frame(self) -> tuple[FrameKind, int]:
        """Kind and step of the next frame; texts before it are passed over."""
        while True:
            message = await asyncio.wait_for(self.got.get(), 20)
            if message.get("bytes") is not None:
                header = np.frombuffer(message["bytes"][:88], dtype="<f8")
                return FrameKind(int(header[0])), int(header[1])

    async def text(self) -> dict[str, Any]:
        """The next text; frames before it are passed over."""
        while True:
            message = await asyncio.wait_for(self.got.get(), 20)
            if message.get("text") is not None:
                return dict(json.loads(message["text"]))


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), ROWS)


@pytest.fixture
def session(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> Iterator[MarketSession]:
    loop = BackgroundLoop("test")
    session = MarketSession(ScriptedFeed(replaying(ROWS[:BEGUN])), predictor)
    loop.submit(session.run())
    wait_until(lambda: session.view(1).step == BEGUN)
    monkeypatch.setattr(stream_route, "hub", lambda: Mock(join=Mock(return_value=session)))
    yield session
    loop.stop()


async def play(session: MarketSession, rows: int) -> None:
    """So many more rows, one at a time."""
    assert isinstance(session.feed, ScriptedFeed)
    for row in range(session.step, session.step + rows):
        session.feed.send(*books(ROWS[row : row + 1]))
        await asyncio.to_thread(wait_until, partial(_has_played, session, row + 1))


def _has_played(session: MarketSession, rows: int) -> bool:
    return session.view(1).step == rows


def ticket_for(session: MarketSession, language: str = "en") -> str:
    return TICKETS.keep(Ticket(viewer="me", session=weakref.ref(session), language=language))


async def sent_away(visitor: Visitor) -> int:
    """The code with which the route closes a visitor's socket by itself."""
    await asyncio.wait_for(stream_route.market_stream(visitor.socket), 20)
    sent = [visitor.got.get_nowait() for _ in range(visitor.got.qsize())]
    assert sent[-1]["type"] == "websocket.close"
    return int(sent[-1]["code"])


@asynccontextmanager
async def visiting(session: MarketSession, count: int = 1, *, language: str = "en") -> AsyncIterator[list[Visitor]]:
    """Visitors that have received their snapshot; they leave at the end."""
    visitors = [Visitor(ticket_for(session, language)) for _ in range(count)]
    serving = [asyncio.create_task(stream_route.market_stream(one.socket)) for one in visitors]
    for one in visitors:
        assert await one.frame() == (FrameKind.SNAPSHOT, session.step)
    yield visitors
    for one in visitors:
        one.leave()
    await asyncio.wait_for(asyncio.gather(*serving), 20)


async def test_a_question_about_a_price_is_answered_of_the_newest_window(session: MarketSession) -> None:
    async with visiting(session) as (visitor,):
        price, newest = float(ROWS.levels[BEGUN - 1, 0]), session.newest_window(1)
        visitor.say("light 1")
        visitor.say(f"without {2 * price} 0.01")
        visitor.say(f"without {price} 0.01")  # the newest question counts
        answer = (await visitor.text())["without"]
        assert newest is not None and answer["time"] == newest.timestamps[-1] and answer["head"] == 1
        assert answer["price"] == price and answer["size"] == ROWS.levels[BEGUN - 1, 1]
        visitor.say("without a price")  # is none: the viewer is let go


async def test_a_light_that_must_wait_for_the_processor_comes_without_a_further_step(
    session: MarketSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    light = Mock(message='{"light": 1}', timestamp=1)
    rests = Mock(newest=AsyncMock(side_effect=[None, None, *[light] * 200]))
    monkeypatch.setattr(stream_route, "keeper", lambda: rests)
    async with visiting(session, 2) as visitors:
        for visitor in visitors:
            visitor.say("light 1")
        for visitor in visitors:
            assert await visitor.text() == {"light": 1}


async def test_a_ticket_keeps_no_session_alive(predictor: Predictor) -> None:
    session = MarketSession(ScriptedFeed([]), predictor)
    visitor, gone = Visitor(ticket_for(session)), weakref.ref(session)
    del session
    assert gone() is None
    assert await sent_away(visitor) == stream_route.NOT_RUNNING


async def test_a_slow_reader_skips_to_the_newest(session: MarketSession) -> None:
    """It reads what it was sent before it fell silent, and then the newest: what lies between waits nowhere."""
    async with visiting(session, 2) as (slow, quick):
        for number in range(1, MAX_UNREAD + MAX_BEHIND + 5):
            await play(session, 1)
            assert await quick.frame() == (FrameKind.STEP, BEGUN + number)
            quick.say(str(number + 1))
        assert [(await slow.frame())[1] for _ in range(MAX_UNREAD - 1)] == list(range(BEGUN + 1, BEGUN + MAX_UNREAD))
        assert slow.got.empty()
        slow.say(str(MAX_UNREAD))
        assert await slow.frame() == (FrameKind.SNAPSHOT, session.step)


async def test_a_short_stall_costs_no_snapshot(session: MarketSession) -> None:
    async with visiting(session) as (visitor,):
        await play(session, MAX_UNREAD + 4)
        visitor.say(str(MAX_UNREAD))
        found = [await visitor.frame() for _ in range(MAX_UNREAD + 4)]
        assert found == [(FrameKind.STEP, BEGUN + 1 + i) for i in range(MAX_UNREAD + 4)]


async def test_after_a_jump_one_snapshot_is_made_for_all_viewers(session: MarketSession, monkeypatch: pytest.MonkeyPatch) -> None:
    making = Mock(wraps=session.snapshot)
    async with visiting(session, 12) as visitors:
        monkeypatch.setattr(session, "snapshot", making)
        assert isinstance(session.feed, ScriptedFeed)
        session.feed.send(StatusChange(state=Status.REPLAYING, gap=True), *books(ROWS[:1]))  # wound back
        for one in visitors:
            while (await one.frame())[0] is not FrameKind.SNAPSHOT:
                pass
        assert making.call_count <= 2  # one more where a viewer asks after the others have theirs


async def test_a_changed_status_reaches_every_viewer_in_its_own_language(session: MarketSession) -> None:
    async with visiting(session, 2, language="es") as visitors:
        assert isinstance(session.feed, ScriptedFeed)
        session.feed.unit = compose("contracts of {size:g} {currency}", size=0.01, currency="BTC")
        session.feed.send(StatusChange(state=Status.RECONNECTING, message="later"))
        told = {"status": STATUSES.index(Status.RECONNECTING), "text": "later", "unit": "contratos de 0,01 BTC"}
        for one in visitors:
            assert await one.text() == told
        session.feed.unit = ""


@pytest.mark.parametrize("said", ["hello", ""])
async def test_a_viewer_that_talks_nonsense_is_dropped(session: MarketSession, said: str) -> None:
    visitor = Visitor(ticket_for(session))
    serving = asyncio.create_task(stream_route.market_stream(visitor.socket))
    await visitor.frame()
    visitor.say(said)
    await asyncio.wait_for(serving, 20)
    assert session.frames.stream.viewers == 0


@pytest.mark.parametrize("running", [None, "another session"])
async def test_a_viewer_of_a_stopped_feed_is_sent_away_to_start_it_anew_and_a_guessed_ticket_otherwise(
    session: MarketSession, monkeypatch: pytest.MonkeyPatch, running: object
) -> None:
    monkeypatch.setattr(stream_route, "hub", lambda: Mock(join=Mock(return_value=running)))
    assert await sent_away(Visitor(ticket_for(session))) == 4404
    assert await sent_away(Visitor("guessed")) == 4403


async def test_a_session_is_kept_running_once_for_all_sockets_of_a_viewer(
    session: MarketSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Mock(return_value=session)
    monkeypatch.setattr(stream_route, "hub", lambda: Mock(join=calls))
    monkeypatch.setattr(stream_route, "ALIVE_EVERY_S", 0.01)
    async with visiting(session, 3) as visitors:
        await asyncio.to_thread(wait_until, lambda: calls.call_count > 20)
        notices = stream_route._notices[session]
        assert notices.viewers == {"me": 3}
        calls.return_value = None  # the feed was stopped
        for visitor in visitors:
            while (await asyncio.wait_for(visitor.got.get(), 20))["type"] != "websocket.close":
                pass
    assert session not in stream_route._notices


async def test_states_of_the_market_travel_with_their_beginning(session: MarketSession) -> None:
    async with visiting(session, 1, language="es") as (one,):
        assert isinstance(session.feed, ScriptedFeed)
        locked = Since(kind=Situation.LOCKED, since_ms=1_700_000_000_000)
        session.feed.send(StatusChange(state=Status.LIVE, message="later", situations=(locked,)))
        told = {"since": 1_700_000_000_000, "short": "igualado", "text": "igualado desde las {time}"}
        status = STATUSES.index(Status.INTERRUPTED)
        said = await one.text()
        assert said == {"status": status, "text": "later", "situations": [told]}  # a day that was sent is not sent again
        assert session.situations() == (locked,)
        session.day.known = 180_000, ((60_000, "halted"),)  # a minute is over
        session.feed.send(StatusChange(state=Status.LIVE, message="on"))
        assert (await one.text())["day"] == {"until": 180_000, "runs": [[60_000, "halted"]]}


def test_a_page_gets_another_ticket_once_its_own_is_forgotten(session: MarketSession) -> None:
    def address() -> str:
        return terminal._address(session, "me", "terminal:ticket")

    def page(address):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
        import streamlit as st

        st.text(address())

    app = AppTest.from_function(page, args=(address,)).run()
    first = app.text[0].value
    assert app.run().text[0].value == first
    for _ in range(stream_route.TICKETS.limit.visitor or 0):
        TICKETS.keep(Ticket(viewer="other", session=weakref.ref(session), language="en"), permissions.visitor().holder)
    assert app.run().text[0].value != first
