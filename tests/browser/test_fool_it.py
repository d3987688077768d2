"""Patches rubbed out of a garment in a real Chromium."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import Locator, Page, expect

from core.explain.erasing import mask
from core.vision.analysis import analyse
from core.vision.classifier import load_classifier
from core.vision.evidence import hidden_answers
from core.vision.gallery import gallery
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

STAGE = "[data-light=picture][data-value]"


def after_bars(page: Page) -> Locator:
    """What stands at the bars of the ranking with patches hidden, the class that was most probable first."""
    page.locator(".st-key-fool_ranking").scroll_into_view_if_needed()  # a plot is drawn where it is seen
    return page.locator(".st-key-fool_ranking .barlayer .trace").nth(1).locator("text")


def rub(page: Page, *cells: tuple[int, int]) -> None:
    """Drag over cells (column, row) of a grid of 7 on the stage, where erasing is on."""
    stage = page.locator(STAGE)
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    left, side = box["x"] + (box["width"] - box["height"]) / 2, box["height"]  # a square in the middle
    points = [(left + (x + 0.5) * side / 7, box["y"] + (y + 0.5) * side / 7) for x, y in cells]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=5)
    page.mouse.up()


def test_patches_rubbed_out_change_the_ranking_and_one_comes_back(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/garment-attention?item=4&inside=hide")  # where the game was before
    page.wait_for_url(re.compile(r"/classify\?.*item=4"), timeout=PATIENCE_MS)
    page.get_by_text("At random, the median of 5").wait_for(timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Erase", exact=True)).to_have_attribute("aria-pressed", "true")
    assert page.locator(STAGE).evaluate("one => getComputedStyle(one).touchAction") == "none"
    rub(page, (3, 3), (2, 3))
    page.wait_for_url(re.compile("hide=24.25(&|$)"), timeout=PATIENCE_MS)
    reading = analyse(load_classifier(), gallery()[0][4].copy())
    (after,) = hidden_answers(reading, mask({23, 24}, 49))
    both = [np.append(shares, 1 - shares.sum()) for shares in (reading.shares, after)]
    expected = [f"{100 * both[1][i]:.1f}%" for i in np.argsort(-both[0], kind="stable")]
    expect(after_bars(page)).to_have_text(expected, timeout=PATIENCE_MS)
    expect(page.locator(".attention-corner")).to_contain_text("Without 2 of 49 parts it is", timeout=PATIENCE_MS)
    rub(page, (2, 3))  # comes back
    page.wait_for_url(re.compile("hide=25(&|$)"), timeout=PATIENCE_MS)
