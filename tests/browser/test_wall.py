"""The watch wall in a browser: a press on a market opens it; an alert appears on the live page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

HEADER_PX = ROW_PX = 35  # of Streamlit's tables


def test_a_press_on_a_market_opens_it(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/wall?wall=sim:11,sim:12&label=smoothed&h=20")
    table = page.locator("[data-testid=stDataFrame] .dvn-scroller").first  # over the canvas
    table.wait_for(timeout=PATIENCE_MS)
    table.click(position={"x": 250, "y": HEADER_PX + 1.5 * ROW_PX})
    page.wait_for_url(re.compile("seed=12"), timeout=PATIENCE_MS)
    expect(page.locator(".terminal-call h2")).to_have_text("TLOB calls, 5 sec ahead", timeout=PATIENCE_MS)
    assert "label=smoothed" in page.url and "h=20" in page.url and "source=simulated" in page.url


def test_an_alert_appears_on_the_live_page(new_page: NewPage, app: AppServer) -> None:
    """Any probability above 1 %: it goes off with the next look."""
    page = new_page(app, "/live?source=simulated&seed=13&speed=1.0")
    page.wait_for_selector(".terminal[data-drawn-step]", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Alerts", exact=True).click()
    page.get_by_role("spinbutton", name="Probability, from 0 to 1").fill("0.01")
    page.get_by_role("button", name="Set this alert").click()
    expect(page.locator(".terminal-alert")).to_have_text(re.compile(r"simulated: P\(up\) is \d+\.\d%"), timeout=PATIENCE_MS)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)
