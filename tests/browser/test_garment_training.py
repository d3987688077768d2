"""The training pages in a browser: the shipped run's curves and mistakes, and a run that continues on other pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from core.runs import data_folders
from tests.browser.conftest import NewPage, navigate
from tests.browser.reader import drawn
from tests.browser.server import ROOT, AppServer, serve
from tests.core.vision.test_idx import write

PATIENCE_MS = 120_000


def test_the_shipped_run_and_a_link_to_its_errors(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/garment-training")
    for plot in ("accuracy", "loss", "gap", "rate", "confusion", "reliability"):
        page.locator(f".st-key-training_{plot}").scroll_into_view_if_needed(timeout=PATIENCE_MS)
        page.wait_for_selector(f".st-key-training_{plot} .live-plot[data-updates]", timeout=PATIENCE_MS)
    expect(page.get_by_text("89.58%")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_text("Beside the report's 25 epochs").click()
    page.wait_for_url(re.compile("report=false"), timeout=PATIENCE_MS)
    page.reload()
    toggle = page.get_by_role("switch", name="Beside the report's 25 epochs")
    expect(toggle).not_to_be_checked(timeout=PATIENCE_MS)


@pytest.fixture
def open_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppServer]:
    """An app of its own, whose visitors train from a folder of the test's."""
    monkeypatch.setenv(data_folders.SETTING, str(tmp_path / "data"))
    with serve(ROOT / "streamlit_app.py", tmp_path) as server:
        yield server


def test_a_run_continues_while_its_visitor_is_on_another_page_and_is_stopped(
    open_app: AppServer,
    new_page: NewPage,
    tmp_path: Path,  # the app first, so that it outlives the page
) -> None:
    labels = np.arange(2_000) % 10
    images = np.random.default_rng(0).integers(0, 256, (2_000, 28, 28)) // 2 + 12 * labels[:, None, None]
    data = tmp_path / "data"
    write(data, "train", images, labels)
    page = new_page(open_app, "/train-here?images=1000&epochs=40&width=24&layers=1&tokens=patches&patch=14")
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_text(re.compile(r"Starting:|Epoch \d+ of 40"))).to_be_visible(timeout=PATIENCE_MS)
    navigate(page, "System", "System")
    expect(page.get_by_role("heading", name="System", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    page.go_back()
    drawn(page, ".st-key-here_accuracy .live-plot")
    stop = page.get_by_role("button", name="Stop", exact=True)
    if stop.is_visible():
        stop.click()
    expect(page.get_by_role("heading", name="Try it on your photo")).to_be_visible(timeout=PATIENCE_MS)
