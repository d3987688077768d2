"""The equation index and the cost page in a browser: a search, a link followed to the numbers, a pass timed here."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, drawn
from tests.browser.server import AppServer


def test_a_search_leads_to_the_page_with_the_numbers(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/equations?lang=en")
    field = page.get_by_role("textbox", name="Search")
    field.fill("doubled exponent")
    field.press("Enter")
    expect(page.get_by_text(re.compile("^1 equation of"))).to_be_visible(timeout=PATIENCE_MS)
    page.wait_for_url(re.compile("find=doubled"), timeout=PATIENCE_MS)
    links = page.get_by_role("link", name="With numbers: Positional encoding")
    expect(links).to_have_count(1, timeout=PATIENCE_MS)  # the equations of before go when the page has been drawn to its end
    address = links.get_attribute("href")
    assert address is not None and address.endswith("positions?part=matrix&doubled=true")
    shown = new_page(app, "/positions?part=matrix&doubled=true&lang=en")
    drawn(shown, ".st-key-pe_matrix .live-plot")


def test_every_formula_of_the_index_is_drawn(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/equations?find=iiga-equations&lang=en")
    expect(page.locator(".katex-display")).to_have_count(20, timeout=PATIENCE_MS)
    expect(page.locator(".katex-error")).to_have_count(0)
