"""One app, visitors coming and going, and what of them is left in its process.

Half of the visitors watch the bundled recording, half a venue of the loopback. A visitor is a Streamlit session without a
browser: it runs the page, follows the stream that the page names for some seconds, and leaves. Printed at even steps: visits so
far, memory, threads, descriptors, sockets of the app's process.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import re
import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import numpy as np
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.server import ROOT, AppServer, serve
from tests.core.market.feeds.delta_server import BybitServer
from tests.core.market.feeds.venue_faults import Exchange

RECORDING, VENUE = "with=soak", "source=live&ex=bybit&sym=BTC/USDT"
LOOPBACK = """
from types import SimpleNamespace
import core.market.feeds.venues as venues
plain = venues.make_exchange
def make_exchange(exchange, symbol=None, configure=None):
    from tests.core.market.feeds.delta_server import BybitServer
    made = plain(exchange, symbol, configure)
    if exchange == "bybit":
        BybitServer.configure(SimpleNamespace(port={port}), made)
    return made
venues.make_exchange = make_exchange
"""
"""`sitecustomize` of the app's process, which leads Bybit's addresses to the loopback."""
TICKET = re.compile(rb"stream/market\?ticket=[\w-]+")
NEVER_S: Final = 600.0
"""Seconds after which a page counts as one that never comes; one that a busy machine keeps waiting comes late."""
SETTLING_LOOKS: Final = 12
"""Most looks, five seconds apart, until the sockets of visitors who have gone are closed."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Resources that a process holds, memory in MiB.

    Since the last look: `share` of a core, and `page_p95`, the 95th percentile of seconds until a page named its stream.
    """

    minutes: float
    visits: int
    share: float
    page_p95: float
    memory: float
    threads: int
    descriptors: int
    sockets: int

    def __str__(self) -> str:
        return "".join(f"{value:>12.2f}" if isinstance(value, float) else f"{value:>12}" for value in astuple(self))


class Visitors:
    """Visits of one app, so many at a time."""

    def __init__(self, server: AppServer, *, stay_s: float) -> None:
        self._server, self._stay_s = server, stay_s
        self.visits = self.frames = 0
        self.failed: list[str] = []
        self.waited: list[float] = []  # seconds until each page named its stream
        self._looked = 0
        self._process = psutil.Process(server.process.pid)
        self._process.cpu_percent()
        self._began = time.monotonic()

    async def come_and_go(self, session: aiohttp.ClientSession, query: str) -> None:
        """One visit after another, until cancelled."""
        while True:
            try:
                await self._visit(session, query)
                self.visits += 1
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self.failed.append(f"after {(time.monotonic() - self._began) / 60:.1f} minutes: {error!r}")
                await asyncio.sleep(1)

    async def _visit(self, session: aiohttp.ClientSession, query: str) -> None:
        root = self._server.url.replace("http", "ws", 1)
        run = BackMsg()
        run.rerun_script.query_string, run.rerun_script.page_name = query, "live"
        came = time.monotonic()
        async with session.ws_connect(f"{root}/_stcore/stream", protocols=["streamlit"], max_msg_size=0) as page:
            await page.send_bytes(run.SerializeToString())
            async with asyncio.timeout(NEVER_S):
                async for message in page:
                    ticket = TICKET.search(message.data) if isinstance(message.data, bytes) else None
                    if ticket:
                        break
                else:
                    raise aiohttp.ClientError("the page named no stream")
            self.waited.append(time.monotonic() - came)
            async with session.ws_connect(f"{root}/{ticket[0].decode()}", max_msg_size=0) as stream:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(random.uniform(0.2, 1.0) * self._stay_s):
                        async for message in stream:
                            self.frames += message.type is aiohttp.WSMsgType.BINARY
                            await stream.send_str(str(10**9))  # all is read

    def look(self) -> Resources:
        """Resources of the app's process now."""
        process, waited, self._looked = self._process, self.waited[self._looked :], len(self.waited)
        share = process.cpu_percent() / 100
        with process.oneshot():
            return Resources(
                minutes=(time.monotonic() - self._began) / 60,
                visits=self.visits,
                share=share,
                page_p95=float(np.percentile(waited, 95)) if waited else math.nan,
                memory=process.memory_info().rss / 2**20,
                threads=process.num_threads(),
                descriptors=process.num_fds(),
                sockets=len(process.net_connections(kind="inet")),
            )


async def soak(server: AppServer, *, clients: int, minutes: float, stay_s: float, looks: int) -> tuple[list[Resources], Visitors]:
    """Let visitors come and go; what the app held at even steps, and after all had left."""
    visitors = Visitors(server, stay_s=stay_s)
    seen: list[Resources] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        coming = [asyncio.create_task(visitors.come_and_go(session, (RECORDING, VENUE)[number % 2])) for number in range(clients)]
        for _ in range(looks):
            await asyncio.sleep(60 * minutes / looks)
            seen.append(visitors.look())
            print(seen[-1], flush=True)
        for task in coming:
            task.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
    for _ in range(SETTLING_LOOKS):
        await asyncio.sleep(5)
        last = visitors.look()
        if last.sockets <= 1:  # it listens
            break
    seen.append(last)
    print(seen[-1], flush=True)
    return seen, visitors


async def with_venue(folder: Path, **options: Any) -> tuple[list[Resources], Visitors]:
    """`soak` with these options of an app whose Bybit is a server of the loopback."""
    async with BybitServer() as venue:
        (folder / "sitecustomize.py").write_text(LOOPBACK.format(port=venue.port))
        moving = asyncio.create_task(Exchange(venue).run())
        environment = {"PYTHONPATH": f"{folder}:{ROOT}"}
        server = serve(ROOT / "streamlit_app.py", folder, environment=environment)
        app = await asyncio.to_thread(server.__enter__)
        try:
            return await soak(app, **options)
        finally:
            moving.cancel()
            await asyncio.to_thread(server.__exit__, None, None, None)
