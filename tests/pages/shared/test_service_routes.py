"""The server's answers besides pages, by ASGI: no server runs."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from attention_light import AttentionScene, LayerMaps, WordStage
from core.service import health as health_module
from core.service.access import FRAMES_VARIABLE, PROXY_SEEN, TOKEN_VARIABLE
from core.service.limits import Limit, Places
from pages.shared import attention_view, service_routes

APP = Starlette(
    routes=[
        Route("/healthz", service_routes.healthz),
        Route("/metrics", service_routes.metrics),
        *(Route(path, lambda _: PlainTextResponse("page")) for path in ("/_stcore/metrics", "/", "/cost", "/live", "/train")),
    ],
    middleware=[Middleware(service_routes.Gate)],
)


@pytest.fixture(autouse=True)
def no_proxy_yet() -> Iterator[None]:
    PROXY_SEEN.clear()
    yield
    PROXY_SEEN.clear()


def ask(
    path: str,
    *,
    host: str = "localhost:1",
    accept: str = "*/*",
    kind: str = "http",
    method: str = "GET",
    peer: str = "127.0.0.1",
    app: ASGIApp = APP,
    **headers: str,
) -> list[dict[str, Any]]:
    """Messages that the application sends for one request; underscores in headers stand for hyphens."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.request" if kind == "http" else "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    named = {"host": host, "accept": accept} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": kind,
        "method": method,
        "path": path.partition("?")[0],
        "query_string": path.partition("?")[2].encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": (peer, 1),
    }
    asyncio.run(app(scope, receive, send))
    return sent


SECRET = "a-secret-of-20-chars"
SHOWN = {"authorization": f"Bearer {SECRET}"}


def test_healthz_says_whether_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    start, body = ask("/healthz")
    assert start["status"] == 200 and json.loads(body["body"])["ready"] is True
    monkeypatch.setattr(health_module, "MIN_FREE", 2**80)
    start, body = ask("/healthz")
    assert start["status"] == 503 and json.loads(body["body"])["live"] is True


def test_metrics_for_prometheus_and_the_lab_for_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    prometheus = ask("/metrics", accept="text/plain;version=0.0.4", **SHOWN)
    assert b"# TYPE observatory_steps_total counter" in prometheus[1]["body"]
    browser = ask("/metrics", accept="text/html,application/xhtml+xml")
    assert b"<html" in browser[1]["body"]


def test_a_name_that_is_not_the_servers_is_refused_before_any_route() -> None:
    start, body = ask("/healthz", host="evil.example")
    assert start["status"] == 421 and b"OBSERVATORY_HOSTS" in body["body"]
    refused = ask("/stream/market", host="evil.example", kind="websocket")[0]
    assert refused["type"] == "websocket.http.response.start" and refused["status"] == 421


def test_sockets_of_one_address_are_counted_and_let_go_again() -> None:
    places = Places(Limit(total=9, address=1))

    async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
        assert places.held == 1
        raise RuntimeError

    gate = service_routes.Gate(fails, places)
    with pytest.raises(RuntimeError):
        ask("/", kind="websocket", app=gate)
    assert places.acquire("127.0.0.1") is None
    assert ask("/", kind="websocket", app=gate)[0]["status"] == 429


FAR = {"peer": "203.0.113.9", "host": "203.0.113.7:8501"}


@pytest.mark.parametrize("path", ["/metrics", "/_stcore/metrics"])
def test_metrics_are_not_for_strangers(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(path)[0]["status"] == 403  # so arrives what a bare `proxy_pass` hands on from the network
    assert ask(path, **FAR)[0]["status"] == 403
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    assert ask(path)[0]["status"] == 403
    assert ask(path, **SHOWN)[0]["status"] == ask(path, **FAR, **SHOWN)[0]["status"] == 200


def test_a_request_that_a_proxy_passed_on_closes_the_machines_doors() -> None:
    ask("/", x_forwarded_for="203.0.113.9")
    assert PROXY_SEEN.is_set()


def test_strangers_read_no_names_of_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    assert {"feeds", "model"} <= json.loads(ask("/healthz", **SHOWN)[1]["body"]).keys()
    assert json.loads(ask("/healthz")[1]["body"]) == {"live": True, "ready": True}
    assert json.loads(ask("/healthz", **FAR)[1]["body"]) == {"live": True, "ready": True}


def policy(path: str) -> list[bytes]:
    return [value for name, value in ask(path)[0]["headers"] if name == b"content-security-policy"]


def test_no_page_stands_in_the_frame_of_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("/", "/live", "/live?embed=true", "/cost", "/cost?part=growth&embed=true"):
        assert policy(path) == [b"frame-ancestors 'self'"], path
    monkeypatch.setenv(FRAMES_VARIABLE, "https://portal.example, evil; script-src *")
    assert policy("/") == [b"frame-ancestors 'self' https://portal.example"]


def test_a_view_keeps_the_layers_of_its_last_scene_and_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(attention_view, "browser_component", lambda _name: lambda *, data, **_more: sent.append(data))
    app = Starlette(routes=[Route("/light/{scene}/{number:int}", attention_view.send_part)])
    stage = WordStage(words=["a"] * 520)

    def drawn(shift: int, key: str) -> str:
        layer = LayerMaps(name="layer 1", weights=np.roll(np.eye(520, dtype=np.float32), shift, axis=1)[None])
        attention_view.attention_view(AttentionScene(stage=stage, layers=[layer], start=0), key=key)
        return "/" + json.loads(sent[-1][4 : 4 + int.from_bytes(sent[-1][:4], "little")])["parts"] + "/0"

    other, *three = drawn(0, "other"), *(drawn(shift, "light") for shift in (1, 2, 3))
    assert [ask(path, app=app)[0]["status"] for path in (other, *three)] == [200, 404, 200, 200]
