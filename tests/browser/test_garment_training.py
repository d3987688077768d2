"""The page of the shipped training run in a browser: curves and errors."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import AppServer

PATIENCE_MS = 120_000


def test_the_shipped_run_is_drawn(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/garment-training")
    for plot in ("accuracy", "loss", "gap", "rate", "confusion", "reliability"):
        page.locator(f".st-key-training_{plot}").scroll_into_view_if_needed(timeout=PATIENCE_MS)
        page.wait_for_selector(f".st-key-training_{plot} .live-plot[data-updates]", timeout=PATIENCE_MS)
    expect(page.get_by_text("89.58%")).to_be_visible(timeout=PATIENCE_MS)
