"""The lecture's diagram and player in a browser: a block opens its part, a figure plays by itself and obeys the keys."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage, assert_fits
from tests.browser.reader import PATIENCE_MS, drawn
from tests.browser.server import AppServer


def test_a_block_opens_its_part_and_keeps_the_session(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/attention-steps?part=softmax&t=0.5", width=390)
    block = page.locator(".lesson-diagram .diagram-narrow a[data-part=scores]")
    block.click(timeout=PATIENCE_MS)
    page.wait_for_url(re.compile("part=scores"), timeout=PATIENCE_MS)
    assert "t=0.5" in page.url
    expect(page.locator(".lesson-diagram .diagram-narrow .diagram-here [data-part=scores]")).to_be_visible(timeout=PATIENCE_MS)
    assert_fits(page)


def test_a_figure_plays_by_itself_and_obeys_the_keys(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/ctc")
    drawn(page, ".st-key-ctc_trellis .live-plot")  # below the first screen
    bar = page.locator(".st-key-ctc_trellis .live-player")
    bar.wait_for(timeout=PATIENCE_MS)
    page.locator(".st-key-ctc_trellis .live-plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(bar).to_have_attribute("data-frame", "1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    expect(bar).to_have_attribute("data-frame", "5", timeout=PATIENCE_MS)  # the last of six
    expect(bar).to_have_attribute("data-playing", "false", timeout=PATIENCE_MS)
    expect(bar.locator(".live-player-caption")).to_contain_text("Frame 6")
