"""The lecture's diagram in a browser: a block opens its part."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage, assert_fits
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_a_block_opens_its_part_and_keeps_the_session(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/attention-steps?part=softmax&t=0.5", width=390)
    block = page.locator(".lesson-diagram .diagram-narrow a[data-part=scores]")
    block.click(timeout=PATIENCE_MS)
    page.wait_for_url(re.compile("part=scores"), timeout=PATIENCE_MS)
    assert "t=0.5" in page.url
    expect(page.locator(".lesson-diagram .diagram-narrow [data-part=scores][aria-current]")).to_be_visible(timeout=PATIENCE_MS)
    assert_fits(page)
