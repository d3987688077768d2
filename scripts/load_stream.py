"""`python -m scripts.load_stream`: how many viewers one process serves over the live page's stream, and what a screen costs.

Starts the app on one recording and measures, in this order: one screen alone; then all Chromiums, light websocket clients and one
slow reader together, once a minute. Of the server: share of a core and memory. Of the clients: milliseconds from a book received
to the frame that holds its prediction. Of each Chromium: share of a core, how long a screen takes to draw, and how long its
main thread was held at most. With `--markets 20` it measures, instead, how soon after its book a step of that many simulations,
watched at once in one process, is predicted.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import aiohttp
import numpy as np
import psutil
from playwright.async_api import Page, Playwright, async_playwright

from core.market.book import STEP_MS
from core.market.feeds.simulated import SimulatedFeed
from core.market.hub import MAX_FEEDS, hub, shutdown
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.sources import MarketSource
from core.market.stream import HEADER, FrameKind
from tests.browser.conftest import ARGUMENTS
from tests.browser.server import AppServer, serve
from tests.conftest import find_chromium

ROOT = Path(__file__).resolve().parents[1]
READ_EVERY = 4
"""As in assets/scripts/terminal.js."""
OBSERVE = """() => {
    const { terminal } = document.querySelector('.terminal');
    window.held = [];
    window.times = [];
    window.delays = [];
    window.observer ??= new PerformanceObserver((list) => window.held.push(...list.getEntries().map((one) => one.duration)));
    window.observer.observe({ entryTypes: ["longtask"] });
    window.draw ??= terminal.draw.bind(terminal);
    terminal.draw = () => {
        const began = performance.now();
        window.draw();
        window.times.push(performance.now() - began);
        window.delays.push(Date.now() - terminal.store.receivedMs);
    };
}"""
READ = "() => ({ times: window.times, delays: window.delays, held: window.held })"


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
        read = 0
        try:
            async with session.ws_connect(self._address, max_msg_size=0) as socket:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.BINARY:
                        continue
                    header = np.frombuffer(message.data[: 8 * len(HEADER)], dtype="<f8")
                    if int(header[0]) == FrameKind.STEP and header[3]:  # frames of trades alone hold no new book
                        self.delays.append(time.time() * 1e3 - header[6])
                    else:
                        self.snapshots += 1
                    if self._pause_s:
                        await asyncio.sleep(self._pause_s)
                    read += 1
                    if read % READ_EVERY == 0:
                        await socket.send_str(str(read))
        except (aiohttp.ClientError, OSError) as error:
            self.failed = repr(error)


@dataclass
class ProcessTree:
    """Processor time of some processes since the last look."""

    processes: Sequence[psutil.Process]
    seconds: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Begin to measure here."""
        self.seconds, self.at = self._seconds(), time.monotonic()

    def share(self) -> float:
        """Of one core, since the last look."""
        return (self._seconds() - self.seconds) / (time.monotonic() - self.at)

    def _seconds(self) -> float:
        total = 0.0
        for process in self.processes:
            if process.is_running():
                times = process.cpu_times()
                total += times.user + times.system
        return total


@dataclass(kw_only=True)
class Screen:
    """One Chromium on the live page: all its processes, and the one that runs the page."""

    page: Page
    whole: ProcessTree
    renderer: ProcessTree

    async def begin(self) -> None:
        """Begin to measure here."""
        await self.page.evaluate(OBSERVE)
        self.whole.look()
        self.renderer.look()

    async def row(self) -> str:
        """Returns the cost since `begin`."""
        shares = f"{self.renderer.share():.2f} of a core in the page's process, {self.whole.share():.2f} in all its processes"
        seen: dict[str, list[float]] = await self.page.evaluate(READ)
        times, held = np.array(seen["times"] or [np.nan]), seen["held"]
        delays = np.percentile(seen["delays"] or [np.nan], [50, 95])
        return (
            f"{len(seen['times'])} screens, mean {times.mean():.1f} ms, p95 {np.percentile(times, 95):.1f} ms, longest"
            f" {times.max():.1f} ms; main thread held over 50 ms {len(held)} times, at most {max(held, default=0):.0f} ms;"
            f" book to screen p50 {delays[0]:.0f} ms, p95 {delays[1]:.0f} ms; {shares}"
        )


async def open_screen(playwright: Playwright, server: AppServer, *, speed: str) -> Screen:
    """A Chromium of its own on the shared playback."""
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    chromium = await playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
    page = await chromium.new_page(viewport={"width": 1440, "height": 900})
    await page.goto(f"{server.url}/?with=load&speed={speed}")
    await page.wait_for_selector(".terminal[data-drawn-step]", timeout=90_000)
    mine = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
    renderers = [one for one in mine if "--type=renderer" in " ".join(one.cmdline())]
    return Screen(page=page, whole=ProcessTree(mine), renderer=ProcessTree(renderers))


def quantiles(delays: Sequence[float]) -> str:
    """Median, 95th percentile and longest, milliseconds."""
    if not delays:
        return f"{'-':>7}{'-':>8}{'-':>8}"
    p50, p95 = np.percentile(delays, [50, 95])
    return f"{p50:7.0f}{p95:8.0f}{max(delays):8.0f}"


async def measure(server: AppServer, *, clients: int, browsers: int, minutes: float, speed: str) -> None:
    """Run the load and print the table."""
    process = psutil.Process(server.process.pid)
    tree = ProcessTree([process])
    async with async_playwright() as playwright, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        screens = [await open_screen(playwright, server, speed=speed)]
        await asyncio.sleep(5)
        tree.look()
        await screens[0].begin()
        await asyncio.sleep(60 * min(1.0, minutes))
        print(f"one viewer: server {tree.share():.3f} of a core, {process.memory_info().rss / 2**20:.0f} MiB")
        print(f"one viewer: {await screens[0].row()}", flush=True)
        address = await screens[0].page.evaluate("document.querySelector('.terminal').terminal.config.address")
        if browsers == 0:
            await screens.pop().page.context.browser.close()  # type: ignore[union-attr]
        screens += [await open_screen(playwright, server, speed=speed) for _ in range(browsers - 1)]
        lights = [LightClient(server.url.replace("http", "ws", 1) + address) for _ in range(clients)]
        slow = LightClient(server.url.replace("http", "ws", 1) + address, pause_s=2.0)
        tasks = [asyncio.create_task(one.run(session)) for one in [*lights, slow]]
        await asyncio.sleep(5)
        for screen in screens:
            await screen.begin()
        print("minute   p50 ms  p95 ms  max ms   server's share of a core   MiB   slow reader: steps, snapshots")
        every: list[float] = []
        began, first = process.cpu_times(), time.monotonic()
        for minute in range(max(1, round(minutes))):
            for one in lights:
                one.delays.clear()
            tree.look()
            await asyncio.sleep(60 * min(1.0, minutes))
            share, memory = tree.share(), process.memory_info().rss / 2**20
            delays = [delay for one in lights for delay in one.delays]
            every += delays
            tail = f"{share:25.3f}{memory:8.0f}   {len(slow.delays)}, {slow.snapshots}"
            print(f"{minute + 1:6d}  {quantiles(delays)}{tail}", flush=True)
        ended = process.cpu_times()
        seconds = ended.user + ended.system - began.user - began.system
        print(f"   all  {quantiles(every)}{seconds / (time.monotonic() - first):25.3f}")
        for screen in screens:
            print(f"Chromium: {await screen.row()}")
        failed = [one.failed for one in [*lights, slow] if one.failed]
        print(f"{len(failed)} clients failed{': ' + failed[0] if failed else ''}")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def measure_markets(count: int, *, minutes: float) -> None:
    """Watch so many simulations and print how long after its book a step is predicted."""
    sources = [MarketSource(kind="simulated", name=str(seed)) for seed in range(min(count, MAX_FEEDS))]
    predictor, feeds = load_predictor(), [cast(SimulatedFeed, one.feed()) for one in sources]
    sessions = [
        hub().watch(f"viewer {one.name}", one.key, partial(MarketSession, feed, predictor))
        for one, feed in zip(sources, feeds, strict=True)
    ]
    # The rows played at once at the start are worked through first; then their times leave the last 500 that a session keeps.
    while any(session.step < max(500, feed.position - 4) for session, feed in zip(sessions, feeds, strict=True)):
        keep_watching(sources)
    tree = ProcessTree([psutil.Process()])
    end = time.monotonic() + 500 * STEP_MS / 1e3 + 60 * minutes
    while time.monotonic() < end:
        keep_watching(sources)
    totals = [session.latencies.recent()["total"] for session in sessions]
    print(
        f"{len(sessions)} markets, book to prediction: median {np.median([p50 for p50, _ in totals]):.0f} ms; 95th percentile"
        f" {np.median([p95 for _, p95 in totals]):.0f} ms in the middle market, {max(p95 for _, p95 in totals):.0f} ms in the"
        f" worst; {tree.share():.2f} of a core"
    )
    shutdown()


def keep_watching(sources: Sequence[MarketSource]) -> None:
    """Say that each is still watched, and wait."""
    for one in sources:
        hub().join(f"viewer {one.name}", one.key)
    time.sleep(2)


def main() -> None:
    """Read the options and run."""
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    p.add_argument("--clients", type=int, default=200, help="light websocket clients")
    p.add_argument("--browsers", type=int, default=1, help="Chromiums beside them; 0 leaves the clients alone")
    p.add_argument("--minutes", type=float, default=1.0)
    p.add_argument("--speed", default="1.0", help="of the recording")
    p.add_argument("--markets", type=int, default=0, help="measure the predictions of so many simulations instead")
    o = p.parse_args()
    if o.markets:
        measure_markets(o.markets, minutes=o.minutes)
        return
    with tempfile.TemporaryDirectory() as folder, serve(ROOT / "streamlit_app.py", Path(folder)) as server:
        asyncio.run(measure(server, clients=o.clients, browsers=o.browsers, minutes=o.minutes, speed=o.speed))


if __name__ == "__main__":
    main()
