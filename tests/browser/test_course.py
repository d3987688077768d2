"""A class in two browsers: the phone follows the teacher's page, answers, and sees the tally once a key reveals it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_a_phone_follows_the_teacher_answers_and_sees_the_tally(new_page: NewPage, app: AppServer) -> None:
    teacher = new_page(app, "/cost?part=growth&ask=true&lang=en")
    teacher.get_by_text("For the class").click()
    teacher.wait_for_url(re.compile(r"class=[a-z2-9]{6}"), timeout=PATIENCE_MS)
    code = teacher.url.partition("class=")[2][:6]
    phone = new_page(app, f"/class/{code}?lang=en", width=390)  # of another profile
    t, d = 128, 40  # what the page opens with; by hand, one layer costs 12TD² + 2T²D
    factor = (12 * 2 * t * d**2 + 2 * (2 * t) ** 2 * d) / (12 * t * d**2 + 2 * t**2 * d)
    assert 2.5 < factor < 3.5
    phone.get_by_role("button", name="2.5 to 3.5").click()
    expect(teacher.get_by_text("1 answer so far")).to_be_visible(timeout=PATIENCE_MS)
    expect(phone.locator("[data-count]")).to_have_count(0)
    phone.get_by_label("Ask the teacher something").fill("Why T²?")
    phone.get_by_role("button", name="Ask", exact=True).click()
    teacher.keyboard.press("r")
    expect(phone.locator(".options .right")).to_have_attribute("data-count", "1", timeout=PATIENCE_MS)
    teacher.reload()  # the browser has the key
    teacher.get_by_role("button", name=re.compile(rf"{code} · 1 phone · 1 \?")).click()
    teacher.get_by_role("button", name="Done").click()
    expect(phone.locator("#queue li")).to_have_count(0, timeout=PATIENCE_MS)
