"""Several markets in a browser: each draws, and a press makes one large."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_an_old_link_opens_panes_and_a_press_makes_one_large(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/wall?wall=sim:11,sim:12&h=20")
    drawn = "[...document.querySelectorAll('.terminal')].filter((one) => one.terminal.drawn && one.terminal.store.newest).length"
    page.wait_for_function(f"() => {drawn} === 2", timeout=PATIENCE_MS)
    expect(page.locator(".terminal .terminal-ladder").locator("visible=true")).to_have_count(0)
    page.get_by_role("button", name="Make it large").nth(1).click()
    page.wait_for_url(re.compile("seed=12"), timeout=PATIENCE_MS)
    expect(page.locator(".terminal")).to_have_count(1, timeout=PATIENCE_MS)
    expect(page.locator(".terminal-call h2")).to_have_text("TLOB, 5 sec ahead", timeout=PATIENCE_MS)
    assert "h=20" in page.url and "source=simulated" in page.url
    expect(page.locator(".terminal-ladder")).to_be_visible(timeout=PATIENCE_MS)
