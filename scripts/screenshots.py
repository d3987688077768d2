"""Makes the README's pictures and film from the running app: `make run`, and `python -m scripts.screenshots` beside it."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import find_chromium

FOLDER: Final = Path(__file__).resolve().parents[1] / "assets" / "screenshots"
PAGES: Final = {
    "live": ("/live?lang=en", 15),
    "classify": ("/classify?from=photos&photo=6&lang=en", 8),
    "recognise": ("/recognise?lang=en", 15),
    "permutation": ("/permutation?lang=en", 8),
}
"""Address of each picture, and the seconds that its page is given to come to rest."""
SIZE: Final = (1440, 900)
COLOURS: Final = 128
FILM: Final = "/attention-steps?part=softmax&lang=en"
"""Lesson whose dial is turned in the film."""
FILM_VIEW: Final = (1600, 1000)
FILM_WIDTH: Final = 860
FILM_COLOURS: Final = 128
TURNS: Final = 12
"""Steps of the dial there, and as many back."""
FRAME_MS: Final = 450


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
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            shot.quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
            page.close()
        _film(browser, url)
        browser.close()


def _film(browser: Browser, url: str) -> None:
    """Writes `lesson.gif`: a lesson's dial is turned and turned back; diagram, equation and heat map follow."""
    page = browser.new_page(viewport={"width": FILM_VIEW[0], "height": FILM_VIEW[1]})
    page.goto(url + FILM)
    dial = page.get_by_role("slider").first
    dial.wait_for()
    page.wait_for_timeout(8_000)
    dial.focus()
    box = page.get_by_test_id("stMainBlockContainer").bounding_box()
    assert box is not None
    shown: Any = {"x": box["x"], "y": 50, "width": box["width"], "height": FILM_VIEW[1] - 50}
    frames = []
    for key in ["ArrowLeft"] * TURNS + ["ArrowRight"] * TURNS:
        page.keyboard.press(key)
        page.wait_for_timeout(1_500)
        frame = Image.open(io.BytesIO(page.screenshot(clip=shown))).convert("RGB")
        frames.append(frame.resize((FILM_WIDTH, round(FILM_WIDTH * frame.height / frame.width)), Image.Resampling.LANCZOS))
    page.close()
    palette = frames[0].quantize(FILM_COLOURS, dither=Image.Dither.NONE)
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(FOLDER / "lesson.gif", save_all=True, append_images=rest, duration=FRAME_MS, loop=0, optimize=True)


if __name__ == "__main__":
    main()
