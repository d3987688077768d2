"""The attention page in a browser: links, clicks, steps, and a window's way from the live page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import GO, NewPage, SamePage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

STAGE = "[data-light=book][data-value]"


@pytest.fixture
def attention(same_page: SamePage, app: AppServer) -> Page:
    page = same_page(app, "/attention?second=100", unchanged="location.search === '?second=100'")
    page.wait_for_selector(STAGE, timeout=PATIENCE_MS)
    return page


def test_both_kinds_of_map_are_on_the_first_screen_and_a_moment_lights_the_others(attention: Page) -> None:
    stage = attention.locator(STAGE)
    box = stage.bounding_box()
    assert box and box["y"] + box["height"] <= 900 and box["width"] * box["height"] >= 0.3 * 1440 * 900
    assert stage.get_attribute("data-head") == "gradients"  # at rest: the measure that passed the test
    rest = stage.evaluate("stage => stage.toDataURL()")
    attention.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    expect(attention.locator(".attention-sentence")).to_contain_text(re.compile(r"Time-to-time 2.*s looks at .* s with"))
    assert stage.evaluate("stage => stage.toDataURL()") != rest
    attention.mouse.move(box["x"] + 0.97 * box["width"], box["y"] + 0.5 * box["height"])
    expect(attention.locator(".attention-sentence")).to_contain_text(
        re.compile(r"Feature-to-feature 2.*channel \d+ looks at channel")
    )
    tab = attention.get_by_role("radio", name="Is it telling the truth?")
    tab.click()
    attention.wait_for_url(re.compile("view=truth"), timeout=PATIENCE_MS)
    attention.go_back()  # a tab is a step of the history
    expect(tab).not_to_be_checked(timeout=PATIENCE_MS)
    assert "/attention?second=100" in attention.url


def test_the_newest_window_of_a_feed_is_frozen(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/live")
    page.wait_for_selector(".terminal[data-drawn-step]", timeout=PATIENCE_MS)
    rows = "document.querySelector('.terminal').terminal.store.rows"
    page.wait_for_function(f"() => {rows}.length > 200", timeout=PATIENCE_MS)  # the warm-up is over: there is a whole window
    page.get_by_role("link", name="Freeze this window").click()
    page.wait_for_url(re.compile(r"/attention\?.*frozen=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    page.wait_for_selector(STAGE, timeout=PATIENCE_MS)


OPTIONS_WITHIN_THEIR_ROWS = """
() => [...document.querySelectorAll('[data-testid="stMain"] [data-testid="stButtonGroup"]')].every((group) => {
  const row = group.getBoundingClientRect();
  return [...group.querySelectorAll('button')].every((button) => {
    const { left, right } = button.getBoundingClientRect();
    return row.left - 1 <= left && right <= row.right + 1;
  });
})
"""


def test_no_option_of_a_row_is_hidden_on_a_phone(new_page: NewPage, app: AppServer) -> None:
    """Rows of options wrap: each option lies within the 390 pixels, none beyond an edge that scrolls."""
    page = new_page(app, width=390)
    for path in ("/attention?second=100&view=inputs&lang=es", "/classify?inside=tokens"):
        page.evaluate(GO, path)
        page.wait_for_selector(STAGE if "/attention" in path else "[data-light=picture]", timeout=PATIENCE_MS)
        options = page.locator('[data-testid="stMain"] [data-testid="stButtonGroup"] button')
        expect(options.nth(8)).to_be_visible(timeout=PATIENCE_MS)  # the two of the language come first
        page.wait_for_function(OPTIONS_WITHIN_THEIR_ROWS, timeout=PATIENCE_MS)
