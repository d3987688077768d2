"""The websocket over which the live page gets its steps: `/stream/market?ticket=...` on the app's own port.

A page hands its browser a ticket for one feed. The route sends a snapshot, then each new step. The browser says now and then how
many frames it has read; one with too many unread gets no more until it says so, and then the newest, by a snapshot where the
steps between are no longer kept. Text messages carry what is no step: the feed's message and the states of the market in the
reader's language, and the light.
"""

import asyncio
import contextlib
import math
import random
import secrets
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from core.market.feeds.situations import Since
from core.market.hub import hub
from core.market.light import EVERY_S, WindowLight, keeper
from core.market.session import KEPT_ROWS, MarketSession
from core.market.stream import STATUSES
from core.store import BoundedStore, Limit
from pages.shared.language import translate_to
from pages.shared.navigation import MARKET_STREAM

PATH: Final = MARKET_STREAM
MAX_TICKETS: Final = 4_096
ALIVE_EVERY_S: Final = 5.0
"""Seconds between two messages of a connected viewer to the hub that it still looks."""
STATUS_EVERY_S: Final = 1.0
ANSWER_EVERY_S: Final = 0.5
"""Between two answers to a viewer's questions."""
SNAPSHOT_ROWS: Final = 1_200
"""Rows of a snapshot for a viewer that fell behind; a viewer that comes gets all that are kept."""
SPREAD_S: Final = 0.01
"""Seconds a viewer over which the snapshots after a jump are spread, such as of a recording that begins again."""
MAX_SPREAD_S: Final = 2.0
NOT_RUNNING: Final = 4404
"""Closes a viewer's socket where its feed was stopped meanwhile: the page then runs again, which starts the feed."""
MAX_UNREAD: Final = 8
"""Frames a viewer may have unread: two seconds. The page says after every fourth how many it has read."""


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """Permission of a browser to watch: one feed, as one viewer, with its messages in one language.

    It keeps no session alive: one that ended takes its rows and open files with it, while its ticket waits for its turn.
    """

    viewer: str
    session: weakref.ref[MarketSession]
    language: str


TICKETS: Final[BoundedStore[Ticket]] = BoundedStore(
    key=lambda _ticket: secrets.token_urlsafe(24),
    size=lambda _ticket: 1,
    limit=Limit(total=MAX_TICKETS, address=MAX_TICKETS // 2, visitor=16),
    max_bytes=MAX_TICKETS,
)
"""Tickets by their secret text."""


@dataclass
class Progress:
    """Frames that a viewer's socket was sent, those it says it has read, and what it asks for."""

    viewer: str
    sent: int = 0
    read: int = 0
    head: int | None = None
    """The head whose light the viewer asked for."""
    place: tuple[float, float] = 0.0, 0.0
    """The price, and its step, without which the viewer asks for an answer."""
    asks: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while that question stands open."""

    @property
    def unread(self) -> int:
        """Frames on their way."""
        return self.sent - self.read


class SessionNotices:
    """State shared by the viewers of a session, done once for all of them: its status, its light, and keeping it running.

    Attributes:
        number: of the newest change. status: the session's, its feed's message, the states of the market that pass, and its day.
        readers: one a socket. ended: done once the session no longer runs. tasks: done by a fault alone.
        lights: the newest, by head.
    """

    def __init__(self, session: MarketSession) -> None:
        self.number, self.status = 0, (*session.status_now(), session.situations(), session.day.known)
        self.readers: list[Progress] = []
        self.lights: dict[int, WindowLight] = {}
        self._session = session
        self._snapshots: dict[int, asyncio.Task[tuple[bytes, int]]] = {}  # under way, by their rows
        self.ended = asyncio.create_task(self._keep_running())
        self.tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._renew_lights())]

    @property
    def viewers(self) -> Counter[str]:
        """Sockets of each viewer."""
        return Counter(one.viewer for one in self.readers)

    def stop(self) -> None:
        """After the last viewer."""
        for task in (self.ended, *self.tasks):
            task.cancel()

    async def _keep_running(self) -> None:
        """Keep the feed running for the viewers; return where it runs no more, or anew in another session."""
        while await asyncio.to_thread(self.join, *self.viewers):
            await asyncio.sleep(ALIVE_EVERY_S)

    def join(self, *viewers: str) -> bool:
        """Tell the hub that these still watch; may wait for its lock. False: the session runs no more."""
        return all(hub().join(viewer, self._session.feed.key) is self._session for viewer in viewers)

    async def snapshot(self, rows: int) -> tuple[bytes, int]:
        """`MarketSession.snapshot`, in a thread, once for all who ask meanwhile: after a jump they all do at once."""
        making = self._snapshots.get(rows)
        if making is None:
            making = self._snapshots[rows] = asyncio.create_task(asyncio.to_thread(self._session.snapshot, rows))
            making.add_done_callback(lambda _: self._snapshots.pop(rows, None))
        return await asyncio.shield(making)  # one viewer that leaves takes it from nobody

    async def _look(self) -> None:
        stream = self._session.frames.stream
        with stream.subscribe() as changed:
            while True:
                status = (*self._session.status_now(), self._session.situations(), self._session.day.known)
                if status != self.status:
                    self.number, self.status = self.number + 1, status
                    stream.wake()
                with contextlib.suppress(TimeoutError):  # a feed that goes stale says so by sending nothing
                    async with asyncio.timeout(STATUS_EVERY_S):
                        await changed.wait()
                changed.clear()

    async def _renew_lights(self) -> None:
        """Wake the viewers for a new light; of several heads the one that waits longest comes first.

        Where the feed is paused too: after a step the newest window may have to wait until the processor is free again.
        """
        while True:
            await asyncio.sleep(EVERY_S / 5)
            heads = {one.head for one in self.readers if one.head is not None and one.unread < MAX_UNREAD}
            for head in sorted(heads, key=lambda head: self.lights[head].timestamp if head in self.lights else 0):
                light = await keeper().newest(self._session, head)
                if light is None:
                    self.lights.pop(head, None)  # that from before a gap
                elif light is not self.lights.get(head):
                    self.lights[head] = light
                    self._session.frames.stream.wake()


_notices: dict[MarketSession, SessionNotices] = {}


@contextlib.contextmanager
def notices_of(session: MarketSession, progress: Progress) -> Iterator[SessionNotices]:
    """The session's notices, shared by its viewers and ended with the last of them."""
    notices = _notices.get(session) or _notices.setdefault(session, SessionNotices(session))
    notices.readers.append(progress)
    try:
        yield notices
    finally:
        notices.readers = [one for one in notices.readers if one is not progress]
        if not notices.readers:
            _notices.pop(session, None)
            notices.stop()


def described(situations: Iterable[Since], language: str) -> list[dict[str, Any]]:
    """States of a market in a word and a clause, in which the browser writes its beginning by the reader's clock for `{time}`."""
    return [
        {
            "since": one.since_ms,
            "short": translate_to(language, one.short()),
            "text": translate_to(language, one.words("{time}")),
        }
        for one in situations
    ]


async def market_stream(websocket: WebSocket) -> None:
    """Serve one viewer until it leaves, or the session runs no more."""
    ticket = TICKETS.find(websocket.query_params.get("ticket", ""))
    if ticket is None:
        await websocket.close(code=4403)
        return
    await websocket.accept()
    progress, session = Progress(ticket.viewer), ticket.session()
    if session is None:
        await websocket.close(code=NOT_RUNNING)
        return
    with session.frames.stream.subscribe() as changed, notices_of(session, progress) as notices:
        tasks = [
            asyncio.create_task(_send(websocket, ticket, session, notices, changed, progress)),
            asyncio.create_task(_receive(websocket, session, changed, progress)),
            asyncio.create_task(_answer_without(websocket, session, progress)),
        ]
        try:
            if await asyncio.to_thread(notices.join, ticket.viewer):
                await asyncio.wait([*tasks, notices.ended, *notices.tasks], return_when=asyncio.FIRST_COMPLETED)
            if not any(task.done() for task in tasks):
                with contextlib.suppress(RuntimeError):  # it left meanwhile
                    await websocket.close(code=NOT_RUNNING)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _send(
    websocket: WebSocket,
    ticket: Ticket,
    session: MarketSession,
    notices: SessionNotices,
    changed: asyncio.Event,
    progress: Progress,
) -> None:
    stream = session.frames.stream
    version, noticed, day, lit = -1, -1, None, None
    while True:
        changed.clear()
        if noticed != notices.number:
            noticed, (status, message, situations, newest) = notices.number, notices.status
            state: dict[str, Any] = {"status": STATUSES.index(status), "text": translate_to(ticket.language, message)}
            if unit := session.feed.unit:  # a live feed knows it once it is connected
                state["unit"] = translate_to(ticket.language, unit)
            if newest != day:  # once a minute
                day = newest
                state["day"] = {"until": newest[0], "runs": newest[1]}
            states = {"situations": described(situations, ticket.language)} if situations else {}
            await websocket.send_json(state | states)
        if progress.unread < MAX_UNREAD:
            frames = stream.after(version) if version >= 0 else None
            if frames is None:
                rows = KEPT_ROWS if version < 0 else SNAPSHOT_ROWS
                jumped = version >= 0
                snapshot, version = await notices.snapshot(rows)
                if jumped:  # all viewers at once, a megabyte each: nobody's next step waits for that of everybody else
                    await asyncio.sleep(random.random() * min(SPREAD_S * stream.viewers, MAX_SPREAD_S))
                frames = [snapshot]
            else:
                version += len(frames)
            for frame in frames:
                progress.sent += 1
                await websocket.send_bytes(frame)
        if progress.head is not None and progress.unread < MAX_UNREAD:
            light = notices.lights.get(progress.head)
            if light is not None and light is not lit:
                lit = light
                await websocket.send_text(light.message)
        await changed.wait()


async def _answer_without(websocket: WebSocket, session: MarketSession, progress: Progress) -> None:
    """Answer the viewer's newest question, two a second at most."""
    while True:
        await progress.asks.wait()
        if progress.head is not None and progress.unread < MAX_UNREAD:
            progress.asks.clear()
            answer = await keeper().without(session, progress.head, progress.place)
            if answer is not None:
                await websocket.send_json({"without": answer})
        await asyncio.sleep(ANSWER_EVERY_S)


def _place_of(text: str) -> tuple[float, float]:
    """Price and step of a question.

    Raises:
        ValueError: where they are none.
    """
    _without, price, step = text.split()
    place = float(price), float(step)
    if not (math.isfinite(place[0]) and 0 < place[1] < math.inf):
        raise ValueError(f"{text} names no price")
    return place


async def _receive(websocket: WebSocket, session: MarketSession, changed: asyncio.Event, progress: Progress) -> None:
    """Take how many frames the viewer has read, the head whose light it wants ("light 3", "light" for none), or a question.

    A question is for the answer without what rests at a price ("without 1.225 0.001", the price and the step that it stands for).

    Returns when it leaves or says something else.
    """
    while True:
        try:
            text = await websocket.receive_text()
            if text.startswith("light"):
                wanted = text.removeprefix("light").strip()
                progress.head = range(len(session.predictor.heads))[int(wanted)] if wanted else None
                changed.set()
                continue
            if text.startswith("without "):
                progress.place = _place_of(text)
                progress.asks.set()
                continue
            read = int(text)
        except (WebSocketDisconnect, ValueError, KeyError, IndexError):
            return
        waiting = progress.unread >= MAX_UNREAD
        progress.read = max(progress.read, min(read, progress.sent))
        if waiting:
            changed.set()
