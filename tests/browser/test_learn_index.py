"""The equation index and the cost page in a browser: a search, a link followed to the numbers, a pass timed here."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_every_formula_of_the_index_is_drawn(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/equations?find=iiga-equations&lang=en")
    expect(page.locator(".katex-display")).to_have_count(20, timeout=PATIENCE_MS)
    expect(page.locator(".katex-error")).to_have_count(0)
