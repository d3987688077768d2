"""The whole server, visited over Streamlit's own websocket: tabs that were closed leave nothing behind."""

import asyncio
import os
import re
import time
from collections import Counter
from pathlib import Path

import aiohttp
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.server import ROOT, AppServer, serve

VISITS, AT_ONCE = 24, 4
ROUNDS, MIB = 4, 5 * VISITS
"""Rounds of visits until one leaves less memory than that behind: 7.7 MiB a visit were kept once, in every round; what is played
for the last visitors, and the heap's own steps, are there in some."""


async def visits(url: str, count: int) -> None:
    """So many tabs that open the live page and are closed as soon as it stands."""
    opening = BackMsg()
    opening.rerun_script.page_name = "live"
    opening.rerun_script.context_info.locale = "en"
    places = asyncio.Semaphore(AT_ONCE)

    async def visit(http: aiohttp.ClientSession) -> None:
        async with places, http.ws_connect(f"{url}/_stcore/stream", max_msg_size=0) as socket:
            await socket.send_bytes(opening.SerializeToString())
            while ForwardMsg.FromString(await socket.receive_bytes(timeout=60)).WhichOneof("type") != "script_finished":
                pass

    async with aiohttp.ClientSession() as http:
        async with http.get(url) as page:  # as a browser does first, from when on the server prepares no more pages
            assert page.ok
        await asyncio.gather(*(visit(http) for _ in range(count)))


def descriptors(server: AppServer) -> Counter[str]:
    """Open descriptors of the server by their kind, recordings being played aside, which the hub stops by itself."""
    kinds = Counter[str]()
    for one in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            kinds[re.sub(r"\d+", "N", os.readlink(one))] += 1
        except OSError:  # closed meanwhile
            continue
    return Counter({kind: count for kind, count in kinds.items() if not kind.endswith(".parquet")})


def settled(server: AppServer, wanted: Counter[str] | None = None) -> tuple[Counter[str], float]:
    """Descriptors and MiB once nothing of closed tabs is left: by what is `wanted`, or where nothing changes for two seconds."""
    deadline, calm, last = time.monotonic() + 20, time.monotonic() + 2, descriptors(server)
    while time.monotonic() < deadline and last != wanted and (wanted or time.monotonic() < calm):
        time.sleep(0.1)
        now = descriptors(server)
        if now != last:
            last, calm = now, time.monotonic() + 2
    return last, psutil.Process(server.process.pid).memory_info().rss / 2**20


def test_descriptors_and_memory_of_closed_tabs_come_back(tmp_path: Path) -> None:
    variables = {"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"}
    with serve(ROOT / "streamlit_app.py", tmp_path, environment=variables) as server:
        asyncio.run(visits(server.url, VISITS // 3))
        before, memory = settled(server)
        grown: list[float] = []
        while len(grown) < ROUNDS and min(grown, default=MIB) >= MIB:
            asyncio.run(visits(server.url, VISITS))
            after, then = settled(server, before)
            assert after == before
            grown.append(then - memory)
            memory = then
        assert min(grown) < MIB, grown
        assert not server.errors()
