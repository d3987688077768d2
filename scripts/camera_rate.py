"""`python -m scripts.camera_rate`: how many pictures a second the app reads from a camera, and at what cost.

Starts the app and a Chromium whose camera plays a film of somebody signing, and lets the page "Sign to the camera" read it.
Prints pictures a second, what the page says of it, and the server's and the browser's shares of a core. Needs `make hands`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import psutil
from PIL import Image
from playwright.sync_api import sync_playwright

from core.signs import samples
from core.signs.video import read_video
from scripts.load_stream import ROOT, ProcessTree
from tests.browser.conftest import ARGUMENTS
from tests.browser.server import serve
from tests.browser.test_camera import y4m
from tests.conftest import find_chromium

STATE = """() => {
    const { live } = document.querySelector('.live-signs');
    return [live.frames, live.note.textContent, performance.now()];
}"""


def main() -> None:
    """Read the options and measure."""
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    p.add_argument("--seconds", type=float, default=30.0)
    o = p.parse_args()
    frames = read_video(samples.clip_samples()[0].path.read_bytes(), size=224, fps=10).frames
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        film = y4m([Image.fromarray(np.asarray(frame)) for frame in frames], Path(name) / "film.y4m")
        camera = [
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-video-capture={film}",
        ]
        with serve(ROOT / "streamlit_app.py", Path(name)) as server:
            before = set(psutil.Process().children(recursive=True))
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*ARGUMENTS, *camera])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.url}/sign-live")
            page.get_by_role("button", name="Start the camera").click(timeout=120_000)
            page.wait_for_function("() => Number(document.querySelector('.live-signs')?.dataset.frames) > 30", timeout=120_000)
            app = ProcessTree([psutil.Process(server.process.pid)])
            screen = ProcessTree([one for one in psutil.Process().children(recursive=True) if one not in before])
            first, _note, began = page.evaluate(STATE)
            page.wait_for_timeout(1000 * o.seconds)
            last, note, ended = page.evaluate(STATE)
            seconds = (ended - began) / 1000
            print(f"{(last - first) / seconds:.2f} pictures a second over {seconds:.0f} s; the page says: {note}")
            print(f"server {app.share():.2f} of a core, Chromium {screen.share():.2f}")
            browser.close()


if __name__ == "__main__":
    main()
