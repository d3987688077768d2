"""Lecture pages in a browser: hovering, links, downloads, the question, every width and theme."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage, assert_fits
from tests.browser.reader import PATIENCE_MS, drawn
from tests.browser.server import AppServer

WEIGHTS = '[data-key="steps_weights"]'


def test_a_click_on_a_rows_name_reads_that_query_and_the_link_keeps_it(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/attention-steps?part=softmax&mask=causal")
    drawn(page, WEIGHTS)
    page.locator(f"{WEIGHTS} tbody th").nth(3).click()
    page.wait_for_url(re.compile(r"[?&]q=3(&|$)"), timeout=PATIENCE_MS)
    other = new_page(app, page.url.removeprefix(app.url))
    drawn(other, WEIGHTS)
    for one in (page, other):
        outlined = one.locator(f"{WEIGHTS} tbody tr", has=one.locator("td.out"))
        expect(outlined).to_have_count(1, timeout=PATIENCE_MS)
        expect(outlined.locator("th")).to_have_text("drank", timeout=PATIENCE_MS)


def test_back_leads_to_the_tab_before(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/recurrent")
    parts = page.locator(".st-key-part button")
    expect(parts.nth(2)).to_be_visible(timeout=PATIENCE_MS)
    before = page.evaluate("history.length")
    for place, code in ((1, "lstm"), (2, "gradient")):
        parts.nth(place).click()
        page.wait_for_url(re.compile(f"part={code}"), timeout=PATIENCE_MS)
    assert page.evaluate("history.length") == before + 2
    page.go_back()
    page.wait_for_url(re.compile("part=lstm"), timeout=PATIENCE_MS)
    expect(parts.nth(1)).to_have_attribute("aria-checked", "true", timeout=PATIENCE_MS)


def test_a_reader_answers_and_a_key_reveals(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/cost?part=growth&ask=true&lang=en")
    now, then = (t / (t + 6 * 40) for t in (128, 197))  # by hand: scores take 2T²D of 12TD² + 2T²D
    page.get_by_text("it rises", exact=True).click()
    expect(page.get_by_text("Right:")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.get_by_text(re.compile(f"Right: It rises. .*{now:.3f} → {then:.3f}"))).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"{app.url}/class/abcdef?lang=en")  # a link of the classes that there were
    expect(page).to_have_title("The lecture · Attention Observatory", timeout=PATIENCE_MS)


def test_a_block_opens_its_part_and_keeps_the_session(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/attention-steps?part=softmax&t=0.5", width=390)
    block = page.locator(".lesson-diagram .diagram-narrow a[data-part=scores]")
    block.click(timeout=PATIENCE_MS)
    page.wait_for_url(re.compile("part=scores"), timeout=PATIENCE_MS)
    assert "t=0.5" in page.url
    expect(page.locator(".lesson-diagram .diagram-narrow [data-part=scores][aria-current]")).to_be_visible(timeout=PATIENCE_MS)
    assert_fits(page)
