"""A class in two browsers: a prediction each, counted under the link's code, revealed by a key."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_two_visitors_predict_and_the_key_reveals_what_both_said(new_page: NewPage, app: AppServer) -> None:
    teacher = new_page(app, "/cost?part=growth&ask=true&lang=en")
    teacher.get_by_text("For the class").click()
    teacher.wait_for_url(re.compile(r"class=[a-z2-9]{6}"), timeout=PATIENCE_MS)
    student = new_page(app, teacher.url.removeprefix(app.url), width=390)  # of another profile, as on a phone
    t, d = 128, 40  # what the page opens with; by hand, one layer costs 12TD² + 2T²D
    factor = (12 * 2 * t * d**2 + 2 * (2 * t) ** 2 * d) / (12 * t * d**2 + 2 * t**2 * d)
    assert 2.5 < factor < 3.5
    student.get_by_text("2.5 to 3.5").click()
    expect(student.get_by_text("1 answer so far")).to_be_visible(timeout=PATIENCE_MS)
    teacher.locator(".st-key-predict").get_by_text("more than 3.5", exact=True).click()
    expect(teacher.get_by_text("2 answers so far")).to_be_visible(timeout=PATIENCE_MS)
    expect(teacher.locator(".tally")).to_have_count(0)
    teacher.keyboard.press("r")
    expect(teacher.get_by_text("It is")).to_be_visible(timeout=PATIENCE_MS)
    expect(teacher.locator(".tally dd:nth-of-type(2n)")).to_have_text(["0", "1", "1"], timeout=PATIENCE_MS)
    expect(student.locator(".tally")).to_have_count(0)  # each reveals for themselves
    expect(student.get_by_text("2 answers so far")).to_be_visible(timeout=PATIENCE_MS)
