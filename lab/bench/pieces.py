"""Benchmarks of what surrounds the networks: feed and films."""

import io
import itertools
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import orjson
from PIL import Image

from core.market.feeds.ccxt_books import KnownDepth, snapshot_of
from core.market.feeds.venues import make_exchange, socket_levels
from lab.bench.ratio import Pair, Work

SYMBOL: Final = "BTC/USDT"
DEPTH, CHANGES, MESSAGES = 1_000, 20, 500
"""Of the wire: levels a side of the first snapshot, changed levels a side in a message, messages before they begin again."""
FRAMES: Final = 120
"""Of the film."""


def _wire() -> list[bytes]:
    """Changes of a book as Binance's spot market sends them, numbered from 1 on without a hole."""
    draw = np.random.default_rng(0)

    def changes(sign: int) -> list[list[str]]:
        places = draw.geometric(0.05, CHANGES)
        sizes = draw.exponential(1.0, CHANGES)
        return [[f"{60_000 + sign * 0.1 * place:.2f}", f"{size:.5f}"] for place, size in zip(places, sizes, strict=True)]

    return [
        orjson.dumps(
            {"e": "depthUpdate", "E": 1_700_000_000_000 + 100 * n, "s": "BTCUSDT", "U": n, "u": n}
            | {"a": changes(1), "b": changes(-1)}
        )
        for n in range(1, MESSAGES + 1)
    ]


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
            return depth.without_unknown(snapshot) if depth.covers(snapshot.levels) else None

        return take

    return Pair(candidate=follow(ours=True), reference=follow(ours=False))


def writer() -> Pair:
    """A further token after thirteen, its maps kept, beside a sum over all bytes of the weights. Needs `make writer`."""
    import torch

    from core.words.writer import writer as shared_writer

    one = shared_writer()
    state = one.begin(one.ids("Paris is in France, Madrid is in Spain, Rome is in"))
    seen = len(state.ids)
    weights = [tensor.reshape(-1).view(torch.uint8) for tensor in one.model.state_dict().values()]
    words = [flat[: len(flat) // 8 * 8].view(torch.int64) for flat in weights]

    @torch.inference_mode()
    def token() -> object:
        for cache in state.caches:
            assert cache.keys is not None and cache.values is not None
            cache.keys, cache.values = cache.keys[:, :, :seen], cache.values[:, :, :seen]
        x = one.model.embedded(torch.tensor([[260]], device=one.placement.device))
        vectors, _maps = one.model.through(x, cache=state.caches, return_attention=True)
        return one.model.logits(vectors[0, -1:])

    return Pair(candidate=token, reference=lambda: [one.sum() for one in words])


def sight() -> Pair:
    """A photograph from its file to the first message of the stage, beside the network alone. Needs `make sight`."""
    import torch

    from core.vision import seen_samples
    from core.vision.pictures import decode
    from core.vision.sight import SIDE, normalised, sight_reader, square

    file = io.BytesIO()
    Image.fromarray(seen_samples.sample("astronaut").rgb).save(file, "JPEG", quality=90)
    data, reader = file.getvalue(), sight_reader()
    pixels, _inside = square(decode(data), SIDE)

    @torch.no_grad()
    def network() -> object:
        x = normalised(pixels).to(reader.placement.device)
        model = reader.placement.model
        return model.salience(model(x), model.grid_of(x))

    return Pair(candidate=lambda: reader.read(decode(data)).scene().packed(), reference=network)


def film() -> Pair:
    """A film of `FRAMES` frames from its bytes to glosses, beside decoding its pictures alone."""
    import av

    from core.signs import video
    from core.signs.recogniser import load_recogniser

    recogniser = load_recogniser("iiga_digits")
    data = _film(round(recogniser.fps))

    def decode() -> int:
        with av.open(io.BytesIO(data), "r") as container:
            return sum(frame.to_ndarray(format="rgb24").shape[0] for frame in container.decode(video=0))

    def recognise() -> object:
        footage = video.read_video(data, size=recogniser.image_size, fps=recogniser.fps)
        return recogniser.answer(footage.frames, footage.seconds)

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
