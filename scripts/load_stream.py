"""`python -m scripts.load_stream`: how many viewers one process serves over the live page's stream.

Starts the app, opens Chromiums on the live page and light websocket clients beside them on the same feed, one of which reads
slowly. Prints once a minute: milliseconds from a book received to the clients (median, 95th percentile, longest), the
server's share of a core and its memory; and, of each Chromium at the end, how long a frame takes to draw.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import aiohttp
import numpy as np
import psutil
from playwright.async_api import Page, async_playwright

from core.market.stream import FrameKind
from tests.browser.server import AppServer, serve
from tests.conftest import find_chromium

ROOT = Path(__file__).resolve().parents[1]


class LightClient:
    """A viewer without a browser: receives frames and notes when each came.

    Args:
        pause_s: seconds it waits after each frame, as a slow reader does.
    """

    def __init__(self, address: str, *, pause_s: float = 0.0) -> None:
        self._address, self._pause_s = address, pause_s
        self.delays: list[float] = []
        self.snapshots = 0
        self.failed: str | None = None

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Receive until cancelled."""
        try:
            async with session.ws_connect(self._address, max_msg_size=0) as socket:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.BINARY:
                        continue
                    header = np.frombuffer(message.data[: 11 * 8], dtype="<f8")
                    if int(header[0]) == FrameKind.STEP:
                        self.delays.append(time.time() * 1e3 - header[6])
                    else:
                        self.snapshots += 1
                    if self._pause_s:
                        await asyncio.sleep(self._pause_s)
        except (aiohttp.ClientError, OSError) as error:
            self.failed = repr(error)


async def measure(server: AppServer, *, clients: int, browsers: int, minutes: float, speed: str) -> None:
    """Run the load and print the table."""
    process = psutil.Process(server.process.pid)
    async with async_playwright() as playwright, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        chromium = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        pages: list[Page] = []
        for _ in range(browsers):
            page = await chromium.new_page(viewport={"width": 1440, "height": 900})
            await page.goto(f"{server.url}/?with=load&speed={speed}")
            await page.wait_for_selector(".terminal[data-drawn-step]", timeout=90_000)
            pages.append(page)
        path = await pages[0].evaluate("document.querySelector('.terminal').terminal.config.address")
        address = server.url.replace("http", "ws", 1) + path
        lights = [LightClient(address) for _ in range(clients)]
        slow = LightClient(address, pause_s=2.0)
        tasks = [asyncio.create_task(one.run(session)) for one in [*lights, slow]]
        print("minute   p50 ms   p95 ms   max ms   core share   MiB   slow reader: frames, snapshots")
        for minute in range(max(1, round(minutes))):
            for one in lights:
                one.delays.clear()
            process.cpu_percent()
            await asyncio.sleep(60 * min(1.0, minutes))
            share = process.cpu_percent() / 100
            delays = np.array([delay for one in lights for delay in one.delays]) if lights else np.zeros(1)
            p50, p95 = np.percentile(delays, [50, 95])
            memory = process.memory_info().rss / 2**20
            print(
                f"{minute + 1:6d} {p50:8.0f} {p95:8.0f} {delays.max():8.0f} {share:12.2f} {memory:5.0f}"
                f"   {len(slow.delays)}, {slow.snapshots}"
            )
        for page in pages:
            data = await page.evaluate("({...document.querySelector('.terminal').dataset})")
            print(f"Chromium: {data['drawn']} frames, mean {data['meanMs']} ms, longest {data['longestMs']} ms")
        failed = [one.failed for one in [*lights, slow] if one.failed]
        print(f"{len(failed)} clients failed{': ' + failed[0] if failed else ''}")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await chromium.close()


def main() -> None:
    """Read the options and run."""
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    p.add_argument("--clients", type=int, default=200, help="light websocket clients")
    p.add_argument("--browsers", type=int, default=2, help="real Chromiums; at least one")
    p.add_argument("--minutes", type=float, default=10)
    p.add_argument("--speed", default="1.0", help="of the recording")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder, serve(ROOT / "streamlit_app.py", Path(folder)) as server:
        asyncio.run(measure(server, clients=o.clients, browsers=max(1, o.browsers), minutes=o.minutes, speed=o.speed))


if __name__ == "__main__":
    main()
