"""The websocket over which the live page gets its steps: `/stream/market?ticket=...` on the app's own port.

A page hands its browser a ticket for one feed. The route sends a snapshot, then each new step; a reader that fell behind gets a
snapshot instead of the steps it missed. Text messages carry what is not a number (the feed's message in the reader's language).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from core.market.alert_monitor import alert_book, market_of
from core.market.hub import hub
from core.market.session import MarketSession
from core.market.stream import STATUSES
from pages.shared.language import translate_to

PATH: Final = "/stream/market"
MOST_TICKETS: Final = 4_096
ALIVE_EVERY_S: Final = 5.0
"""How often a connected viewer tells the hub that it still looks."""
STATUS_EVERY_S: Final = 1.0
SNAPSHOT_ROWS: Final = 1_200


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """What a browser may watch: one feed, as one viewer, with its messages in one language."""

    viewer: str
    session: MarketSession
    language: str


class TicketOffice:
    """Tickets by their secret text, the oldest dropped where there are too many."""

    def __init__(self, most: int = MOST_TICKETS) -> None:
        self._most, self._lock = most, threading.Lock()
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()

    def issue(self, ticket: Ticket) -> str:
        """A new secret for this ticket."""
        secret = secrets.token_urlsafe(24)
        with self._lock:
            self._tickets[secret] = ticket
            while len(self._tickets) > self._most:
                self._tickets.popitem(last=False)
        return secret

    def find(self, secret: str) -> Ticket | None:
        """The ticket of that secret, None where there is none."""
        with self._lock:
            return self._tickets.get(secret)


TICKETS: Final = TicketOffice()


async def market_stream(websocket: WebSocket) -> None:
    """Serve one viewer until it leaves."""
    ticket = TICKETS.find(websocket.query_params.get("ticket", ""))
    allowed = _is_origin_allowed(websocket.headers.get("origin"), websocket.headers.get("host"))
    if ticket is None or not allowed:
        await websocket.close(code=4403)
        return
    await websocket.accept()
    alive = asyncio.create_task(_keep_watching(ticket))
    sending = asyncio.create_task(_send_steps(websocket, ticket))
    receiving = asyncio.create_task(_receive(websocket))
    try:
        await asyncio.wait([sending, receiving], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (alive, sending, receiving):
            task.cancel()
        await asyncio.gather(alive, sending, receiving, return_exceptions=True)


async def _keep_watching(ticket: Ticket) -> None:
    while True:
        hub().join(ticket.viewer, ticket.session.feed.key)
        await asyncio.sleep(ALIVE_EVERY_S)


async def _send_steps(websocket: WebSocket, ticket: Ticket) -> None:
    session, sent, told, alerted = ticket.session, -1, None, time.time()
    market = market_of(session.feed.key)
    with session.frames.stream.subscribe() as subscription:
        while True:
            if (status := session.status_now()) != told:
                told = status
                text = {"status": STATUSES.index(status[0]), "text": translate_to(ticket.language, status[1])}
                await websocket.send_text(json.dumps(text))
            for event in alert_book().log(alerted):
                alerted = event.at
                if event.rule.market == market:
                    alert = {"text": translate_to(ticket.language, event.text)}
                    await websocket.send_text(
                        json.dumps({"alert": alert | {"sound": event.rule.sound, "notification": event.rule.notification}})
                    )
            frame, previous, version = session.frames.stream.newest()
            if version != sent:
                if sent < 0 or previous != sent:
                    frame, version = await asyncio.to_thread(session.snapshot, SNAPSHOT_ROWS)
                sent = version
                await websocket.send_bytes(frame)
            with contextlib.suppress(TimeoutError):  # a feed that goes stale says so by sending nothing
                await asyncio.wait_for(subscription.changed.wait(), STATUS_EVERY_S)
            subscription.changed.clear()


async def _receive(websocket: WebSocket) -> None:
    try:
        while True:
            await websocket.receive_text()
    except WebSocketDisconnect:
        return
