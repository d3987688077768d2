"""The static site: opened from a folder and under a path of a server, on a phone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page

from scripts import site
from tests.browser.conftest import Watch, assert_fits

FOLDER = "a/path"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("site")
    site.make(top / FOLDER)
    return top


@pytest.fixture
def address(top: Path) -> Iterator[str]:
    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("localhost", 0), partial(Silent, directory=str(top)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/{FOLDER}/"
    server.shutdown()
    server.server_close()


def test_every_page_lights_its_stage_without_a_server_and_under_a_path(
    tab: Callable[..., Page], watch: Watch, top: Path, address: str
) -> None:
    assert sum(file.stat().st_size for file in top.rglob("*.*")) < 5_000_000
    page = tab(width=390)
    watch.page(page)
    page.goto((top / FOLDER / "index.html").as_uri())
    for name, (title, _lead, _make) in site.PAGES.items():
        page.get_by_role("link", name=title, exact=True).click()
        page.wait_for_url(f"**/{name}.html")
        assert float(page.locator("[data-light]").get_attribute("data-value") or 0) > 0
        assert_fits(page)
    page.goto(address)
    stage = page.locator("[data-light=words]")
    before = stage.get_attribute("data-token")
    stage.press("ArrowLeft")
    assert stage.get_attribute("data-token") != before
