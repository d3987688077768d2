"""Benchmarks of what surrounds the networks: inputs, feed, step, forecasters, films and starts."""

from __future__ import annotations

import asyncio
import io
import itertools
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import orjson

from core.bench.ratio import Pair, Ratio, Work, spread
from core.market.book import FEATURES, STEP_MS
from core.market.features import transform
from core.market.feeds.books import KnownDepth, snapshot_of
from core.market.feeds.market_process import MarketProcess, MarketSettings
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.venues import make_exchange, socket_levels
from core.market.forecasters.catalogue import SHIPPED, find_forecaster
from core.market.forecasters.protocol import ForecasterError, ask, task_of
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.store.index import recordings

ROOT: Final = Path(__file__).resolve().parents[2]
SYMBOL: Final = "BTC/USDT"
DEPTH, CHANGES, MESSAGES = 1_000, 20, 500
"""Of the wire: levels a side of the first snapshot, changed levels a side in a message, messages before they begin again."""
FRAMES: Final = 120
"""Of the film."""
TURN: Final = 4
"""Steps of a session between two looks at the clock: one second."""


def window_rows(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows (count, 40) of a made-up market."""
    process, settings = MarketProcess(seed=0), MarketSettings()
    return np.stack([process.step(settings).levels[:40] for _ in range(count)])


def features() -> Pair:
    """Compares the least that a new row changes in a window's inputs with computing them all.

    The newest mid divides every price inside asinh, and the window's median is taken from every size. Kept from row to row are
    what neither changes: distances from the mid, logarithms of sizes. The flow of events and the drifts are left out.
    """
    predictor = load_predictor()
    constants = next(iter(predictor.markets.values())).constants
    window = window_rows(predictor.window)[None]
    mid = (window[..., :1] + window[..., 2:3]) / 2
    distances, sizes = window[..., ::2] - mid, np.log(window[..., 1::2])
    inputs = np.empty((*window.shape[:-1], predictor.config.features), dtype=np.float32)
    middles = (sizes.size // 2 - 1, sizes.size // 2)

    def renew() -> None:
        bps = 1e4 / (mid[..., -1:, :] * constants.price_scale_bps)
        inputs[..., : len(FEATURES) : 2] = np.arcsinh(distances * bps)
        middle = np.partition(sizes, middles, axis=None)[list(middles)].mean()
        inputs[..., 1 : len(FEATURES) : 2] = (sizes - middle) / constants.size_scale

    return Pair(candidate=renew, reference=lambda: transform(window, predictor.transform, constants))


def _wire() -> list[bytes]:
    """Changes of a book as Binance's spot market sends them, numbered from 1 on without a hole."""
    draw = np.random.default_rng(0)

    def changes(sign: int) -> list[list[str]]:
        places = draw.geometric(0.05, CHANGES)
        sizes = draw.exponential(1.0, CHANGES)
        return [[f"{60_000 + sign * 0.1 * place:.2f}", f"{size:.5f}"] for place, size in zip(places, sizes, strict=True)]

    return [
        orjson.dumps({"e": "depthUpdate", "E": 1_700_000_000_000 + 100 * n, "s": "BTCUSDT", "U": n, "u": n}
                     | {"a": changes(1), "b": changes(-1)})
        for n in range(1, MESSAGES + 1)
    ]  # fmt: skip


def _exchange() -> tuple[Any, Any]:
    """ccxt's Binance with one market, its book of `DEPTH` levels a side, and a socket's stand-in."""
    exchange = make_exchange("binance", SYMBOL)
    market = {"id": "BTCUSDT", "symbol": SYMBOL, "base": "BTC", "quote": "USDT", "type": "spot", "spot": True, "active": True}
    exchange.set_markets([exchange.safe_market_structure(market)])
    client = SimpleNamespace(url="wss://stream.binance.com/stream", subscriptions={}, resolve=lambda *_: None)
    return exchange, client


def feed() -> Pair:
    """A message of a socket to a snapshot of the program's, beside what ccxt alone does with it."""
    messages = _wire()

    def follow(*, ours: bool) -> Work:
        exchange, client = _exchange()
        limit = socket_levels("binance", {"spot": True})
        start = {
            side: [[60_000 + sign * 0.1 * place, 1.0] for place in range(1, DEPTH + 1)]
            for side, sign in (("asks", 1), ("bids", -1))
        }
        depth, coming = KnownDepth(), itertools.cycle(range(MESSAGES))

        def take() -> object:
            number = next(coming)
            if number == 0:
                exchange.orderbooks[SYMBOL] = exchange.order_book(start | {"nonce": 0, "symbol": SYMBOL}, limit)
                depth.learn(start, DEPTH)
            exchange.handle_message(client, orjson.loads(messages[number]))
            book = exchange.orderbooks[SYMBOL].limit()
            if not ours:
                return book
            depth.narrow(book, limit)
            snapshot = snapshot_of(book)
            return depth.without_unknown(snapshot) if depth.covers(snapshot) else None

        return take

    return Pair(candidate=follow(ours=True), reference=follow(ours=False))


@dataclass(frozen=True)
class _Step:
    """Processor time of a session's steps, beside the time between two steps."""

    def measure(self, seconds: float) -> Ratio:
        """Runs a recording for about so long, one second a turn, with one viewer's frames written."""
        turns = asyncio.run(self._turns(max(4, round(seconds))))
        return spread(turns, [STEP_MS] * len(turns))

    async def _turns(self, count: int) -> list[float]:
        """Milliseconds of the whole process per step, turn by turn."""
        predictor = load_predictor()
        recording = recordings()[0]
        session = MarketSession(RecordingFeed(recording.paths, market=recording.market, lead=predictor.window), predictor)
        task = asyncio.create_task(session.run())
        seconds = []
        with session.frames.stream.subscribe() as viewer:

            async def past(step: int) -> None:
                """As a viewer waits: asking every few milliseconds would be counted as the step's."""
                while session.step < step:
                    viewer.changed.clear()
                    await viewer.changed.wait()

            await past(predictor.window + TURN)
            for _ in range(count):
                first, used = session.step, time.process_time()
                await past(first + TURN)
                seconds.append((time.process_time() - used) * 1e3 / (session.step - first))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seconds


def a_step() -> _Step:
    """A session's steps, beside the time between two of them."""
    return _Step()


def peers() -> Pair:
    """All shipped forecasters that can be loaded, and TLOB, beside TLOB alone, on one new window."""
    predictor = load_predictor()
    entry = next(iter(predictor.markets.values()))
    task = task_of(predictor, entry, entry.name)
    windows = np.lib.stride_tricks.sliding_window_view(window_rows(predictor.window + 63), predictor.window, axis=0)
    coming, beside = (itertools.cycle(np.ascontiguousarray(windows.transpose(0, 2, 1))) for _ in range(2))
    answers = {}
    for name in SHIPPED:
        with suppress(ForecasterError):  # LightGBM is an extra
            answers[name] = find_forecaster(name, task)

    def all_of_them() -> None:
        window = next(coming)[None]
        tlob = predictor.predict(window, entry).probabilities
        for name, forecaster in answers.items():
            ask(forecaster, name, np.zeros(1, np.int64), window, task, tlob=tlob)

    return Pair(candidate=all_of_them, reference=lambda: predictor.predict(next(beside)[None], entry))


def film() -> Pair:
    """A film of `FRAMES` frames from its bytes to glosses, beside decoding its pictures alone."""
    import av

    from core.signs import recognition, video
    from core.signs.recogniser import load_recogniser

    recogniser = load_recogniser("iiga_digits")
    data = _film(round(recogniser.fps))

    def decode() -> int:
        with av.open(io.BytesIO(data), "r") as container:
            return sum(frame.to_ndarray(format="rgb24").shape[0] for frame in container.decode(video=0))

    def recognise() -> object:
        footage = video.read_video(data, size=recogniser.image_size, fps=recogniser.fps)
        return recognition.read(recogniser, footage.frames, footage.seconds)

    return Pair(candidate=recognise, reference=decode, long=True)


def _film(rate: int) -> bytes:
    """H.264, 640 by 480 as a telephone's small film, with something in it that moves."""
    import av

    file = io.BytesIO()
    rows, columns = np.mgrid[:480, :640]
    with av.open(file, "w", format="mp4") as container:
        stream: Any = container.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        for number in range(FRAMES):
            at = 160 + 2.5 * number
            picture = np.stack([rows % 256, columns % 256, np.hypot(rows - 240, columns - at) % 256], axis=-1).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return file.getvalue()


def importing() -> Pair:
    """The import of a model beside that of torch, each in a process of its own."""

    def python(code: str) -> Work:
        return lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    return Pair(candidate=python("import core.models.tlob"), reference=python("import torch"), long=True)


def starting() -> Pair:
    """`streamlit run` to the first answer, of the app beside an empty script."""
    empty = Path(tempfile.mkdtemp(prefix="bench_")) / "empty.py"
    empty.write_text("import streamlit\n", encoding="utf-8")

    def start(script: Path) -> Work:
        def run() -> None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [
                sys.executable,
                "-m",
                "streamlit",
                "run",
                str(script),
                "--server.headless",
                "true",
                "--server.port",
                str(port),
            ]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen([*command, "--server.address", "127.0.0.1"], cwd=ROOT, **quiet) as process:  # type: ignore[call-overload]
                try:
                    _wait_for(f"http://127.0.0.1:{port}/", process)
                finally:
                    process.terminate()

        return run

    return Pair(candidate=start(ROOT / "streamlit_app.py"), reference=start(empty), long=True)


def _wait_for(address: str, process: subprocess.Popen[bytes], patience_s: float = 60.0) -> None:
    """Until the address answers.

    Raises:
        RuntimeError: where the process ends before, or it takes too long.
    """
    end = time.monotonic() + patience_s
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.01)
    raise RuntimeError(f"{address} did not answer within {patience_s:.0f} s")
