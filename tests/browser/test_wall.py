"""The watch wall in a browser: a press on a market opens it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

HEADER_PX = ROW_PX = 35  # of Streamlit's tables


def test_a_press_on_a_market_opens_it(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/wall?wall=sim:11,sim:12&h=20")
    table = page.locator("[data-testid=stDataFrame] .dvn-scroller").first  # over the canvas
    table.wait_for(timeout=PATIENCE_MS)
    table.click(position={"x": 250, "y": HEADER_PX + 1.5 * ROW_PX})
    page.wait_for_url(re.compile("seed=12"), timeout=PATIENCE_MS)
    expect(page.locator(".terminal-call h2")).to_have_text("TLOB, 5 sec ahead", timeout=PATIENCE_MS)
    assert "h=20" in page.url and "source=simulated" in page.url
