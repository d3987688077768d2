"""Predict first in a browser: an answer, and the key that reveals the true one."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer


def test_a_reader_answers_and_a_key_reveals(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/cost?part=growth&ask=true&lang=en")
    now, then = (t / (t + 6 * 40) for t in (128, 197))  # by hand: scores take 2T²D of 12TD² + 2T²D
    page.get_by_text("it rises", exact=True).click()
    expect(page.get_by_text("Right:")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.get_by_text(re.compile(f"Right: It rises. .*{now:.3f} → {then:.3f}"))).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"{app.url}/class/abcdef?lang=en")  # a link of the classes that there were
    expect(page).to_have_title("The lecture · Attention Observatory", timeout=PATIENCE_MS)
