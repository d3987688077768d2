"""The sign pages in a browser: links, clicks, an uploaded film, and every width."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from core.signs import samples
from tests.browser.conftest import NewPage, assert_fits
from tests.browser.reader import PATIENCE_MS, drawn, frames
from tests.browser.server import AppServer

TRELLIS = ".st-key-ctc_trellis .live-plot"


def test_a_click_on_the_trellis_shows_its_step(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/ctc?target=A+A+B&length=7")
    drawn(page, TRELLIS)
    plot = page.locator(f"{TRELLIS} .js-plotly-plot")
    x, y = plot.evaluate(
        """(plot) => {
            const {xaxis, yaxis} = plot._fullLayout;
            return [xaxis._offset + xaxis.d2p(5), yaxis._offset + yaxis.d2p(4)];
        }"""
    )
    plot.hover(position={"x": x - 3, "y": y})
    plot.click(position={"x": x, "y": y})
    page.wait_for_url(re.compile(r"at=5.*state=4|state=4.*at=5"), timeout=PATIENCE_MS)


STAGE = "[data-light=film]"
FRAME = "stage => Number(stage.dataset.frame)"


def opened(new_page: NewPage, app: AppServer, **more: object) -> Page:
    """The page as it is for who did not ask for less motion."""
    page = new_page(app, "/recognise", moving=True, **more)
    page.wait_for_selector(f"{STAGE}[data-value]", timeout=2 * PATIENCE_MS)
    return page


def pixels(page: Page) -> str:
    return str(page.locator(STAGE).evaluate("stage => stage.toDataURL()"))


def test_the_film_is_on_the_first_screen_and_plays_until_the_space_bar(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page, app)
    stage = page.locator(STAGE)
    for width, height in ((1440, 900), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"() => document.querySelector('{STAGE}').getBoundingClientRect().bottom <= innerHeight")
        box = stage.bounding_box()
        assert box and box["y"] <= 170 and box["width"] * box["height"] >= 0.3 * width * height
    assert str(stage.get_attribute("data-head")).startswith("gradients")  # D38
    frame = stage.evaluate(FRAME)
    page.wait_for_function(f"() => Number(document.querySelector('{STAGE}').dataset.frame) !== {frame}")
    stage.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    held = stage.evaluate(FRAME)
    frames(page, 36)  # several pictures of the film
    assert stage.evaluate(FRAME) == held


def test_the_light_is_that_of_the_gloss_being_read_and_pointing_asks_the_frame(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page, app)
    stage = page.locator(STAGE)
    for gloss in ("1", "3"):
        page.wait_for_selector(f"{STAGE}[data-head='gradients {gloss}']", timeout=PATIENCE_MS)
    rest = pixels(page)
    box = stage.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] - 40)
    expect(page.locator(".attention-sentence")).to_contain_text(re.compile(r"Inter-gloss 2.*frame \d+ .*looks at frame \d+"))
    assert pixels(page) != rest
    assert stage.get_attribute("data-frame") == stage.get_attribute("data-token")  # it is in play
    square = page.locator('.attention-square[data-layer="intra 1"][data-head="2"]')
    square.click()
    page.wait_for_url(re.compile(r"light=0\.1\."), timeout=PATIENCE_MS)
    expect(stage).to_have_attribute("data-layer", "intra 1")
    assert page.locator(".attention-square[data-head]").count() == 4 * 5 + 1 + 4


def test_less_motion_is_respected_and_a_film_takes_the_stage(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/recognise")
    page.wait_for_selector(f"{STAGE}[data-value]", timeout=2 * PATIENCE_MS)
    assert page.get_by_role("button", name="Play").is_visible()
    page.set_input_files("input[type=file]", samples.clip_samples()[0].path)
    page.wait_for_function(f"() => !document.querySelector('{STAGE}')", timeout=PATIENCE_MS)  # while hands are looked for
    page.wait_for_selector(f"{STAGE}[data-value]", timeout=2 * PATIENCE_MS)


def test_on_a_phone_the_stage_is_high_and_upload_and_camera_are_at_the_lower_edge(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page, app, width=390)
    box = page.locator(STAGE).bounding_box()
    assert box and box["y"] < 300
    tall = page.evaluate("innerHeight")
    for name in ("Upload", "Camera"):
        button = page.get_by_role("button", name=name, exact=True).last.bounding_box()
        assert button and tall - 60 < button["y"] < tall and 0 <= button["x"] < 390 - button["width"], name
    assert_fits(page)
