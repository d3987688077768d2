"""The ViT's explorer in a real Chromium: maps by link, click and hover, patches rubbed out and found again by the link."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from core.vision.analysis import analyse
from core.vision.classifier import load_classifier
from core.vision.evidence import hidden_answer, mask_of
from core.vision.gallery import gallery
from tests.browser.conftest import NewPage, navigate
from tests.browser.reader import PATIENCE_MS, click_in, drawn, rest_in
from tests.browser.server import AppServer

MAP = ".st-key-vit_map .live-plot"
ERASER = "canvas.eraser"


def after_bars(page: Page) -> Locator:
    """What stands at the bars of the ranking with patches hidden, the class that was most probable first."""
    return page.locator(".st-key-fool_ranking .barlayer .trace").nth(1).locator("text")


def test_a_map_is_enlarged_a_cell_told_and_a_row_read(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/garment-attention?item=3&inside=maps")
    drawn(page, MAP)
    click_in(page, ".st-key-vit_maps_1 .live-plot", 0.5, 0.5, panel=1)
    page.wait_for_url(re.compile("vlayer=2"), timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Layer 2")).to_be_visible(timeout=PATIENCE_MS)
    drawn(page, MAP)
    rest_in(page, MAP, 0.51, 0.41)
    told = page.locator(f"{MAP} .hoverlayer .hovertext")
    expect(told).to_contain_text(re.compile(r"query 20, key 25: 0\.\d+"), timeout=PATIENCE_MS)
    click_in(page, MAP, 0.51, 0.41)
    page.wait_for_url(re.compile("token=20"), timeout=PATIENCE_MS)
    expect(page.get_by_text("The query at patch 20 looks most at")).to_be_visible(timeout=PATIENCE_MS)


def rub(page: Page, *cells: tuple[int, int]) -> None:
    """Drag the eraser over cells (column, row) of a grid of 7."""
    canvas = page.locator(ERASER)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    points = [(box["x"] + (x + 0.5) * box["width"] / 7, box["y"] + (y + 0.5) * box["height"] / 7) for x, y in cells]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=5)
    page.mouse.up()


def test_patches_rubbed_out_change_the_ranking_and_its_link_opens_the_same_view(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/classify?item=4")
    drawn(page, ".st-key-classify_overlay .live-plot")
    page.get_by_role("link", name="Look inside").press("Enter")  # the page may still move under a pointer
    page.wait_for_url(re.compile(r"/garment-attention\?.*item=4"), timeout=PATIENCE_MS)
    drawn(page, ".st-key-classify_overlay .live-plot")
    page.get_by_text("Fool it", exact=True).click()
    page.get_by_text("At random, the median of 5").wait_for(timeout=PATIENCE_MS)
    rub(page, (3, 3), (2, 3))
    page.wait_for_url(re.compile("hide=24.25(&|$)"), timeout=PATIENCE_MS)
    reading = analyse(load_classifier(), gallery()[0][4].copy())
    after = hidden_answer(reading, mask_of({24, 25}, 49))
    expected = [f"{100 * after[i]:.1f}%" for i in reading.ranking]
    expect(after_bars(page)).to_have_text(expected, timeout=PATIENCE_MS)
    path = page.url.removeprefix(app.url)
    other = new_page(app, path)
    expect(after_bars(other)).to_have_text(expected, timeout=PATIENCE_MS)
    expect(other.get_by_text("With 2 patches rubbed out")).to_be_visible(timeout=PATIENCE_MS)
    assert other.url.removeprefix(app.url) == path
    other.get_by_text("At random, the median of 5").wait_for(timeout=PATIENCE_MS)
    rub(other, (2, 3))
    other.wait_for_url(re.compile("hide=25(&|$)"), timeout=PATIENCE_MS)


def test_the_picture_comes_along_to_the_next_page(new_page: NewPage, app: AppServer) -> None:
    """By the menu too, which leaves the query behind: pages share the choice, though each has a select box of its own."""
    page = new_page(app, "/classify?item=4&vlayer=2")
    drawn(page, ".st-key-classify_overlay .live-plot")
    navigate(page, "Images", "What the ViT looks at")
    page.wait_for_url(re.compile(r"/garment-attention\?.*item=4"), timeout=PATIENCE_MS)
    drawn(page, ".st-key-classify_overlay .live-plot")
    assert re.search("vlayer=2(&|$)", page.url)
    page.get_by_role("link", name="How this picture was prepared").press("Enter")
    page.wait_for_url(re.compile(r"/classify\?.*item=4"), timeout=PATIENCE_MS)
    drawn(page, ".st-key-classify_ranking .live-plot")
    assert re.search("item=4(&|$)", page.url) and re.search("vlayer=2(&|$)", page.url)
