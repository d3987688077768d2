"""The network that writes, in a browser: it goes on by the link's temperature, top-p and seed, until it is stopped."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from core.words.writer import Writer, choose
from core.words.writer_files import WRITER_FILES
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

TEXT = "Once upon a time"


@pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")
def test_the_text_goes_on_by_the_links_dials_and_back_takes_a_token_away(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, f"/words?network=writes&lang=en&prompt={TEXT.replace(' ', '+')}&t=0.8&p=0.9&seed=7")
    bars = page.locator(".writer")
    page.get_by_role("button", name="Write on").click(timeout=PATIENCE_MS)
    expect(bars).to_have_attribute("data-tokens", re.compile(r"[3-9]|\d\d"), timeout=PATIENCE_MS)
    page.get_by_role("button", name="Stop", exact=True).click()
    page.wait_for_url(re.compile("wrote="), timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Write on")).to_be_enabled()
    wrote = [int(one) for one in parse_qs(urlsplit(page.url).query)["wrote"][0].split(".")]
    writer = Writer()
    state = writer.begin(writer.ids(TEXT))
    for token in wrote:
        assert token == choose(state.scores, temperature=0.8, top_p=0.9, seed=7, place=len(state.ids))
        writer.append(state, token)
    expect(bars).to_have_attribute("data-tokens", str(len(wrote)))
    page.locator("h1").first.click()
    page.keyboard.press("Backspace")
    expect(bars).to_have_attribute("data-tokens", str(len(wrote) - 1), timeout=PATIENCE_MS)
