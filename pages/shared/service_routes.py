"""What a server answers besides pages: `/healthz`, `/metrics`, and a refusal to names that are not its own."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from core.service.access import HOSTS_VARIABLE, host_allowed
from pages.shared.assets import page_html


async def healthz(_request: Request) -> Response:
    """The process's state as JSON: 200 where it can serve new viewers, else 503."""
    from core.service.health import health

    state = await run_in_threadpool(health)
    return JSONResponse(state.as_dict(), status_code=200 if state.ready else 503)


async def metrics(request: Request) -> Response:
    """Prometheus' text format; a browser, which asks for HTML, gets the page of that address, the metrics lab."""
    if "text/html" in request.headers.get("accept", ""):
        return page_html(request)
    from prometheus_client import CONTENT_TYPE_LATEST

    from core.service.metrics import metrics as current

    return Response(await run_in_threadpool(current), media_type=CONTENT_TYPE_LATEST)


class HostCheck:
    """Refuses requests whose `Host` is not this server's, pages and sockets alike."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request on."""
        if scope["type"] not in ("http", "websocket") or host_allowed(Headers(scope=scope).get("host", "")):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(code=4403)(scope, receive, send)
        else:
            sentence = f"This server does not go by that name: whoever runs it may add the name to {HOSTS_VARIABLE}.\n"
            await PlainTextResponse(sentence, status_code=421)(scope, receive, send)
