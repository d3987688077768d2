"""Makes the README's pictures and film from the running app (`make run` beside it)."""

import argparse
import io
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

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
COLOURS: Final = 128
FILM: Final = "/words?lang=en"
"""Page of the film, in which each word is pointed at in turn."""
FILM_WIDTH: Final = 860
FRAME_MS: Final = 700


def main() -> None:
    """Opens each page and writes its first screen, as a PNG of few colours; then the film."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://localhost:8501", help="of the running app")
    url = parser.parse_args().url.rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
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
