"""The attention page in a browser: links, clicks, play, and a window's way from the live page, to a file and back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.market.store.index import recordings
from core.market.windows import from_npz
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, click_in, drawn, rest_in, stat
from tests.browser.server import AppServer

MAP = ".st-key-attention_map .live-plot"
RECORDING = recordings()[0]

CLICK_ON_THE_MAP_BEFORE = """
(map) => document.querySelector(map).livePlot.channel.setTriggerValue(
  "click", { trace: "time-to-time 1", y: 12, x: 0 }
)
"""


@pytest.fixture
def attention(new_page: NewPage, app: AppServer) -> Page:
    page = new_page(app, "/attention?second=100")
    drawn(page, MAP)
    return page


def test_a_click_enlarges_a_map_and_another_reads_a_row(attention: Page) -> None:
    click_in(attention, ".st-key-attention_pair_2 .live-plot", 0.5, 0.5, panel=1)
    attention.wait_for_url(re.compile(r"layer=feature-to-feature\+2"), timeout=PATIENCE_MS)
    expect(attention.get_by_role("heading", name="Feature-to-feature 2")).to_be_visible(timeout=PATIENCE_MS)
    drawn(attention, MAP)
    visited: list[str] = []
    attention.on("framenavigated", lambda frame: visited.append(frame.url))
    attention.evaluate(CLICK_ON_THE_MAP_BEFORE, MAP)
    click_in(attention, MAP, 0.3, 19.5 / 40)  # the 20th of 40 rows
    attention.wait_for_url(re.compile("channel=20"), timeout=PATIENCE_MS)
    expect(attention.get_by_text("The query at channel 20 looks most at")).to_be_visible(timeout=PATIENCE_MS)
    assert not [url for url in visited if "channel=12" in url], "a click on the map before was read as one on this map"


def test_resting_on_the_map_tells_query_key_and_weight(attention: Page) -> None:
    rest_in(attention, MAP, 0.5, 0.25)
    told = attention.locator(f"{MAP} .hoverlayer .hovertext")
    expect(told).to_contain_text(re.compile(r"query [−-]2[34]\.\d\d s, key [−-]1[56]\.\d\d s: 0\.\d+"), timeout=PATIENCE_MS)


def test_playing_draws_into_the_same_plots_and_leaves_its_place_in_the_link(attention: Page) -> None:
    attention.evaluate(f"window.before = document.querySelector('{MAP} .js-plotly-plot')")
    attention.get_by_role("button", name="Play").click()
    attention.locator(MAP).scroll_into_view_if_needed()  # plots far out of view are not drawn again
    attention.wait_for_function(
        "(selector) => Number(document.querySelector(selector).dataset.updates) >= 4", arg=MAP, timeout=2 * PATIENCE_MS
    )
    attention.get_by_role("button", name="Pause").click()
    attention.wait_for_url(re.compile(r"second=1(0[1-9]|[1-9]\d)"), timeout=PATIENCE_MS)
    expect(attention.get_by_role("button", name="Play")).to_be_visible(timeout=PATIENCE_MS)
    assert attention.evaluate(f"window.before === document.querySelector('{MAP} .js-plotly-plot') && window.before.isConnected")


def test_a_link_opens_the_exact_view_in_another_browser(attention: Page, new_page: NewPage, app: AppServer) -> None:
    attention.get_by_role("button", name="Pin this window").click()
    attention.wait_for_url(re.compile("with="), timeout=PATIENCE_MS)
    attention.get_by_role("button", name="Next step").click()
    attention.wait_for_url(re.compile("second=101"), timeout=PATIENCE_MS)
    path = attention.url.removeprefix(app.url)
    other = new_page(app, path)
    drawn(other, MAP)
    expect(other.get_by_text("Compared with")).to_be_visible(timeout=PATIENCE_MS)
    assert stat(other, "Window ends") == stat(attention, "Window ends")
    assert other.url.removeprefix(app.url) == path


def test_a_window_goes_from_the_live_page_to_a_file_and_back(new_page: NewPage, app: AppServer, tmp_path: Path) -> None:
    page = new_page(app, "/live")
    page.wait_for_selector(".terminal[data-drawn-step]", timeout=PATIENCE_MS)
    page.get_by_role("link", name="Freeze this window").click()
    page.wait_for_url(re.compile(r"/attention\?.*frozen=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    drawn(page, MAP)
    ends, name = stat(page, "Window ends"), re.search("frozen=([0-9a-f]{12})", page.url)
    with page.expect_download(timeout=PATIENCE_MS) as download:
        page.get_by_role("button", name="Window and all arrays").click()
    file = tmp_path / "window.npz"
    download.value.save_as(file)
    window = from_npz(file.read_bytes())
    assert name is not None and window.id == name[1]
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays["time-to-time 1"].shape[-2:] == (len(window), len(window))
        np.testing.assert_allclose(arrays["probabilities"].sum(axis=-1), 1, atol=1e-5)
    other = new_page(app, "/attention?window=file")
    other.locator("input[type=file]").set_input_files(file)
    drawn(other, MAP)
    assert stat(other, "Window ends") == ends


def test_the_newest_window_of_a_running_feed_is_followed(new_page: NewPage, app: AppServer) -> None:
    live = new_page(app, "/live")
    live.wait_for_selector(".terminal[data-drawn-step]", timeout=PATIENCE_MS)
    page = new_page(app, "/attention?window=live")
    drawn(page, MAP)
    before = stat(page, "Window ends")
    expect(page.locator(".stat-strip .stat", has=page.get_by_text("Window ends")).locator("dd").first).not_to_have_text(
        before, timeout=PATIENCE_MS
    )


def test_inputs_and_completeness(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/attention?second=100&view=inputs")
    drawn(page, ".st-key-attribution_book .live-plot")
    difference, total = (float(stat(page, name).replace("−", "-")) for name in ("to be explained", "sum of attributions"))
    assert abs(total - difference) <= 0.01 * abs(difference) + 2e-5  # shown to five decimals


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
    for path in ("/attention?second=100&view=inputs&lang=es", "/garment-attention?look=attention"):
        page = new_page(app, path)
        page.set_viewport_size({"width": 390, "height": 844})
        options = page.locator('[data-testid="stMain"] [data-testid="stButtonGroup"] button')
        expect(options.nth(8)).to_be_visible(timeout=PATIENCE_MS)  # the two of the language come first
        page.wait_for_function(OPTIONS_WITHIN_THEIR_ROWS, timeout=PATIENCE_MS)
