"""The frame around the pages, as a visitor meets it."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import plotly
import psutil
import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.assets import PLOTLY
from pages.shared.navigation import ENTRIES, PageEntry
from tests.browser.conftest import NewPage, assert_fits, settled
from tests.browser.server import ROOT, AppServer, serve

SYSTEM = next(entry for entry in ENTRIES if entry.url == "system")
FIRST = ENTRIES[0]


def address(entry: PageEntry) -> str:
    return "/" if entry is FIRST else f"/{entry.url}"


def navigate(page: Page, title: str) -> None:
    page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()


def test_plotly_comes_from_the_installed_package(app: AppServer) -> None:
    with urllib.request.urlopen(app.url + PLOTLY) as answer:
        assert answer.read() == (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes()
        assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.url)
def test_every_page_opens_on_every_screen(entry: PageEntry, app: AppServer, screens: Callable[..., Iterator[Page]]) -> None:
    for page in screens(app, address(entry), entry.url):
        expect(page.locator("h1")).to_have_text(entry.title)
        assert_fits(page)


def test_tab_stops_nowhere_off_the_screen_and_the_sidebar_opens_by_key(new_page: NewPage, app: AppServer) -> None:
    """The front page's sidebar is collapsed, which puts its links left of the screen."""
    page = new_page(app, "/", width=1400)  # a profile of its own: one in which the sidebar was opened keeps it open
    expect(page).to_have_title(f"{FIRST.title} · Attention Observatory")
    settled(page)
    edges = []
    for _ in range(45):
        page.keyboard.press("Tab")
        edges.append(page.evaluate("document.activeElement.getBoundingClientRect().right"))
    assert min(edges) > 0
    page.get_by_test_id("stExpandSidebarButton").press("Enter")
    link = page.get_by_test_id("stSidebarNavLink").first
    expect(link).to_be_visible()
    link.focus()
    assert page.evaluate("document.activeElement.dataset.testid") == "stSidebarNavLink"


def test_nothing_is_sent_by_reference(new_page: NewPage, app: AppServer) -> None:
    """A reference to what the browser has dropped meanwhile, as it may on a page that ticks, would stop the page for good."""
    kinds: list[str | None] = []

    def note(frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            message = ForwardMsg()
            message.ParseFromString(frame)
            kinds.append(message.WhichOneof("type"))

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", note)

    page = new_page(app, "/system")
    page.on("websocket", listen)
    page.goto(app.url + "/positions")
    page.wait_for_selector(".live-plot[data-updates]")
    settled(page)
    before = len(kinds)
    page.get_by_role("radio", name="Español").click()  # the whole page anew, its figures the same
    expect(page.locator("html")).to_have_attribute("lang", "es")
    settled(page)
    page.get_by_role("radio", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    settled(page)
    assert "delta" in kinds[before:] and "ref_hash" not in kinds


def test_the_browser_decides_the_language_and_the_switch_overrides(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system", locale="es-AR")
    expect(page.locator("h1")).to_have_text("Sistema")
    expect(page.locator("html")).to_have_attribute("lang", "es")
    page.get_by_role("radio", name="English").click()
    expect(page.locator("h1")).to_have_text("System")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.wait_for_url("**/system?lang=en")
    page.reload()
    settled(page)
    expect(page.locator("h1")).to_have_text("System")


def test_language_and_choices_go_along_and_back_leads_to_the_page_before(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system?lang=es&present=false")
    navigate(page, "Libro de órdenes en vivo")
    expect(page.locator("h1")).to_have_text("Libro de órdenes en vivo", timeout=30_000)
    page.wait_for_url(lambda url: "lang=es" in url and "/system" not in url)
    settled(page)
    page.go_back()
    expect(page.locator("h1")).to_have_text("Sistema", timeout=30_000)


def test_presentation_mode_enlarges_and_puts_controls_away(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system")
    size = "parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)"
    before = page.evaluate(size)
    larger = new_page(app, "/system?present=true")
    larger.wait_for_function(f"before => {size} > 1.2 * before", arg=before)
    expect(larger.get_by_role("radio", name="English")).to_have_count(0)


def test_the_system_page_tells_the_truth_about_the_process(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system")
    shown = page.get_by_test_id("stMetric").filter(has_text="Memory").get_by_test_id("stMetricValue").inner_text()
    amount, unit = shown.split()
    mebibytes = float(amount.replace(",", "")) * {"MiB": 1, "GiB": 1024}[unit]
    assert mebibytes == pytest.approx(psutil.Process(app.process.pid).memory_info().rss / 1024**2, rel=0.25)


def test_it_stops_when_interrupted_with_a_page_open(new_page: NewPage, tmp_path: Path) -> None:
    with serve(ROOT / "streamlit_app.py", tmp_path) as server:
        page = new_page(server)
        children = psutil.Process(server.process.pid).children(recursive=True)
        page.close()
        server.stop()
        assert not server.errors()
        assert not [child for child in children if child.is_running()]


def test_the_first_page_answers_to_its_name_too(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/live?h=20")
    assert page.url.removeprefix(app.url).startswith("/?")
    assert "h=20" in page.url
