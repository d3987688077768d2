"""Answers of a server besides pages: `/healthz`, `/metrics`; and what it refuses before any page is asked."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from core.service.access import HOSTS_VARIABLE, Action, NotAllowed, Visitor, host_allowed, requester_of
from pages.shared import permissions
from pages.shared.assets import page_html

STREAMLITS_METRICS = "/_stcore/metrics"


def requester(scope: Scope) -> Visitor:
    """Visitor who sends a request that is no page's."""
    request = HTTPConnection(scope)
    peer = request.client.host if request.client else ""
    return requester_of(permissions.connection(dict(request.headers), peer))


async def healthz(request: Request) -> Response:
    """The process's state as JSON: 200 where it can serve new viewers, else 503."""
    from core.service.health import health

    state = await run_in_threadpool(health)
    return JSONResponse(state.as_dict(requester(request.scope)), status_code=200 if state.ready else 503)


async def metrics(request: Request) -> Response:
    """Prometheus' text format; a browser, which asks for HTML, gets the page of that address, the metrics lab."""
    if "text/html" in request.headers.get("accept", ""):
        return page_html(request)
    from prometheus_client import CONTENT_TYPE_LATEST

    from core.service.metrics import metrics as current

    try:
        return Response(await run_in_threadpool(current, requester(request.scope)), media_type=CONTENT_TYPE_LATEST)
    except NotAllowed as error:
        return PlainTextResponse(f"{error}\n", status_code=403)


class Gate:
    """Refuses what no page decides over, and says that no page stands in another's frame.

    A request whose `Host` is not this server's is refused, pages and sockets alike; so are Streamlit's own metrics, to strangers.
    What is answered may be framed by the server's own pages alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not host_allowed(headers.get("host", "")):
            if scope["type"] == "websocket":
                await WebSocketClose(code=4403)(scope, receive, send)
                return
            sentence = f"This server does not go by that name: whoever runs it may add the name to {HOSTS_VARIABLE}.\n"
            await PlainTextResponse(sentence, status_code=421)(scope, receive, send)
            return
        who = requester(scope)  # of every request, since one that a proxy passed on closes the machine's doors
        if scope["path"].rstrip("/").endswith(STREAMLITS_METRICS) and not who.may(Action.READ_METRICS):
            await PlainTextResponse("Closed here.\n", status_code=403)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Content-Security-Policy", "frame-ancestors 'self'")
            await send(message)

        await self.app(scope, receive, framed)
