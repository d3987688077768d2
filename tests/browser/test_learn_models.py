"""The encoder-decoder's page and its neighbours in a browser: a text typed, a step moved, a link opened elsewhere."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, drawn
from tests.browser.server import AppServer


def answered(page: Page, iso: str) -> None:
    cell = page.locator(".stat-strip .stat", has=page.get_by_text("Answer", exact=True))
    expect(cell.locator("dd").first).to_have_text(iso, timeout=PATIENCE_MS)


def test_a_date_is_typed_and_decoded_and_its_link_opens_elsewhere(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/transformer?part=decode")
    answered(page, "1979-05-03")
    field = page.get_by_label("A date, in English or Spanish")
    field.fill("12 de octubre de 1992")
    field.press("Enter")
    answered(page, "1992-10-12")
    page.wait_for_url(re.compile("date=12"), timeout=PATIENCE_MS)
    page.locator(".st-key-dial_names_decode").get_by_text("Symbol", exact=True).click()
    page.get_by_role("button", name="Next", exact=True).click()
    page.wait_for_url(re.compile("symbol=1"), timeout=PATIENCE_MS)
    expect(page.get_by_text("So far: ")).to_contain_text("▷", timeout=PATIENCE_MS)
    drawn(page, ".st-key-cross_map .live-plot")
    other = new_page(app, page.url.removeprefix(app.url))
    answered(other, "1992-10-12")
    expect(other.get_by_text("So far: ")).to_contain_text("▷", timeout=PATIENCE_MS)


def test_an_example_button_fills_the_field(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/transformer?part=decode")
    page.get_by_role("button", name="03/04/1979").click()
    answered(page, "1979-04-03")


def test_another_part_and_another_gradient(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/backprop?part=softmax")
    drawn(page, '[data-key="bp_softmax_S"]')
    page.wait_for_url(re.compile("part=attention|bp_attention=softmax"), timeout=PATIENCE_MS)
    name = "Feed-forward network and norm"
    page.get_by_role("radio", name=name, exact=True).or_(page.get_by_role("button", name=name, exact=True)).click()
    page.wait_for_url(re.compile("part=ffn"), timeout=PATIENCE_MS)
    expect(page.get_by_text(re.compile("over all 5 gradients"))).to_be_visible(timeout=PATIENCE_MS)
