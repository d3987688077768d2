"""Makes the README's pictures and film, and with `--stops` those of the lecture, from the running app (`make run` beside it)."""

import argparse
import io
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps
from playwright.sync_api import Browser, sync_playwright

from core.lecture.stops import MINUTES
from tests.conftest import find_chromium

FOLDER: Final = Path(__file__).resolve().parents[1] / "assets" / "screenshots"
PAGES: Final = {
    "live": ("/live?lang=en", 15),
    "classify": ("/classify?from=photos&photo=13&lang=en", 8),
    "recognise": ("/recognise?lang=en", 15),
    "attention": ("/attention?second=100&lang=en", 15),
    "permutation": ("/permutation?lang=en", 8),
}
"""Address of each picture, and the seconds that its page is given to come to rest."""
PRESSES: Final = 7
"""Presses of an arrow that stop the film of signs at a hand."""
SIZE: Final = (1440, 900)
STOP_PICTURES: Final = FOLDER.parent / "pictures" / "lecture"
STOP_SIZE: Final = (640, 254)
PICTURED: Final = {"writes": 2, "qkv": 2, "softmax": 2, "heads": 2, "scenes": 3, "works": 2}
"""Views whose figure stands for their stop, where it is not the first."""
COLOURS: Final = 128
FILM: Final = "/words?lang=en"
"""Page of the film, in which each word is pointed at in turn."""
FILM_WIDTH: Final = 860
FRAME_MS: Final = 700


def main() -> None:
    """Opens each page and writes its first screen, as a PNG of few colours; then the film."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://localhost:8501", help="of the running app")
    parser.add_argument("--stops", action="store_true", help="the pictures of the lecture's stops instead")
    options = parser.parse_args()
    url = options.url.rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        if options.stops:
            _stops(browser, url)
            return
        for name, (path, rest_s) in PAGES.items():
            page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            page.goto(url + path)
            page.wait_for_timeout(1000 * rest_s)
            if name == "recognise":
                page.locator("[data-light][data-value]").focus()
                for _ in range(PRESSES):
                    page.keyboard.press("ArrowRight")
                page.wait_for_timeout(500)
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            shot.quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
            page.close()
        _film(browser, url)
        browser.close()


def _stops(browser: Browser, url: str) -> None:
    """Writes the figure of each stop's view that says most in small."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    for number, code in enumerate(MINUTES, start=1):
        page.goto(f"{url}/learn?stop={number}.{PICTURED.get(code, 1)}&lang=en")
        figure = page.locator(".lecture-figure")
        figure.locator(".lecture-panel").first.wait_for(timeout=60_000)
        page.wait_for_timeout(1_000)
        shot = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
        ImageOps.fit(shot, STOP_SIZE).save(STOP_PICTURES / f"{code}.webp", quality=62, method=6)
    page.close()


def _film(browser: Browser, url: str) -> None:
    """Writes `light.gif`: word after word of a sentence lights what it looks at."""
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.goto(url + FILM)
    stage = page.locator("[data-light=words][data-value]")
    stage.wait_for()
    page.wait_for_timeout(3_000)
    stage.focus()
    frames = []
    for key in ["ArrowLeft"] * 9 + ["ArrowRight"] * 9:
        page.keyboard.press(key)
        page.wait_for_timeout(200)
        frame = Image.open(io.BytesIO(page.screenshot(clip={"x": 60, "y": 60, "width": 1320, "height": 760}))).convert("RGB")
        frames.append(frame.resize((FILM_WIDTH, round(FILM_WIDTH * frame.height / frame.width)), Image.Resampling.LANCZOS))
    page.close()
    palette = frames[0].quantize(COLOURS, dither=Image.Dither.NONE)
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(FOLDER / "light.gif", save_all=True, append_images=rest, duration=FRAME_MS, loop=0, optimize=True)


if __name__ == "__main__":
    main()
