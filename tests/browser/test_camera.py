"""A Chromium whose camera shows a known picture: a garment, then a hand sign, photographed and read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from core.signs import samples
from core.signs.recogniser import HANDS, load_recogniser
from core.signs.video import read_video
from core.vision import seen_samples
from core.vision.gallery import photograph_gallery
from core.vision.pictures import decode
from core.vision.sight_files import SIGHT_FILES
from tests.browser.conftest import ARGUMENTS, GO, NewPage, Tabs, Watch, settled
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer
from tests.browser.test_images import STAGE

SIZE = (640, 480)


def y4m(pictures: list[Image.Image], path: Path) -> None:
    """A film of ten pictures a second, as Chromium's pretended camera plays it over and over: planes of 4:2:0 luma and chroma."""
    film = f"YUV4MPEG2 W{SIZE[0]} H{SIZE[1]} F10:1 Ip A1:1 C420jpeg\n".encode()
    for picture in pictures:
        sheet = Image.new("RGB", SIZE, "white")
        fitted = picture.convert("RGB").resize((round(picture.width * SIZE[1] / picture.height), SIZE[1]))
        sheet.paste(fitted, ((SIZE[0] - fitted.width) // 2, 0))
        luma, *chroma = (np.asarray(plane) for plane in sheet.convert("YCbCr").split())
        film += b"FRAME\n" + luma.tobytes() + b"".join(plane[::2, ::2].tobytes() for plane in chroma)
    path.write_bytes(film)


Filming = Callable[[list[Image.Image], str], Page]


@pytest.fixture(scope="module")
def camera(chromium: Browser, chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tabs, Path]]:
    """Tabs of a browser whose camera shows the film of this file, as it is when the camera is started."""
    film = tmp_path_factory.mktemp("camera") / "film.y4m"
    pretend = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    arguments = [*ARGUMENTS, *pretend, f"--use-file-for-fake-video-capture={film}"]
    browser = chromium.browser_type.launch(executable_path=chromium_path, args=arguments)
    yield Tabs(browser), film
    browser.close()


@pytest.fixture
def filming(camera: tuple[Tabs, Path], app: AppServer, watch: Watch) -> Iterator[Filming]:
    """Opens a page before whose camera a picture is held."""
    tabs, film = camera
    page = tabs.take()

    def opened(pictures: list[Image.Image], path: str) -> Page:
        y4m(pictures, film)
        watch.server(app)
        watch.page(page)
        page.goto(app.url + path)
        return page

    yield opened
    tabs.give_back(page)


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_a_garment_before_the_camera_is_lit_and_a_still_is_ranked(filming: Filming) -> None:
    trousers = next(one for one in photograph_gallery() if one.kind == "pants")
    page = filming([Image.fromarray(decode(trousers.data).rgb)] * 5, "/classify?from=camera")
    page.get_by_role("button", name="Start the camera").click(timeout=PATIENCE_MS)
    expect(page.locator(".live-signs-answer")).to_contain_text("% stands out", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Take this picture").click()
    page.wait_for_url(re.compile(r"set=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    page.wait_for_selector(STAGE, timeout=PATIENCE_MS)
    expect(page.get_by_text("Trousers").first).to_be_visible(timeout=PATIENCE_MS)

    page.goto(page.url.partition("/classify")[0])
    page.get_by_role("button", name="Camera", exact=True).click(timeout=PATIENCE_MS)  # and it starts, in the picture's place
    expect(page.locator(".live-signs-answer")).to_contain_text("% stands out", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Take this picture").click()
    expect(page.locator(".st-key-front_ask .front-answer")).to_contain_text("Trousers", timeout=PATIENCE_MS)


def test_a_hand_before_the_camera_is_drawn_and_read_live(filming: Filming) -> None:
    clip = next(one for one in samples.clip_samples() if one.glosses == ("3", "1", "4"))
    recogniser = load_recogniser(HANDS)
    frames = read_video(clip.path.read_bytes(), size=recogniser.image_size, fps=8).frames
    still = frames[int(recogniser.log_probabilities(frames)[:, recogniser.vocabulary.index["1"]].argmax())]
    page = filming([Image.fromarray(still)] * 5, "/recognise")
    page.get_by_role("button", name="Camera", exact=True).click(timeout=PATIENCE_MS)  # and it starts
    live = page.locator(".live-signs")
    expect(live).to_have_attribute("data-hands", "1", timeout=PATIENCE_MS)
    expect(page.get_by_text("I read: 1")).to_be_visible(timeout=PATIENCE_MS)
    ink = "() => document.querySelector('.live-signs-over').getContext('2d').getImageData(0, 0, 640, 480).data.some((v) => v)"
    page.wait_for_function(ink, timeout=PATIENCE_MS)
    page.get_by_text("Show me a …", exact=True).click()
    page.wait_for_function("() => document.querySelector('.live-signs').live.game", timeout=PATIENCE_MS)
    live.evaluate("({ live }) => { live.game.asked = 'APPLE'; live.wish({ asked: 'APPLE' }); }")  # its hand moves
    expect(page.get_by_text("This sign moves: do as in the example.")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Stop").click()
    expect(live).to_have_attribute("data-state", "stopped")
    expect(page.get_by_text("The camera is off.")).to_be_visible()


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_anything_before_the_camera_is_lit_and_a_still_is_looked_at(filming: Filming) -> None:
    cup = Image.fromarray(seen_samples.sample("cup").rgb)
    page = filming([cup] * 5, "/see")
    page.get_by_role("button", name="Camera", exact=True).click(timeout=PATIENCE_MS)  # and it starts
    answer = page.locator(".live-signs-answer")
    expect(answer).to_contain_text("% stands out", timeout=PATIENCE_MS)
    page.get_by_text("One head", exact=True).click()
    expect(answer).to_contain_text("% on the brightest patch", timeout=PATIENCE_MS)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".live-signs-stage")).to_have_css("width", "390px", timeout=PATIENCE_MS)
    expect(page.locator(".live-signs-stage")).to_have_css("height", "844px")
    page.get_by_role("button", name="Take this picture").click()
    page.wait_for_url(re.compile(r"set=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    expect(page.locator(STAGE)).to_be_visible(timeout=PATIENCE_MS)


def test_without_a_camera_every_page_that_has_one_says_so_and_keeps_its_upload(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app)
    for path in ("/", "/classify", "/recognise"):
        page.evaluate(GO, path)
        settled(page)
        page.get_by_role("button", name="Camera", exact=True).first.click(timeout=PATIENCE_MS)
        expect(page.locator(".live-signs-notice")).to_contain_text("No camera was found", timeout=PATIENCE_MS)
        upload = "Choose a picture" if path == "/" else "Upload"
        expect(page.get_by_text(upload, exact=True).locator("visible=true").first).to_be_visible()
