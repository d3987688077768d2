"""Any photograph in a browser: a patch lights what it looks at, what is like it, or the parts; a file is looked at."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from core.vision.pictures import decode
from core.vision.seen_samples import FOLDER
from core.vision.sight import sight_reader
from core.vision.sight_files import SIGHT_FILES
from tests.browser.conftest import NewPage, assert_fits
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

STAGE = "[data-light=picture]"
pytestmark = pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")


def test_a_patch_lights_what_it_looks_at_what_is_like_it_and_the_parts(new_page: NewPage, app: AppServer) -> None:
    seen = sight_reader().read(decode((FOLDER / "cup.jpg").read_bytes()), side=224)
    page = new_page(app, "/see?sample=cup&side=224")
    stage = page.locator(f"{STAGE}[data-value]")
    stage.wait_for(timeout=PATIENCE_MS)
    sentence = page.locator(".attention-sentence")
    count = int((seen.patch_salience > 0.5).sum())
    expect(sentence).to_contain_text(f"{count} of 256 patches")
    page.locator('.attention-square[data-layer="layer 12"][data-head="4"]').click()
    stage.press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowDown")  # to the first patches of the second row
    expect(stage).to_have_attribute("data-token", "32", timeout=PATIENCE_MS)
    expect(stage).to_have_attribute("data-value", re.compile(r"0\.\d+"), timeout=PATIENCE_MS)
    shown = float(stage.get_attribute("data-value") or "nan")
    assert shown == pytest.approx(float(seen.weights[11, 3, 32].max()), rel=0.02)
    page.locator("button[data-way=like]").click()
    cosines = seen.likeness(32).ravel()
    expect(sentence).to_contain_text(f"{int((cosines >= 0.5).sum())} of 256 patches")
    assert f"with {np.sort(cosines)[-2]:.3g}".rstrip("0") in sentence.inner_text()
    page.locator("button[data-way=parts]").click()
    expect(sentence).to_contain_text("three main directions")
    assert_fits(page)


def test_a_file_is_looked_at_and_its_link_opens_it_again(new_page: NewPage, app: AppServer, tmp_path: Path) -> None:
    Image.open(FOLDER / "rocket.jpg").save(tmp_path / "rocket.png")
    page = new_page(app, "/see")
    page.locator(".clipboard-file input").set_input_files(tmp_path / "rocket.png")
    page.wait_for_url(re.compile(r"set=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    page.locator(f"{STAGE}[data-value]").wait_for(timeout=PATIENCE_MS)
    again = new_page(app, page.url.removeprefix(app.url))
    again.locator(f"{STAGE}[data-value]").wait_for(timeout=PATIENCE_MS)
    expect(again.get_by_text("Is it a garment?")).to_be_visible(timeout=PATIENCE_MS)
