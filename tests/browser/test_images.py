"""The garment pages in a real Chromium: a real file in, its ranking out, a patch lit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from core.vision.analysis import analyse
from core.vision.classifier import classifier_names, load_classifier
from core.vision.gallery import gallery
from core.vision.pictures import decode
from core.vision.preprocessing import Recipe, model_for
from core.vision.uprightness import prepare_upright
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, drawn
from tests.browser.server import AppServer

STAGE = "[data-light=picture][data-value]"


def shop_picture(folder: Path, index: int, name: str) -> Path:
    """A test image as a shop has it, in a file of the kind its name says."""
    big = 255 - np.kron(gallery()[0][index], np.ones((9, 9), np.uint8))
    sheet = np.full((480, 360), 255, np.uint8)
    sheet[120:372, 50:302] = big
    path = folder / name
    Image.fromarray(sheet).save(path)
    return path


@pytest.fixture
def uploads(new_page: NewPage, app: AppServer) -> Page:
    page = new_page(app, "/classify?from=upload")
    page.wait_for_selector("input[type=file]", state="attached", timeout=PATIENCE_MS)
    return page


def test_an_upload_is_ranked(uploads: Page, tmp_path: Path) -> None:
    file = shop_picture(tmp_path, 0, "boot.png")
    picture = decode(file.read_bytes())
    classifier = load_classifier(model_for(picture, classifier_names()))
    expected = analyse(classifier, prepare_upright(classifier, picture, Recipe(manner=classifier.manner)).image)
    uploads.locator("input[type=file]").set_input_files(file)
    uploads.wait_for_url(re.compile(r"set=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    uploads.wait_for_selector(STAGE, timeout=PATIENCE_MS)
    drawn(uploads, ".st-key-classify_ranking .live-plot")  # below the first screen
    ranked = uploads.locator(".st-key-classify_ranking .yaxislayer-above .ytick text")
    names = [expected.classifier.class_names[i] for i in expected.ranking]
    upwards = names[::-1]  # as the axis has them in the document
    expect(ranked).to_have_count(11, timeout=PATIENCE_MS)  # "none of these" among them (D37)
    assert [one for one in ranked.all_text_contents() if one != "None of these"] == upwards
    expect(uploads.get_by_role("heading", name=names[0]).first).to_be_visible(timeout=PATIENCE_MS)


def test_the_picture_is_the_first_screen_and_a_patch_lights_what_it_looks_at(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/classify?photo=4")
    page.wait_for_selector(STAGE, timeout=PATIENCE_MS)
    stage = page.locator(STAGE)
    box = stage.bounding_box()
    assert box and box["y"] + box["height"] <= 900 and box["width"] * box["height"] >= 0.3 * 1440 * 900
    assert stage.get_attribute("data-head") == "occlusion"
    rest = stage.evaluate("stage => stage.toDataURL()")
    page.mouse.move(box["x"] + box["width"] / 2 + 12, box["y"] + box["height"] / 3)
    expect(page.locator(".attention-sentence")).to_contain_text("the patch in row 3, column 5 looks at", ignore_case=True)
    assert stage.evaluate("stage => stage.toDataURL()") != rest
