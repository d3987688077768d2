"""Answers of a server besides pages: `/healthz`, `/metrics`; and what it refuses before any page is asked."""

import re
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.service.access import FRAMES_VARIABLE, HOSTS_VARIABLE, Action, NotAllowed, RequestAddress, Visitor, listed, requester_of
from core.service.hosts import host_allowed, origin_allowed
from core.service.limits import SOCKETS, Places
from pages.shared import permissions
from pages.shared.assets import page_html

STREAMLITS_METRICS = "/_stcore/metrics"


def address(scope: Scope) -> RequestAddress:
    """Everything that is known of how a request came."""
    request = HTTPConnection(scope)
    return permissions.connection(dict(request.headers), request.client.host if request.client else "")


def requester(scope: Scope) -> Visitor:
    """Visitor who sends a request that is no page's."""
    return requester_of(address(scope))


async def healthz(request: Request) -> Response:
    """The process's state as JSON: 200 where it can serve new viewers, else 503."""
    from core.service.health import health

    state = await run_in_threadpool(health, requester(request.scope))
    return JSONResponse(state, status_code=200 if state["ready"] else 503)


async def metrics(request: Request) -> Response:
    """Prometheus' text format; a browser, which asks for HTML, gets the page of that address, the metrics lab."""
    if "text/html" in request.headers.get("accept", ""):
        return page_html(request.scope)
    from prometheus_client import CONTENT_TYPE_LATEST

    from core.service.health import metrics as current

    try:
        return Response(await run_in_threadpool(current, requester(request.scope)), media_type=CONTENT_TYPE_LATEST)
    except NotAllowed as error:
        return PlainTextResponse(f"{error}\n", status_code=403)


class Gate:
    """Refuses what no page decides over, and says that no page stands in another's frame.

    A request whose `Host` is not this server's is refused, and one that another's page sends (`Origin`), pages, uploads and
    sockets alike; so are Streamlit's own metrics, to strangers. What is answered may be framed by the server's own pages, and
    those of `OBSERVATORY_FRAMES`.
    """

    def __init__(self, app: ASGIApp, sockets: Places | None = None) -> None:
        self.app, self.sockets = app, sockets or Places(SOCKETS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        came = address(scope)
        refusal = refused(scope, came)
        if refusal is not None:
            await refusal(scope, receive, send)  # of a socket too: the handshake is answered so
        elif scope["type"] == "websocket":
            by = requester_of(came).limited_by
            if self.sockets.acquire(by) is not None:
                await PlainTextResponse("Too many sockets are open here: close a tab.\n", status_code=429)(scope, receive, send)
                return
            try:
                await self.app(_of_one_name(scope), receive, send)
            finally:
                self.sockets.give_back(by)
        else:

            async def framed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    sites = sorted(site for site in listed(FRAMES_VARIABLE) if re.fullmatch(r"https?://[\w.*:-]+", site))
                    by = " ".join(("frame-ancestors 'self'", *sites))
                    MutableHeaders(scope=message).append("Content-Security-Policy", by)
                await send(message)

            await self.app(scope, receive, framed)


def refused(scope: Scope, came: RequestAddress) -> PlainTextResponse | None:
    """Answer to a request that is not passed on."""
    if not host_allowed(came.headers.get("host", ""), came.bind, came.public_name):
        sentence = f"This server does not go by that name: whoever runs it may add the name to {HOSTS_VARIABLE}.\n"
        return PlainTextResponse(sentence, status_code=421)
    if not origin_allowed(came, "https" if scope.get("scheme") in ("https", "wss") else "http"):
        return PlainTextResponse(f"Another site's page asked: its address may be added to {HOSTS_VARIABLE}.\n", status_code=403)
    who = requester_of(came)  # of every request, since one that a proxy passed on closes the machine's doors
    if scope["path"].rstrip("/").endswith(STREAMLITS_METRICS) and not who.may(Action.READ_METRICS):
        return PlainTextResponse("Closed here.\n", status_code=403)
    return None


def _of_one_name(scope: Scope) -> Scope:
    """The handshake with the page's own name as `Host`: Streamlit compares the two as text, and looks no further."""
    headers = MutableHeaders(raw=list(scope["headers"]))
    if origin := headers.get("origin"):
        headers["host"] = urlsplit(origin).netloc
    return {**scope, "headers": headers.raw}
