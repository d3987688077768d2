"""The attention view in a browser: lit at rest, changed by pointing, kept by the address, taken away as files that read back."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from core.lecture.date_reader import DateReader
from core.words import bundled
from tests.browser.conftest import NewPage, SamePage, assert_fits
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

STAGE = "[data-light=words]"
TIRED = bundled.TEXTS[0]
SENTENCE = bundled.sentences()[TIRED]


def stage_pixels(page: Page) -> str:
    return str(page.locator(STAGE).evaluate("stage => stage.toDataURL()"))


AS_OPENED = f"!location.search && document.querySelector('{STAGE}')?.dataset.layer === 'layer 4'"


@pytest.fixture
def page(same_page: SamePage, app: AppServer) -> Page:
    words = same_page(app, "/words", unchanged=AS_OPENED)
    words.wait_for_selector(f"{STAGE}[data-value]", timeout=PATIENCE_MS)
    return words


def opened(new_page: NewPage, app: AppServer, address: str, **more: object) -> Page:
    page = new_page(app, address, **more)
    page.wait_for_selector(f"{STAGE}[data-value]", timeout=PATIENCE_MS)
    return page


def test_the_stage_is_on_the_first_screen_and_says_the_models_number(page: Page) -> None:
    box = page.locator(STAGE).bounding_box()
    assert box and box["y"] + box["height"] <= 900 and box["width"] * box["height"] >= 0.3 * 1440 * 900
    it, animal = SENTENCE.tokens.index("it"), SENTENCE.tokens.index("animal")
    weight = float(np.float16(SENTENCE.weights[3, 1, it, animal]))
    stage = page.locator(STAGE)
    assert stage.get_attribute("data-head") == "2" and stage.get_attribute("data-layer") == "layer 4"
    assert float(stage.get_attribute("data-value") or 0) == float(f"{weight:.3g}")
    count = len(SENTENCE.tokens)
    said = f"“it” looks at “animal” with {100 * weight:.1f}%, {weight * count:.3g} times as much as evenly over all {count}"
    expect(page.locator(".attention-sentence")).to_contain_text(said)
    assert page.locator(".attention-square[data-head]").count() == 6 * 13 + 1
    assert page.locator("iframe").count() == 0


def test_pointing_lights_and_a_press_stays_in_the_address(page: Page) -> None:
    rest = stage_pixels(page)
    square = page.locator('.attention-square[data-layer="layer 1"][data-head="3"]')
    square.hover()
    expect(page.locator(STAGE)).to_have_attribute("data-layer", "layer 1")
    assert stage_pixels(page) != rest
    square.click()
    page.wait_for_url(re.compile(r"light=0\.2\."), timeout=PATIENCE_MS)
    page.locator("h1").first.hover()
    expect(page.locator(STAGE)).to_have_attribute("data-head", "3")
    before = page.locator(".attention-sentence").inner_text()
    assert "“it” looks at “because”" in before  # the word before it
    turned = page.locator(".attention-tools [aria-pressed]").first
    turned.click()
    page.wait_for_url(re.compile(r"light=0\.2\.\d*\.seen"), timeout=PATIENCE_MS)
    expect(page.locator(".attention-sentence")).to_contain_text("is looked at most by")
    page.reload()
    page.wait_for_selector(f"{STAGE}[data-head='3']", timeout=PATIENCE_MS)
    expect(turned).to_have_attribute("aria-pressed", "true")
    turned.click()
    page.locator(STAGE).press("Escape")
    expect(page.locator(STAGE)).not_to_have_attribute("data-head", "3")


def test_one_menu_takes_away_the_numbers_the_stage_and_the_view_itself(page: Page) -> None:
    menu = page.locator(".attention-files")
    expect(page.get_by_role("button", name="Numbers (.npz)")).to_be_hidden()
    menu.locator("summary").click()
    page.locator("h1").first.click()
    expect(menu).not_to_have_attribute("open", "")
    menu.locator("summary").click()
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    menu.locator("summary").click()
    with page.expect_download() as drawn:
        page.get_by_role("button", name="PNG", exact=True).click()
    with Image.open(drawn.value.path()) as picture:
        assert picture.size == tuple(page.locator(STAGE).evaluate("stage => [stage.width, stage.height]"))
    menu.locator("summary").click()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Numbers (.npz)").click()
    arrays = np.load(io.BytesIO(taken.value.path().read_bytes()))
    np.testing.assert_array_equal(arrays["layer_6.word"], SENTENCE.weights[5].astype(np.float16))
    menu.locator("summary").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML").click()
    path = saved.value.path().rename(saved.value.path().with_suffix(".html"))
    alone = page.context.new_page()
    alone.goto(path.as_uri())
    alone.wait_for_selector(f"{STAGE}[data-value]", timeout=PATIENCE_MS)
    assert alone.locator(STAGE).get_attribute("data-value") == page.locator(STAGE).get_attribute("data-value")
    alone.close()


def test_another_sentence_keeps_the_head_and_a_phone_fits(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page, app, "/words?light=0.2.5", width=390)
    top = page.locator(STAGE).bounding_box()
    assert top and top["y"] < 420
    assert_fits(page)
    page.get_by_role("button", name="wide").click()
    expect(page.get_by_role("textbox").first).to_have_value(bundled.TEXTS[1], timeout=PATIENCE_MS)
    expect(page.locator(STAGE)).to_have_attribute("data-head", "3", timeout=PATIENCE_MS)


def test_a_date_is_written_digit_by_digit_and_rests_on_the_month(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page, app, "/transformer?part=see&lang=en")
    stage = page.locator(STAGE)
    expect(stage).to_have_attribute("data-frame", "")  # less motion is asked for: it waits
    page.get_by_role("button", name="Play", exact=True).click()
    expect(stage).to_have_attribute("data-frame", "10", timeout=PATIENCE_MS)
    expect(stage).to_have_attribute("data-frame", "")
    expect(page.locator(".attention-sentence")).to_contain_text("head 4: “5” looks at “m”")
    still = stage_pixels(page)
    stage.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")  # from the month to the first 9
    expect(page.locator(".attention-sentence")).to_contain_text("“9” looks at")
    assert stage_pixels(page) != still
    page.locator('.attention-square[data-layer="decoder 1"][data-head="1"]').click()
    own = DateReader().read("3 de mayo de 1979").trace.maps["decoder 1"][0, 1]  # of the 9, whose place is 1, over ▷ and 1
    looked = "▷1"[int(own[:2].argmax())]
    expect(page.locator(".attention-sentence")).to_contain_text(f"head 1: “9” looks at “{looked}” with {100 * own.max():.1f}%")
