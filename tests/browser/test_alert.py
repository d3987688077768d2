"""The live page's alert in a browser: set by its form, kept there, and told by sound, notification and a line on the screen."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewPage, assert_accessible
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

NOTED = """
window.noted = { asked: 0, shown: [], tones: 0 };
window.Notification = class {
  static permission = "default";
  static async requestPermission() { noted.asked += 1; return (this.permission = "granted"); }
  constructor(title, { body }) { noted.shown.push(body); }
};
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...when) { noted.tones += 1; return start.apply(this, when); };
"""
"""A browser of which everything that it tells its user is noted."""
SCREEN = ".terminal[data-drawn-step]"


def test_alerts_are_set_go_off_once_and_are_kept(new_page: NewPage, app: AppServer) -> None:
    address = "/live?source=recording&rec=binance_spot_nexousdt_2024-07-24&speed=10.0&h=10"
    page = new_page(app, address, prepare=lambda page: page.add_init_script(NOTED))
    page.wait_for_selector(SCREEN, timeout=PATIENCE_MS)
    page.get_by_role("button", name="Alert", exact=True).click()
    form = page.get_by_role("dialog")
    expect(form.get_by_role("status")).to_have_text("No alert is set.")
    assert page.evaluate("noted.asked") == 0  # only a press asks
    form.get_by_label("TLOB calls").select_option("Any")
    form.get_by_label("with a probability of at least (%)").fill("1")
    form.get_by_label("for so many seconds").fill("2")
    form.get_by_role("button", name="Set the alert").click()
    listed = form.get_by_role("listitem")
    expect(listed).to_have_text(["Any, at least 1.0%, for 2 sRemove the alert"], timeout=PATIENCE_MS)
    assert page.evaluate("noted.asked") == 1
    form.get_by_label("When").select_option("a large size rests")
    form.get_by_label("of at least").fill("1e9")
    form.get_by_role("button", name="Set the alert").click()
    expect(listed).to_have_count(2)
    form.get_by_role("button", name="Close").click()
    line = page.locator(".terminal-alert")
    expect(line).to_have_text(
        re.compile(r"^NEXO/USDT · Binance spot: (Up|Down|Stationary), at least 1.0%, for 2 s$"), timeout=PATIENCE_MS
    )
    assert page.evaluate("noted.shown") == line.all_text_contents() and page.evaluate("noted.tones") == 3  # one when each was set
    seen = page.evaluate("document.querySelector('.terminal').terminal.store.step")
    page.wait_for_function(
        f"document.querySelector('.terminal').terminal.store.step > {seen} + 40", timeout=PATIENCE_MS
    )  # ten seconds in which it holds
    assert len(page.evaluate("noted.shown")) == 1

    page.reload()  # it is this browser's
    page.wait_for_selector(SCREEN, timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Alert", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(line).to_have_count(1, timeout=PATIENCE_MS)
    page.get_by_role("button", name="Alert", exact=True).click()
    listed.first.get_by_role("button", name="Remove the alert").click()
    expect(listed).to_have_text(re.compile("rest at a price"))
    listed.get_by_role("button", name="Remove the alert").click()
    expect(form.get_by_role("status")).to_have_text("No alert is set.")
    assert page.evaluate("localStorage.getItem('observatory:alert')") == "[]"
    expect(page.locator(".terminal-tool[aria-pressed=true]")).to_have_count(0)


def test_the_form_is_spanish_on_a_spanish_page_and_says_where_notifications_are_refused(
    new_page: NewPage, app: AppServer
) -> None:
    refused = f"{NOTED} Notification.permission = 'denied';"
    address = "/live?source=simulated&seed=13&lang=es"
    page = new_page(app, address, prepare=lambda page: page.add_init_script(refused))
    page.wait_for_selector(SCREEN, timeout=PATIENCE_MS)
    page.get_by_role("button", name="Alerta", exact=True).click()
    form = page.get_by_role("dialog")
    assert_accessible(page)
    form.get_by_label("TLOB predice").select_option("Sube")
    form.get_by_label("con una probabilidad de al menos (%)").fill("101")
    form.get_by_role("button", name="Poner la alerta").click()
    expect(form.get_by_role("status")).to_have_text("No hay ninguna alerta puesta.")  # no probability is above 100 %
    form.get_by_label("con una probabilidad de al menos (%)").fill("100")
    form.get_by_label("durante tantos segundos").fill("3600")
    form.get_by_label("durante tantos segundos").press("Enter")
    expect(form.get_by_role("status")).to_contain_text("Este navegador no muestra notificaciones", timeout=PATIENCE_MS)
    assert page.evaluate("noted.asked") == 0
