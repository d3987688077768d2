"""The live API as a program uses it: the client of docs/api.md against a real server, and who is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from core.market.feeds.background import BackgroundLoop
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.service import api
from pages.markets import api_route, stream_route
from tests.browser.server import free_port
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying, wait_until
from tests.core.market.helpers import real_rows, tiny_predictor

ROOT = Path(__file__).resolve().parents[3]
ROWS = real_rows(4)
BEGUN = 60
SECRET = "sixteen characters of a secret"
HEADERS = {"Authorization": f"Bearer {SECRET}"}


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), ROWS)


@pytest.fixture
def session(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> Iterator[MarketSession]:
    loop = BackgroundLoop("test")
    session = MarketSession(ScriptedFeed(replaying(ROWS[:BEGUN])), predictor)
    loop.submit(session.run())
    wait_until(lambda: session.view(1).step == BEGUN)
    running = Mock(join=Mock(return_value=session), sessions=Mock(return_value=[session]))
    monkeypatch.setattr(stream_route, "hub", lambda: running)
    monkeypatch.setattr(api, "hub", lambda: running)
    yield session
    loop.stop()


@pytest.fixture
def url(session: MarketSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of the API's routes alone."""
    monkeypatch.setenv("OBSERVATORY_TOKEN", SECRET)
    routes = [
        Route("/api/state", api_route.state),
        Route("/api/openapi.json", api_route.document),
        WebSocketRoute("/api/stream", api_route.stream),
    ]
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def get(url: str, headers: dict[str, str] = HEADERS) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return json.load(answer)


def follow(url: str, session: MarketSession, headers: dict[str, str] = HEADERS) -> Any:
    address = f"{url.replace('http', 'ws', 1)}/api/stream?market={session.feed.key}"
    return connect(address, additional_headers=headers, open_timeout=10, close_timeout=2)


def test_the_client_of_the_documentation_prints_steps(url: str, session: MarketSession) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    environment = {"OBSERVATORY_URL": url, "OBSERVATORY_TOKEN": SECRET, "PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        lines = [client.stdout.readline()]
        for row in range(BEGUN, BEGUN + 3):
            session.feed.send(*books(ROWS[row : row + 1]))  # type: ignore[attr-defined]
            lines.append(client.stdout.readline())
        client.kill()
    times = [int(line.split()[0]) for line in lines]
    assert times == [int(t) for t in session.view(4).timestamps]


def test_a_step_is_what_the_session_holds(url: str, session: MarketSession) -> None:
    [market] = get(f"{url}/api/state")["markets"]
    view = session.view(1)
    row = market["rows"][0]
    assert [price for side in zip(row["asks"], row["bids"], strict=True) for pair in side for price in pair] == view.levels[
        0
    ].tolist()
    assert (market["time"], market["step"], market["status"]) == (int(view.timestamps[0]), BEGUN, "replaying")
    label, horizon = session.predictor.heads[0]
    told = market["calls"][f"{label}_{horizon}"]
    newest = view.predictions[-1]
    assert [told[one] for one in ("down", "stationary", "up")] == pytest.approx(newest["probabilities"][0].tolist())
    assert told["call"] == ("down", "stationary", "up")[int(newest["calls"][0])]
    assert market["scores"][f"{label}_{horizon}"]["resolved"] == session.scores(0).resolved > 0
    with follow(url, session) as stream:
        assert json.loads(stream.recv(10))["kind"] == "snapshot"
        session.feed.send(*books(ROWS[BEGUN : BEGUN + 1]))  # type: ignore[attr-defined]
        step = json.loads(stream.recv(10))
    assert (step["kind"], step["step"], len(step["rows"])) == ("step", BEGUN + 1, 1) and step["outcomes"]


def test_a_step_is_as_the_document_says(url: str, session: MarketSession) -> None:
    """Every field that the schema names is there, and no other, down to the leaves."""
    document = get(f"{url}/api/openapi.json", {})
    assert document["openapi"].startswith("3.1") and set(document["paths"]) == {api.STATE, api.STREAM}

    def compare(value: Any, schema: dict[str, Any]) -> None:
        if "properties" in schema:
            assert set(value) == set(schema["properties"]) == set(schema["required"])
            for name, one in value.items():
                compare(one, schema["properties"][name])
        elif "additionalProperties" in schema:
            for one in value.values():
                compare(one, schema["additionalProperties"])
        elif "items" in schema:
            assert len(value) <= schema.get("maxItems", len(value))
            for one in value:
                compare(one, schema["items"])
        elif "enum" in schema:
            assert value in schema["enum"]
        else:
            kinds = {"number": (int, float), "integer": int, "string": str, "null": type(None)}
            named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            assert any(isinstance(value, kinds[one]) for one in named), (value, schema)

    for market in get(f"{url}/api/state")["markets"]:
        compare(market, document["components"]["schemas"]["Step"])


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer guessed"}])
def test_it_is_off_for_strangers(url: str, session: MarketSession, headers: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(f"{url}/api/state", headers)
    assert refused.value.code == 403
    with pytest.raises(InvalidStatus), follow(url, session, headers):
        pass


def test_no_more_programs_than_allowed_and_no_market_that_does_not_run(
    url: str, session: MarketSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "MAX_CLIENTS", 1)
    with follow(url, session) as first:
        first.recv(10)
        with follow(url, session) as second, pytest.raises(ConnectionClosed) as refused:
            second.recv(10)
        assert refused.value.rcvd is not None and refused.value.rcvd.code == stream_route.BUSY
    deadline = time.monotonic() + 10
    while api_route._clients and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not api_route._clients
    other = Mock(feed=Mock(key="live/elsewhere/XYZ"))
    with follow(url, other) as nobody, pytest.raises(ConnectionClosed) as gone:
        nobody.recv(10)
    assert gone.value.rcvd is not None and gone.value.rcvd.code == stream_route.NOT_RUNNING
