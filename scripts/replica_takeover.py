"""`python -m scripts.replica_takeover WIRE`: two servers share a market through Redis behind nginx, and the leader is killed.

WIRE is a wire capture as `tests/core/market/feeds/binance_server.py` reads it; a local exchange replays it at its own pace, each
message in the middle of a 250 ms step, so that every process makes the same rows of it unless the machine is too busy. A third
server follows the market by itself. Of the ledgers of the two it is checked that no step was predicted twice, that every row is a
book that the venue had, that every prediction follows from rows and weights, and that it is the third's where both read the same
window. Needs redis-server and nginx; takes about three minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import aiohttp
import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg

from core.market.book import STEP_MS
from core.market.ledger.recomputation import known_predictors
from core.market.ledger.verification import MarketLedger, verify
from tests.core.market.feeds.binance_server import BinanceServer, read_wire

ROOT = Path(__file__).resolve().parents[1]
RUN_EVERY_S = 5.0
TOKEN = secrets.token_urlsafe()
PATCH = """
import os
from core.market.feeds import venues
real = venues.make_exchange
def make_exchange(exchange, symbol=None, configure=None):
    def local(made):
        made.enableRateLimit = False
        web, socket = (f"{kind}://127.0.0.1:{os.environ['LOCAL_EXCHANGE']}" for kind in ("http", "ws"))
        api = made.urls["api"]
        api["public"], api["fapiPublic"] = f"{web}/api/v3", f"{web}/fapi/v1"
        api["ws"]["spot"], api["ws"]["linear"] = f"{socket}/stream/ws", f"{socket}/ws"
    return real(exchange, symbol, local if symbol else configure)
venues.make_exchange = make_exchange
"""
"""A `sitecustomize` that points ccxt's Binance at the local exchange."""


@dataclass
class Replica:
    """One server: its address, its ledger, its process."""

    name: str
    port: int
    ledger: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def options() -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("wire", type=Path)
    p.add_argument("--port", type=int, default=8551, help="the first of six ports in a row (default: %(default)s)")
    p.add_argument("--before", type=float, default=60, help="seconds until the leader is killed (default: %(default)s)")
    p.add_argument("--after", type=float, default=50, help="seconds from then on (default: %(default)s)")
    return p.parse_args()


async def replay(exchange: BinanceServer) -> None:
    """Send the capture at its own pace, each step's messages 100 ms after the step began."""
    first: int | None = None
    began = time.time()
    while not exchange.exhausted:
        message = exchange.wire.after[exchange.next]
        first = first if first is not None else message["E"]
        due = began + (message["E"] - first) / 1e3
        due = (due * 1e3 // STEP_MS * STEP_MS + 100) / 1e3
        if (wait := due - time.time()) > 0:
            await asyncio.sleep(wait)
        await exchange.send_next()


@contextlib.contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process until the block ends."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def nginx_configuration(folder: Path, listen: int, ports: tuple[int, int]) -> Path:
    """That of deploy/, on loopback and as a plain user."""
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("app1:8501", f"127.0.0.1:{ports[0]}").replace("app2:8501", f"127.0.0.1:{ports[1]}")
    text = re.sub(r"listen \d+;", f"listen 127.0.0.1:{listen};", text)
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    text = text.replace("http {", f"http {{\naccess_log off;\n{temporary}")
    path = folder / "nginx.conf"
    path.write_text(f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n{text}", encoding="utf-8")
    return path


async def number(client: aiohttp.ClientSession, replica: Replica, name: str) -> float:
    """A sum over a metric's lines; NaN where the server does not answer."""
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with client.get(
            f"{replica.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=aiohttp.ClientTimeout(total=2)
        ) as answer:
            lines = (await answer.text()).splitlines()
            return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{name}(_total)?\{{", line))
    return float("nan")


async def until(condition: object, seconds: float, what: str) -> float:
    """Seconds until an asynchronous condition holds."""
    began = time.monotonic()
    while not await condition():  # type: ignore[operator]
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        await asyncio.sleep(0.05)
    return time.monotonic() - began


def checked(folder: Path) -> MarketLedger:
    """A ledger's one market, recomputed."""
    (market,) = verify(folder, known_predictors()).markets
    if market.told is None:
        raise SystemExit(f"the ledger {folder.name} does not hold: {market.difference}")
    return market


def compare(group: list[Path], alone: Path, history: set[bytes]) -> dict[str, object]:
    """The ledgers of the servers that share against that of the one that does not, and against the venue's own books."""
    parts, other = [checked(folder) for folder in group], checked(alone)
    told = [market.told for market in parts if market.told is not None]
    rows = [one.rows.take(~one.lost) for one in told]
    spans = sorted((int(one.timestamps[0]), int(one.timestamps[-1])) for one in rows if len(one.timestamps))
    row_times = np.concatenate([one.timestamps for one in rows])
    assert other.told is not None
    of_other = {int(other.told.rows.timestamps[at]): i for i, at in enumerate(other.told.at)}
    times, apart, same = list[int](), list[float](), 0
    for one in told:
        for i, at in enumerate(one.at.tolist()):
            times.append(when := int(one.rows.timestamps[at]))
            if (j := of_other.get(when)) is not None:
                same += 1
                if np.array_equal(one.rows.levels[at], other.told.rows.levels[other.told.at[j]]):
                    apart.append(float(np.abs(one.probabilities[i] - other.told.probabilities[j]).max()))
    best = {np.frombuffer(book)[:4].tobytes() for book in history}
    return {
        "predicted by each": [len(one.at) for one in told],
        "predicted alone": len(other.told.at),
        "steps predicted twice": len(times) - len(set(times)),
        "compared": same,
        "with another best level": same - len(apart),
        "largest difference of a probability": max(apart, default=None),
        "rows of each": [len(one.timestamps) for one in rows],
        "rows in two ledgers": len(row_times) - len(np.unique(row_times)),
        "rows that the venue never had": sum(level.tobytes() not in best for one in rows for level in one.levels),
        "seconds without a row": [(later[0] - earlier[1]) / 1e3 for earlier, later in pairwise(spans)],
        "recomputed": [[market.recomputed, market.rows] for market in [*parts, other]],
        "late": [market.late for market in [*parts, other]],
    }


class Visitor:
    """A visitor of the live page without a browser: its script runs every few seconds, which keeps the feed running.

    Attributes:
        answers: messages received since the newest connection.
    """

    def __init__(self, client: aiohttp.ClientSession, address: str) -> None:
        self._client, self._address, self.answers = client, address, 0
        self.task = asyncio.create_task(self._visit())

    async def _visit(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
                await self._connect()
            await asyncio.sleep(0.5)

    async def _connect(self) -> None:
        self.answers = 0
        run = BackMsg()
        run.rerun_script.query_string = "source=live&ex=binance&sym=BTC%2FUSDT"
        address = f"{self._address}/_stcore/stream".replace("http", "ws", 1)
        async with self._client.ws_connect(address, protocols=["streamlit"], max_msg_size=0) as socket:
            asking = asyncio.create_task(self._ask(socket, run.SerializeToString()))
            try:
                async for _message in socket:
                    self.answers += 1
            finally:
                asking.cancel()

    @staticmethod
    async def _ask(socket: aiohttp.ClientWebSocketResponse, run: bytes) -> None:
        while True:
            await socket.send_bytes(run)
            await asyncio.sleep(RUN_EVERY_S)


async def measure(o: argparse.Namespace, folder: Path) -> dict[str, object]:
    """The run; see the module."""
    redis, venue, first, second, third, front = range(o.port, o.port + 6)
    (folder / "sitecustomize.py").write_text(PATCH, encoding="utf-8")
    async with contextlib.AsyncExitStack() as stack:
        command = ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        stack.enter_context(running(command, folder / "redis.log"))
        stack.enter_context(running(["nginx", "-c", str(nginx_configuration(folder, front, (first, second)))], folder / "n.log"))
        exchange = await stack.enter_async_context(BinanceServer(read_wire(o.wire), port=venue))
        replicas = []
        for name, port in (("one", first), ("two", second), ("alone", third)):
            ledger = folder / name
            environment = {"PYTHONPATH": f"{folder}:{ROOT}", "LOCAL_EXCHANGE": str(venue), "OBSERVATORY_LEDGER": str(ledger)}
            environment["OBSERVATORY_TOKEN"] = TOKEN
            if name != "alone":
                environment["OBSERVATORY_REDIS"] = f"redis://127.0.0.1:{redis}/0"
            command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", str(port)]
            process = stack.enter_context(running(command, folder / f"{name}.log", OMP_NUM_THREADS="1", **environment))
            replicas.append(Replica(name, port, ledger, process))
        client = await stack.enter_async_context(aiohttp.ClientSession())
        one, two, alone = replicas

        for replica in replicas:

            async def answers(replica: Replica = replica) -> bool:
                with contextlib.suppress(aiohttp.ClientError):
                    async with client.get(f"{replica.url}/healthz") as answer:
                        return answer.status == 200
                return False

            await until(answers, 90, f"the start of {replica.name}")
        through = Visitor(client, f"http://127.0.0.1:{front}")
        visitors = [through, Visitor(client, alone.url)]
        stack.callback(lambda: [visitor.task.cancel() for visitor in visitors])

        async def follows() -> bool:
            return len(exchange.sockets) >= 2

        await until(follows, 60, "the first connections")
        exchange.start_history()
        stack.callback(asyncio.create_task(replay(exchange)).cancel)

        async def led() -> bool:
            return any([(await number(client, replica, "observatory_leads")) == 1 for replica in (one, two)])

        await until(led, 30, "the first lease")
        leader, reader = (one, two) if await number(client, one, "observatory_leads") == 1 else (two, one)
        visitors.append(Visitor(client, reader.url))
        await asyncio.sleep(o.before)
        sockets = exchange.connections
        result: dict[str, object] = {
            "connections to the venue while one led": sockets,
            "predictions of the reader": await number(client, reader, "observatory_predictions"),
            "steps": [await number(client, replica, "observatory_steps") for replica in replicas],
        }
        steps = await number(client, reader, "observatory_steps")
        leader.process.kill()
        killed = time.monotonic()

        async def leads() -> bool:
            return await number(client, reader, "observatory_leads") == 1

        result["seconds to the lease"] = round(await until(leads, 30, "the takeover"), 2)

        async def goes_on() -> bool:
            return await number(client, reader, "observatory_steps") > steps + 1

        await until(goes_on, 30, "the first row")
        result["seconds to the first row"] = round(time.monotonic() - killed, 2)

        async def answered() -> bool:
            return through.answers > 0

        result["seconds to the page by nginx"] = round(time.monotonic() - killed + await until(answered, 60, "the page"), 2)
        await asyncio.sleep(o.after)
        history = {book.tobytes() for _, book in exchange.history}
    result |= await asyncio.to_thread(compare, [one.ledger, two.ledger], alone.ledger, history)
    return result


def main() -> None:
    """Measure and print."""
    o = options()
    for needed in ("redis-server", "nginx"):
        if shutil.which(needed) is None:
            sys.exit(f"{needed} is not installed: apt-get install {needed}")
    folder = Path(tempfile.mkdtemp())
    print(f"logs and ledgers in {folder}")
    print(json.dumps(asyncio.run(measure(o, folder)), indent=1))


if __name__ == "__main__":
    main()
