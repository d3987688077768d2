"""The frame around the pages, as a visitor meets it."""

from __future__ import annotations

import re
import urllib.request
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from PIL import Image
from playwright.sync_api import WebSocket, expect
from plotly.offline import get_plotlyjs_version
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import attention_observatory
from core.vision.gallery import photograph_gallery
from pages.shared.assets import PLOTLY
from pages.shared.navigation import ENTRIES, MOVED, PageEntry
from tests.browser.conftest import GO, NewPage, SamePage, assert_accessible, assert_fits, navigate, settled
from tests.browser.reader import PATIENCE_MS, drawn, frames
from tests.browser.server import ROOT, AppServer

FIRST = ENTRIES[0]


def address(entry: PageEntry) -> str:
    return "/" if entry is FIRST else f"/{entry.url}"


def test_plotly_is_of_the_version_that_the_installed_package_has(app: AppServer) -> None:
    with urllib.request.urlopen(f"{app.url}/{PLOTLY}") as answer:
        assert answer.read(80).decode().splitlines()[1] == f"* plotly.js (cartesian - minified) v{get_plotlyjs_version()}"
        assert "immutable" in answer.headers["Cache-Control"]


STATES = {
    "attention-steps": ("?part=heads&heads=2", '[data-key="steps_output"]'),
    "backprop": ("?part=layer", '[data-key="bp_layer_x"]'),
    "ctc": ("?target=A+A+B&length=7", ".st-key-ctc_trellis .live-plot"),
    "metrics": ("", '[data-key="metrics_table"]'),
    "norms": ("", '[data-key="norm_batch_0_0"]'),
    "optimisers": ("", ".st-key-surface_plot .live-plot"),
    "recognise": ("?input=tracks&sview=time", ".st-key-signs_clip .live-plot"),
    "recurrent": ("?part=lstm", ".st-key-lstm_unit .live-plot"),
    "transformer": ("?part=decode&symbol=6", '[data-key="cross_map"]'),
}
"""Pages that are opened away from their first state: their query, and a figure that must be drawn."""

SPANISH = read_po((ROOT / "assets" / "locale" / "es" / "LC_MESSAGES" / "messages.po").open("rb"))


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifted += value;
}).observe({ type: "layout-shift", buffered: true });
"""
"""Adds up the browser's own measure of what moves on the screen without being asked (CLS, here over the whole opening)."""


@pytest.mark.parametrize(
    ("path", "there"), [("/optimisers", ".st-key-surface_plot .live-plot"), ("/panes", ".terminal-plot[data-rows=some]")]
)
def test_nothing_moves_while_a_page_opens(path: str, there: str, app: AppServer, new_page: NewPage) -> None:
    page = new_page(app, path, width=390, prepare=lambda page: page.add_init_script(SHIFTS))
    page.locator(there).first.wait_for(timeout=PATIENCE_MS)
    frames(page, 60)
    assert page.evaluate("shifted") <= 0.02


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.url)
def test_every_page_opens_on_every_screen(entry: PageEntry, app: AppServer, same_page: SamePage) -> None:
    """Narrow and dark, then wide and light; in Spanish, whose words are longer: the tests of each page open it in English."""
    query, figure = STATES.get(entry.url, ("", ""))
    title = SPANISH[entry.title].string
    page = same_page(app, unchanged="document.querySelector('h1') !== null", width=390, dark=True, locale="es-AR")
    page.evaluate(GO, address(entry) + query)
    for width, scheme in ((390, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 844 if width < 640 else 900})
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("h1")).to_have_text(title, timeout=PATIENCE_MS)
        expect(page).to_have_title(title if entry is FIRST else f"{title} · {FIRST.title}")
        settled(page)
        link = page.get_by_test_id("stPopover").filter(has_text=SPANISH["Link to this view"].string)
        expect(link).to_have_count(int(entry is not FIRST), timeout=PATIENCE_MS)  # the front page has no choices to link to
        if figure:
            drawn(page, figure)
        expect(page.locator(".katex-error")).to_have_count(0)
        assert_fits(page)
        assert_accessible(page)


def test_tab_reaches_the_first_tile_soon_and_each_tile_is_one_click_from_its_page(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/")
    expect(page).to_have_title(FIRST.title)
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().right") > 0
        reached.append(page.evaluate("document.activeElement.textContent").endswith("Show me any photograph"))
    assert any(reached[:12])
    for place, title in enumerate(("Live order book", "Recognise signs", "The lecture")):
        if place:
            page.go_back()
        settled(page)
        tile = page.locator(".st-key-front_tiles .front-picture").nth(place)
        tile.click(position={"x": 4, "y": 4}, force=True)  # anywhere on the tile
        expect(page.locator("h1")).to_have_text(title, timeout=30_000)


def test_a_phones_menu_opens_by_key_and_takes_no_stops_while_closed(new_page: NewPage, app: AppServer) -> None:
    """Closed, it lies left of the screen."""
    page = new_page(app, "/", width=390)
    for _ in range(20):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().right") > 0
    page.get_by_test_id("stExpandSidebarButton").press("Enter")
    link = page.get_by_test_id("stSidebarNavLink").first
    expect(link).to_be_visible()
    link.focus()
    assert page.evaluate("document.activeElement.dataset.testid") == "stSidebarNavLink"
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()  # fails where anything lies over it
    expect(link).to_be_hidden()


def test_the_browser_decides_the_language_the_switch_overrides_and_nothing_is_sent_by_reference(
    new_page: NewPage, app: AppServer
) -> None:
    """A reference to what the browser has dropped meanwhile, as it may on a page that ticks, would stop the page for good."""
    kinds: list[str | None] = []

    def note(frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            message = ForwardMsg()
            message.ParseFromString(frame)
            kinds.append(message.WhichOneof("type"))

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", note)

    page = new_page(app, "/positions", locale="es-AR", prepare=lambda page: page.on("websocket", listen))
    page.wait_for_selector(".live-plot[data-updates]")
    expect(page.locator("h1")).to_have_text(SPANISH["Positional encoding"].string)
    expect(page.locator("html")).to_have_attribute("lang", "es")
    settled(page)
    before = len(kinds)
    for switch, language in (
        ("English", "en"),
        ("Español", "es"),
        ("English", "en"),
    ):  # the whole page anew, its figures the same
        page.get_by_role("radio", name=switch).click()
        expect(page.locator("html")).to_have_attribute("lang", language)
        settled(page)
    assert "delta" in kinds[before:] and "ref_hash" not in kinds
    expect(page.locator("h1")).to_have_text("Positional encoding")
    page.wait_for_url("**/positions?lang=en")
    page.reload()
    settled(page)
    expect(page.locator("h1")).to_have_text("Positional encoding")


def test_language_and_choices_go_along_and_back_leads_to_the_page_before(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system?lang=es&present=false")
    navigate(page, "Mercados", "Libro de órdenes en vivo")
    expect(page.locator("h1")).to_have_text("Libro de órdenes en vivo", timeout=30_000)
    page.wait_for_url(lambda url: "lang=es" in url and "/system" not in url)
    settled(page)
    page.go_back()
    expect(page.locator("h1")).to_have_text("Sistema", timeout=30_000)


def test_presentation_mode_enlarges_and_puts_controls_away(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/system")
    size = "parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)"
    before = page.evaluate(size)
    page.goto(f"{app.url}/system?present=true")
    settled(page)
    page.wait_for_function(f"before => {size} > 1.2 * before", arg=before)
    expect(page.get_by_role("radio", name="English")).to_have_count(0)


def test_old_addresses_lead_to_their_pages_with_what_their_links_chose(app: AppServer) -> None:
    """The live page stood at the root before the front page did: links to it, which name its choices, lead there still."""
    leads = {f"{old}?lang=es": f"{near}{'&' if '?' in near else '?'}lang=es" for old, near in MOVED.items()}
    for asked, answered in (leads | {"home?lang=es": "?lang=es", "?h=20&rec=x": "live?h=20&rec=x"}).items():
        with urllib.request.urlopen(f"{app.url}/{asked}") as answer:
            assert sorted(re.split("[?&]", answer.url)) == sorted(re.split("[?&]", f"{app.url}/{answered}"))
            assert b"<html" in answer.read()
    for stays in ("?lang=es&present=true", "live?lang=es"):
        with urllib.request.urlopen(f"{app.url}/{stays}") as answer:
            assert answer.url == f"{app.url}/{stays}"


def test_the_front_page_is_understood_without_scrolling_and_stops_when_touched(new_page: NewPage, app: AppServer) -> None:
    for width in (1440, 390):
        page = new_page(app, "/", width=width, moving=True)
        page.wait_for_selector(".front-market img")
        settled(page)
        expect(page.locator(".st-key-front_ask .front-picture")).to_be_in_viewport(ratio=1)
        for place in range(4 if width == 1440 else 0):
            expect(page.locator(f".st-key-front_score_{place}")).to_be_in_viewport(ratio=1)
        assert_fits(page)
        page.wait_for_selector(".front[data-at]", state="attached")
        page.wait_for_function("n => document.querySelector('.front[data-at]').dataset.at > n", arg=250)
        dial = page.get_by_role("slider")
        before = dial.input_value()
        page.wait_for_function("before => document.querySelector('.front input').value !== before", arg=before)
        dial.focus()
        dial.press("Home")
        frames(page, 90)
        assert dial.input_value() == "0"  # no longer moves by itself


def test_the_front_page_stands_still_for_who_asked_for_less_motion(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/?lang=es")
    page.wait_for_selector(".front[data-started]", state="attached")
    settled(page)
    words = page.locator(".front").all_inner_texts()
    frames(page, 120)
    assert page.locator(".front").all_inner_texts() == words


def test_a_picture_is_answered_on_the_front_page_and_its_light_is_one_press_away(
    new_page: NewPage, app: AppServer, tmp_path: Path
) -> None:
    """The library answers the same file; the page's patch is that of its own models (`core.front`'s test)."""
    row = next(one for one in photograph_gallery() if one.kind == "pants")
    file = tmp_path / "mine.png"
    Image.open(BytesIO(row.data)).save(file)  # one whose pixels the browser does not change
    expected = attention_observatory.classify_photo(file)
    page = new_page(app, "/")
    answer = page.locator(".st-key-front_ask .front-answer")
    page.set_input_files(".clipboard-file input", {"name": "x.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(page.get_by_text("cannot read the file as a picture")).to_be_visible(timeout=30_000)
    expect(answer).to_be_visible()
    page.set_input_files(".clipboard-file input", file)
    expect(answer).to_have_text(f"{expected.name} {expected.probability:.0%}", timeout=60_000)
    page.locator(".st-key-front_further").get_by_text("Why?").click()
    expect(page.locator("[data-light=picture]")).to_be_visible(timeout=60_000)
    expect(page.locator(".st-key-classify_headline")).to_contain_text(expected.name)
