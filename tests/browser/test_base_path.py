"""The app under a path of another server's, as JupyterHub and portals have it (`--server.baseUrlPath`)."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import GO, NewPage, navigate, settled
from tests.browser.reader import PATIENCE_MS, drawn, stat
from tests.browser.server import ROOT, AppServer, serve

BASE = "/user/ann/obs"


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    with serve(ROOT / "streamlit_app.py", tmp_path_factory.mktemp("base"), base=BASE) as server:
        yield server


def test_pages_streams_scripts_and_the_search_stand_under_the_path(new_page: NewPage, under: AppServer) -> None:
    """A console error or a 404 of any file fails the test, as everywhere (`Watch`)."""
    page = new_page(under, "/")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.st-key-frame_controls').parentElement).position") == "fixed"
    )  # app.css
    navigate(page, "Markets", "Live order book")
    expect(page).to_have_url(f"{under.url}/live", timeout=PATIENCE_MS)
    expect(page.locator(".terminal-ladder button").first).to_be_visible(timeout=PATIENCE_MS)  # the stream has sent rows
    assert stat(page, "Binance spot")
    page.goto(under.url + "/attention-steps?part=scores")
    settled(page)
    drawn(page, '[data-key="steps_raw"]')
    page.locator('[data-key="steps_raw"] tbody td').first.click()
    expect(page.locator("#matrix-origin .katex math")).to_have_count(1, timeout=PATIENCE_MS)
    page.evaluate(GO, f"{BASE}/optimisers")
    drawn(page, ".st-key-surface_plot .live-plot")
    button = page.locator(".st-key-search button").first  # Streamlit makes a second one, which it hides where screens are wide
    expect(button).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("/")
    page.locator(".st-key-search_for input:focus").wait_for()
    page.keyboard.type("binance")
    dialog = page.get_by_role("dialog")
    hit = dialog.get_by_test_id("stPageLink").filter(has_text="Live order book")
    expect(hit).to_be_visible(timeout=PATIENCE_MS)
    expect(dialog.get_by_test_id("stCaptionContainer").first).to_have_text("Page")
    hit.click()
    expect(page).to_have_url(f"{under.url}/live", timeout=PATIENCE_MS)


def test_an_address_that_no_page_has_shows_the_frame_and_one_sentence(tab: Callable[..., Page], under: AppServer) -> None:
    page = tab()
    for address in ("nothing", "a/b"):
        answer = page.goto(f"{under.url}/{address}?lang=es")
        assert answer is not None and answer.status == 404
        expect(page.locator("h1")).to_have_text("Aquí no hay ninguna página", timeout=PATIENCE_MS)
        expect(page.get_by_test_id("stMain").get_by_test_id("stMarkdown").locator("p")).to_contain_text([address])
    page.get_by_role("link", name="Attention Observatory").click()
    expect(page).to_have_url(f"{under.url}/?lang=es", timeout=PATIENCE_MS)


def test_what_is_no_page_answers_under_the_path_too(under: AppServer) -> None:
    with urllib.request.urlopen(f"{under.url}/healthz") as answer:
        assert json.load(answer)["live"] is True
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{under.url}/metrics")


def test_a_page_that_cannot_speak_is_spoken_for_while_it_starts_and_when_the_server_is_lost(
    tab: Callable[..., Page], under: AppServer
) -> None:
    """The last test of this file: it interrupts the server with a page open, and no process of the server's outlives it."""
    page = tab()
    page.route("**/_stcore/host-config", lambda _: None)  # never answered
    page.goto(f"{under.url}/?lang=es")
    expect(page.locator("#frame-notice")).to_contain_text("La página está arrancando", timeout=PATIENCE_MS)
    page.unroute("**/_stcore/host-config")
    page.goto(under.url)
    settled(page)
    expect(page.locator("#frame-notice")).to_be_hidden()
    children = psutil.Process(under.process.pid).children(recursive=True)
    under.stop()
    assert not under.errors()
    assert not [child for child in children if child.is_running()]
    expect(page.locator("#frame-notice")).to_contain_text("The server is lost", timeout=PATIENCE_MS)
    expect(page.get_by_text("streamlit run")).to_be_hidden()
