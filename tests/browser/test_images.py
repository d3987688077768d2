"""The garment pages in a real Chromium: a real file in, its ranking out, layer and head switched, the same view by its link."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from core.vision.analysis import analyse
from core.vision.classifier import classifier_names, load_classifier
from core.vision.gallery import gallery
from core.vision.pictures import decode
from core.vision.preprocessing import Recipe, model_for
from core.vision.uprightness import prepare_upright
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, click_in, drawn
from tests.browser.server import AppServer

OVERLAY = ".st-key-classify_overlay .live-plot"


def shop_picture(folder: Path, index: int, name: str) -> Path:
    """A test image as a shop has it, in a file of the kind its name says."""
    big = 255 - np.kron(gallery()[0][index], np.ones((9, 9), np.uint8))
    sheet = np.full((480, 360), 255, np.uint8)
    sheet[120:372, 50:302] = big
    path = folder / name
    Image.fromarray(sheet).save(path)
    return path


def choose(page: Page, key: str, option: str) -> None:
    """Take an option of a select box; a run of the page that comes in between closes the list, so it is opened again then."""
    box = page.locator(f".st-key-{key} input").first
    wanted = page.get_by_role("option", name=option, exact=True)
    for _attempt in range(12):
        page.wait_for_selector(
            '[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=PATIENCE_MS, state="attached"
        )
        box.scroll_into_view_if_needed()
        box.click()
        try:
            wanted.click(timeout=5000)
        except PlaywrightTimeout:
            page.keyboard.press("Escape")
        else:
            return
    raise AssertionError(f"the list of {key} never offered {option}: {page.get_by_role('option').all_inner_texts()}")


@pytest.fixture
def uploads(new_page: NewPage, app: AppServer) -> Page:
    page = new_page(app, "/classify?from=upload")
    page.wait_for_selector("input[type=file]", state="attached", timeout=PATIENCE_MS)
    return page


def test_an_upload_is_ranked_and_its_link_opens_the_same_view(
    uploads: Page, new_page: NewPage, app: AppServer, tmp_path: Path
) -> None:
    file = shop_picture(tmp_path, 0, "boot.png")
    picture = decode(file.read_bytes())
    classifier = load_classifier(model_for(picture, classifier_names()))
    expected = analyse(classifier, prepare_upright(classifier, picture, Recipe(manner=classifier.manner)).image)
    uploads.locator("input[type=file]").set_input_files(file)
    uploads.wait_for_url(re.compile(r"set=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    drawn(uploads, OVERLAY)
    ranked = uploads.locator(".st-key-classify_ranking .yaxislayer-above .ytick text")
    names = [expected.classifier.class_names[i] for i in expected.ranking]
    upwards = names[::-1]  # as the axis has them in the document
    expect(ranked).to_have_text(upwards, timeout=PATIENCE_MS)
    expect(uploads.get_by_role("heading", name=names[0]).first).to_be_visible(timeout=PATIENCE_MS)
    choose(uploads, "vlayer", "1")
    uploads.wait_for_url(re.compile("vlayer=1"), timeout=PATIENCE_MS)
    choose(uploads, "vhead", "2")
    uploads.wait_for_url(re.compile("vhead=2"), timeout=PATIENCE_MS)
    best = int(expected.attention("layer 1", 1).patches.argmax()) + 1
    sentence = re.compile(rf"The class token looks most at patch {best},")
    expect(uploads.get_by_text(sentence)).to_be_visible(timeout=PATIENCE_MS)
    path = uploads.url.removeprefix(app.url)
    other = new_page(app, path)
    drawn(other, OVERLAY)
    expect(other.get_by_text(sentence)).to_be_visible(timeout=PATIENCE_MS)
    expect(other.locator(".st-key-classify_ranking .yaxislayer-above .ytick text")).to_have_text(upwards, timeout=PATIENCE_MS)
    assert other.url.removeprefix(app.url) == path


def test_bad_files_leave_the_page_alive(uploads: Page, tmp_path: Path) -> None:
    (tmp_path / "paper.png").write_bytes(b"%PDF-1.7 ...")
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "cut.png").write_bytes(shop_picture(tmp_path, 1, "whole.png").read_bytes()[:400])
    files = [tmp_path / name for name in ("paper.png", "empty.jpg", "cut.png")]
    uploads.locator("input[type=file]").set_input_files([*files, shop_picture(tmp_path, 1, "pullover.webp")])
    for words in ("paper.png: the file is a PDF", "empty.jpg: the file is empty", "cut.png: the file is damaged"):
        expect(uploads.get_by_text(words)).to_be_visible(timeout=PATIENCE_MS)
    drawn(uploads, OVERLAY)
    expect(uploads.get_by_text("WEBP, 360 x 480 pixels")).to_be_visible(timeout=PATIENCE_MS)


def test_a_click_takes_a_head_and_another_a_patch(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/classify?item=3")
    drawn(page, OVERLAY)
    config = load_classifier().config
    # The top left map: all of them fill the panel's height, which leaves the panel wider than they are, or the other way round.
    click_in(page, ".st-key-classify_heads .live-plot", 0.4 / (1.12 * config.heads), 0.4 / (1.12 * config.layers))
    page.wait_for_url(re.compile(r"vlayer=1.*vhead=1|vhead=1.*vlayer=1"), timeout=PATIENCE_MS)
    drawn(page, OVERLAY)
    click_in(page, OVERLAY, 2.5 / 7, 3.5 / 7)
    page.wait_for_url(re.compile("token=24"), timeout=PATIENCE_MS)
    expect(page.get_by_text("Patch 24 looks most at patch")).to_be_visible(timeout=PATIENCE_MS)


def test_the_steps_to_tokens_walk_on(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/tokens?item=3&patch=24")
    drawn(page, ".st-key-tokens_grey .live-plot")
    page.get_by_role("button", name="Next step").click()
    page.wait_for_url(re.compile("stage=embedding"), timeout=PATIENCE_MS)
    drawn(page, ".st-key-tokens_embedded .live-plot")
    click_in(page, ".st-key-tokens_picture .live-plot", 0.5 / 7, 1.5 / 7)
    page.wait_for_url(re.compile("patch=8"), timeout=PATIENCE_MS)
    expect(page.locator(".st-key-tokens_embedded").get_by_text("Embedding of Patch 8")).to_be_visible(timeout=PATIENCE_MS)
