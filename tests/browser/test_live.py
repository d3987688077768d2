"""The live page, as an analyst and two visitors use it: the bundled recording, no network."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core.market.library import recordings
from tests.browser.conftest import NewPage
from tests.browser.server import AppServer

LIQUIDITY = ".st-key-liquidity .live-plot"
PROBABILITIES = ".st-key-probabilities .live-plot"
STAT = ".stat-strip .stat"
PATIENCE_MS = 60_000
ANOTHER = recordings()[1]


LAST_TIME = f"""() => {{
    const plot = document.querySelector('{LIQUIDITY} .js-plotly-plot');
    return Math.max(...plot.calcdata.flat().map((p) => p?.x).filter(Number.isFinite));
}}"""


def stat(page: Page, name: str) -> str:
    """A value of the status strip."""
    return page.locator(STAT, has=page.get_by_text(name, exact=True)).locator("dd").first.inner_text(timeout=PATIENCE_MS)


def step(page: Page) -> int:
    return int(re.sub(r"\D", "", stat(page, "Step")))


def wait_for_status(page: Page, name: str) -> None:
    expect(page.locator(STAT, has=page.get_by_text("Status", exact=True)).locator("dd").first).to_have_text(
        name, timeout=PATIENCE_MS
    )


def wait_for_steps(page: Page, count: int) -> None:
    """Until the strip shows that many more steps."""
    page.wait_for_function(
        """([selector, target]) => {
            const cell = [...document.querySelectorAll(selector)].find((e) => e.querySelector("dt").textContent === "Step");
            return cell && Number(cell.querySelector("dd").textContent.replace(/\\D/g, "")) >= target;
        }""",
        arg=[STAT, step(page) + count],
        timeout=PATIENCE_MS,
    )


def last_time(page: Page) -> float:
    """Time of the newest row drawn, milliseconds."""
    return float(page.evaluate(LAST_TIME))


@pytest.fixture
def live(new_page: NewPage, app: AppServer) -> Page:
    page = new_page(app)
    page.wait_for_selector(f"{LIQUIDITY}[data-updates]", timeout=PATIENCE_MS)
    return page


def test_it_opens_on_a_recording_with_predictions_already_scored(live: Page) -> None:
    wait_for_status(live, "Replaying")
    live.wait_for_selector(f"{PROBABILITIES}[data-updates]", timeout=PATIENCE_MS)
    expect(live.get_by_text("TLOB calls")).to_be_visible(timeout=PATIENCE_MS)
    expect(live.get_by_text(re.compile("predictions scored"))).to_be_visible(timeout=PATIENCE_MS)
    assert stat(live, "Symbol") == recordings()[0].symbol


@pytest.mark.parametrize(("language", "date", "price"), [("en", "Jul 24, 2024", r"1\.2\d\d"), ("es", "24 jul 2024", r"1,2\d\d")])
def test_dates_and_prices_are_written_as_the_reader_writes_them(
    new_page: NewPage, app: AppServer, language: str, date: str, price: str
) -> None:
    page = new_page(app, f"/?lang={language}")
    expect(page.locator(f"{LIQUIDITY} .xaxislayer-above")).to_contain_text(date, timeout=PATIENCE_MS)
    labels = page.locator(".st-key-ladder .live-plot .yaxislayer-above text")
    expect(labels.first).to_have_text(re.compile(f"^{price}$"), timeout=PATIENCE_MS)


def test_the_chart_is_updated_in_place(live: Page) -> None:
    live.evaluate(f"window.before = document.querySelector('{LIQUIDITY} .js-plotly-plot')")
    start = int(live.locator(LIQUIDITY).get_attribute("data-updates") or 0)
    live.wait_for_function(
        "([selector, target]) => Number(document.querySelector(selector).dataset.updates) >= target",
        arg=[LIQUIDITY, start + 20],
        timeout=2 * PATIENCE_MS,
    )
    assert live.evaluate(f"window.before === document.querySelector('{LIQUIDITY} .js-plotly-plot') && window.before.isConnected")


def test_pause_step_and_a_second_viewer(live: Page, new_page: NewPage, app: AppServer) -> None:
    live.get_by_role("button", name="Pause").click()
    wait_for_status(live, "Paused")
    other = new_page(app)
    wait_for_status(other, "Paused")
    live.wait_for_timeout(1_000)  # what was under way when the pause came
    held = step(live)
    assert step(other) == held
    assert stat(other, "Mid") == stat(live, "Mid")
    live.get_by_role("button", name="Step", exact=True).click()
    wait_for_steps(live, 1 - (step(live) - held))
    assert step(live) == held + 1
    expect(other.locator(STAT, has=other.get_by_text("Step", exact=True)).locator("dd").first).to_have_text(
        live.locator(STAT, has=live.get_by_text("Step", exact=True)).locator("dd").first.inner_text(), timeout=PATIENCE_MS
    )
    live.get_by_role("button", name="Play").click()
    wait_for_status(live, "Replaying")


def test_speed_and_place(live: Page, new_page: NewPage, app: AppServer) -> None:
    name, start = ANOTHER.name, ANOTHER.start_ms
    # slow enough that the recording, which begins anew at its end, is not over before the assertion on a busy machine
    page = new_page(app, f"/?rec={name}&speed=0.5&at=200")
    page.wait_for_selector(f"{LIQUIDITY}[data-updates]", timeout=PATIENCE_MS)
    page.wait_for_function(f"() => ({LAST_TIME})() >= {start + 200_000}", timeout=PATIENCE_MS)
    expect(page.locator(STAT, has=page.get_by_text("Symbol", exact=True)).locator("dd").first).to_have_text(ANOTHER.symbol)


def test_another_source(live: Page) -> None:
    live.get_by_role("radio", name="Simulated").or_(live.get_by_role("button", name="Simulated")).first.click()
    wait_for_status(live, "Simulating")
    live.wait_for_url(re.compile("source=simulated"), timeout=PATIENCE_MS)
    expect(live.get_by_text("Pressure (-1 sell, 1 buy)")).to_be_visible()


def test_a_live_exchange_without_a_network_says_so(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/?source=live&ex=binance&sym=BTC%2FUSDT")
    status = page.locator(STAT, has=page.get_by_text("Status", exact=True)).locator("dd").first
    expect(status).to_have_text(re.compile("Reconnecting|Live|Warming up"), timeout=PATIENCE_MS)
    if "Reconnecting" in status.inner_text():
        expect(page.get_by_text(re.compile("trying again"))).to_be_visible(timeout=PATIENCE_MS)


def test_a_link_opens_the_same_view_in_spanish(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/?label=forward&h=50&book=depth&lang=es")
    page.wait_for_selector(".st-key-depth .live-plot[data-updates]", timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name=re.compile("50 pasos"))).to_be_visible(timeout=PATIENCE_MS)
