"""The server's answers besides pages, by ASGI: no server runs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from core.service import health as health_module
from pages.shared import service_routes

APP = Starlette(
    routes=[Route("/healthz", service_routes.healthz), Route("/metrics", service_routes.metrics)],
    middleware=[Middleware(service_routes.HostCheck)],
)


def ask(path: str, *, host: str = "localhost:1", accept: str = "*/*", kind: str = "http") -> list[dict[str, Any]]:
    """Messages that the application sends for one request."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.request" if kind == "http" else "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode()), (b"accept", accept.encode())]
    scope = {"type": kind, "method": "GET", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(APP(scope, receive, send))
    return sent


def test_healthz_says_whether_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    start, body = ask("/healthz")
    assert start["status"] == 200 and json.loads(body["body"])["ready"] is True
    monkeypatch.setattr(health_module, "LEAST_FREE", 2**80)
    start, body = ask("/healthz")
    assert start["status"] == 503 and json.loads(body["body"])["live"] is True


def test_metrics_for_prometheus_and_the_lab_for_a_browser() -> None:
    prometheus = ask("/metrics", accept="text/plain;version=0.0.4")
    assert b"# TYPE observatory_steps_total counter" in prometheus[1]["body"]
    browser = ask("/metrics", accept="text/html,application/xhtml+xml")
    assert b"<html" in browser[1]["body"]


def test_a_name_that_is_not_the_servers_is_refused_before_any_route() -> None:
    start, body = ask("/healthz", host="evil.example")
    assert start["status"] == 421 and b"OBSERVATORY_HOSTS" in body["body"]
    assert ask("/stream/market", host="evil.example", kind="websocket")[0] == {
        "type": "websocket.close",
        "code": 4403,
        "reason": "",
    }
