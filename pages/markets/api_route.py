"""The API's routes: the state of running markets, a websocket of steps, and the OpenAPI document."""

from __future__ import annotations

import asyncio
import secrets
import weakref

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from core.market.session import MarketSession
from core.market.stream import Subscription
from core.service import api
from core.service.access import NotAllowed
from pages.markets.stream_route import BUSY, NOT_RUNNING, SessionNotices, Ticket, serve
from pages.shared.service_routes import requester

SLOW_S = 10.0
"""Seconds that a program may take for a message before it is let go."""
_clients: set[WebSocket] = set()


async def state(request: Request) -> JSONResponse:
    """Every running market."""
    try:
        return JSONResponse({"markets": await run_in_threadpool(api.states, requester(request.scope))})
    except NotAllowed as error:
        return JSONResponse({"error": str(error)}, status_code=403)


async def document(_request: Request) -> JSONResponse:
    """The OpenAPI document, open to all: it tells of nobody."""
    return JSONResponse(api.openapi())


async def stream(websocket: WebSocket) -> None:
    """Send one market's steps to a program until either ends."""
    try:
        session = api.follow(requester(websocket.scope), websocket.query_params.get("market", ""))
    except NotAllowed:
        await websocket.close(code=4403)
        return
    await websocket.accept()
    if session is None or len(_clients) >= api.MAX_CLIENTS:
        await websocket.close(code=NOT_RUNNING if session is None else BUSY)
        return
    _clients.add(websocket)
    ticket = Ticket(viewer=f"api:{secrets.token_hex(8)}", session=weakref.ref(session), language="en")
    try:
        await serve(
            websocket,
            session,
            ticket,
            lambda notices, subscription: _send(websocket, session, notices, subscription),
            lambda _subscription: _until_it_leaves(websocket),
        )
    finally:
        _clients.discard(websocket)


async def _send(websocket: WebSocket, session: MarketSession, notices: SessionNotices, subscription: Subscription) -> None:
    """Each step as it comes; a program that falls behind gets the newest as a snapshot.

    Raises:
        TimeoutError: where it does not read.
    """
    steps, version = session.frames.stream, -1
    while True:
        subscription.changed.clear()
        frames = steps.after(version) if version >= 0 else None
        if frames is None:
            snapshot, version = await notices.snapshot(1)
            frames = [snapshot]
        else:
            version += len(frames)
        for frame in frames:
            async with asyncio.timeout(SLOW_S):
                await websocket.send_text(api.step_text(frame, session.feed.key, session.predictor.heads))
        await subscription.changed.wait()


async def _until_it_leaves(websocket: WebSocket) -> None:
    """Waits until the program leaves; nothing that it sends is used."""
    try:
        while True:
            await websocket.receive_text()
    except (WebSocketDisconnect, KeyError):
        return
