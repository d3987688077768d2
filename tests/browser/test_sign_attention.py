"""What IIGA looks at, in a browser: links, hover, clicks on maps and on a gloss, and every width."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, click_in, drawn, rest_in
from tests.browser.server import AppServer

MAP = ".st-key-signs_map .live-plot"
GLOSSES = ".st-key-signs_glosses .live-plot"


def test_from_a_map_to_a_gloss_and_its_link(new_page: NewPage, app: AppServer, tmp_path: Path) -> None:
    page = new_page(app, "/sign-attention?sview=maps&sample=digits_7715")
    drawn(page, MAP)
    click_in(page, ".st-key-signs_maps_2 .live-plot", 0.5, 0.5, panel=1)
    page.wait_for_url(re.compile(r"slayer=inter\+2"), timeout=PATIENCE_MS)
    rest_in(page, MAP, 0.5, 0.25)
    told = page.locator(f"{MAP} .hoverlayer .hovertext")
    expect(told).to_contain_text(re.compile(r"query \d\.\d\d s, key \d\.\d\d s: "), timeout=PATIENCE_MS)
    page.get_by_text("Frames behind each gloss", exact=True).click()
    drawn(page, GLOSSES)
    click_in(page, GLOSSES, 0.5, 0.62)  # the third of four rows
    page.wait_for_url(re.compile("gloss=3"), timeout=PATIENCE_MS)
    expect(page.get_by_text("1 is read from")).to_be_visible(timeout=PATIENCE_MS)
    other = new_page(app, page.url.removeprefix(app.url))
    drawn(other, GLOSSES)
    expect(other.get_by_text("1 is read from")).to_be_visible(timeout=PATIENCE_MS)
    assert other.url == page.url
    with other.expect_download(timeout=PATIENCE_MS) as download:
        other.get_by_role("button", name="All arrays").click()
    file = tmp_path / "arrays.npz"
    download.value.save_as(file)
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays["chosen"] == 2
        assert arrays["importance: occlusion"].shape == arrays["seconds"].shape
        np.testing.assert_allclose(arrays["inter 2"].sum(axis=-1), 1, atol=1e-4)


def test_recognise_leads_here_with_its_clip(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/recognise?input=tracks&sentence=40")
    drawn(page, MAP)
    page.get_by_role("link", name="Look inside").click()
    page.wait_for_url(re.compile(r"/sign-attention\?.*sentence=40"), timeout=PATIENCE_MS)
    expect(page.get_by_text("sentence 40: 58 frames of the model")).to_be_visible(timeout=PATIENCE_MS)
