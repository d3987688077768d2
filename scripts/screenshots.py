"""Makes the README's pictures from the running app: `make run` in one shell, `python -m scripts.screenshots` in another."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import sync_playwright

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


def main() -> None:
    """Opens each page and writes its first screen, as a PNG of few colours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://localhost:8501", help="of the running app")
    url = parser.parse_args().url.rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        for name, (path, rest_s) in PAGES.items():
            page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            page.goto(url + path)
            page.wait_for_timeout(1000 * rest_s)
            shot = Image.open(io.BytesIO(page.screenshot()))
            shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
