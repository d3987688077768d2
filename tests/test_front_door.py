"""The app's front door by raw requests to a real server whose way to the internet is a proxy that never answers."""

import contextlib
import http.client
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.server import ROOT, AppServer, serve


class Hole:
    """A proxy that takes connections and never answers; it counts them."""

    def __init__(self) -> None:
        self.asked = 0
        self._kept: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                self._kept.append(self._listening.accept()[0])
                self.asked += 1

    def close(self) -> None:
        for one in (self._listening, *self._kept):
            one.close()


@pytest.fixture(scope="module")
def hole() -> Iterator[Hole]:
    hole = Hole()
    yield hole
    hole.close()


@pytest.fixture(scope="module")
def server(hole: Hole, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), hole.url) | {"no_proxy": "localhost"}
    with serve(ROOT / "streamlit_app.py", tmp_path_factory.mktemp("door"), environment=proxies) as server:
        yield server


def test_hosts_of_demos_are_answered(tmp_path: Path) -> None:
    """Each is started with its own files and asked by a name of its kind, as its proxy asks."""
    venv = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    space = {"SPACE_HOST": "ana-attention.hf.space", **venv}
    cloud = {"STREAMLIT_SECRETS_FILES": str(ROOT / "deploy" / "cloud" / "secrets.toml")}
    for host, environment, command in (
        ("ana-attention.hf.space", space, ("sh", "deploy/start.sh")),
        ("attention.streamlit.app", cloud, ()),
    ):
        with serve(ROOT / "streamlit_app.py", tmp_path, environment=environment, command=command) as server:
            proxy = {"Host": host, "X_Forwarded_For": "203.0.113.9"}
            assert ask(server, "GET", "/", **proxy) == 200, host
            assert ask(server, "GET", "/_stcore/stream", **HANDSHAKE, **proxy, Origin=f"https://{host}") == 101, host
            assert ask(server, "GET", "/_stcore/stream", **HANDSHAKE, **proxy, Origin="https://evil.example") == 403, host
            assert ask(server, "GET", "/", Host="evil.example") == 421, host


def ask(server: AppServer, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    """Status of the answer; underscores in headers stand for hyphens."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, named)
        return connection.getresponse().status
    finally:
        connection.close()


HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Protocol": "streamlit",
}
PATHS = ("/_stcore/stream", "/stream/market", "/stream/hands", "/stream/sight")


def test_a_foreign_page_is_refused_at_once_and_nothing_is_asked_of_the_internet(server: AppServer, hole: Hole) -> None:
    for origin in ("http://evil.example", "http://localhost:9999", server.url.replace("http:", "https:"), "null"):
        for path in PATHS:
            assert ask(server, "GET", path, **HANDSHAKE, Origin=origin) == 403, (origin, path)
        assert ask(server, "GET", "/healthz", Origin=origin) == 403
        assert ask(server, "PUT", "/_stcore/upload_file/visitor/file", b"x", Origin=origin) == 403
        assert ask(server, "POST", "/_stcore/agent/interact", b"{}", Origin=origin) == 403
    for path in PATHS:
        assert ask(server, "GET", path, **HANDSHAKE, Host="evil.example", Origin="http://evil.example") == 421, path
    assert ask(server, "GET", "/", Host="evil.example") == 421
    assert hole.asked == 0
    assert "external IP" not in server.written()


def test_the_servers_own_pages_are_let_in(server: AppServer, hole: Hole) -> None:
    shouted = server.url.replace("localhost", "LOCALHOST")
    for origin in (server.url, shouted):
        assert ask(server, "GET", "/_stcore/stream", **HANDSHAKE, Origin=origin) == 101
        assert ask(server, "GET", "/healthz", Origin=origin) == 200
    assert ask(server, "GET", "/_stcore/stream", **HANDSHAKE) == 101
    assert hole.asked == 0


def test_an_upload_is_looked_at_before_it_is_read(server: AppServer) -> None:
    """One that no page asked for; `tests/browser/test_images.py` brings one that a page did."""
    assert ask(server, "PUT", "/_stcore/upload_file/visitor/file", Content_Length=str(2**21)) == 413
