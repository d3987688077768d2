"""Kinds of files that readers bring of their own, as `tests/core/damaged_files.py` damages them: others' books,
saved classes, films of other codecs, key points, checkpoints, the files of a recorded hour.
"""

import io
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import av
import numpy as np
from PIL import Image

from core import checkpoints
from core.market.book import BookError
from core.market.events import Row, Trade
from core.market.formats import conversion
from core.market.formats.tables import FormatError
from core.market.predictor import load_predictor
from core.market.store.index import list_recordings
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter
from core.signs.tracks import POOLED, features, normalised
from core.signs.video import VideoError, read_video
from lab.signs.tracked_sentences import fit_scales, read_sentences
from tests.core.file_kinds import ROOT, Examples, Kind, files
from tests.core.market.formats import test_conversion as formats
from tests.core.market.helpers import read_rows, read_trades

BOOKS: Final = ROOT / "assets" / "recordings"
CHECKPOINT: Final = "tlob_six"


@cache
def _foreign() -> dict[str, Examples]:
    """By the name of the file that is damaged: all files of its format."""
    rows, found = read_rows(BOOKS / "binance_spot_btcusdt_2024-08-08.parquet")[:60], {}
    for write in (formats.own_parquet, formats.tardis_day, formats.lobster_day):
        with tempfile.TemporaryDirectory() as folder:
            written = [(name, path.read_bytes()) for name, path in write(Path(folder), rows).items()]
        found |= {name: written for name, _ in written}
    return found


def _convert(path: Path) -> None:
    """Looked into, then converted, as an upload is."""
    others = {name: path.with_name(name) for name, _ in _foreign()[path.name]}
    for name, data in _foreign()[path.name]:
        if name != path.name:
            others[name].write_bytes(data)
    found = conversion.inspect(others)
    conversion.convert(others, path.parent / "out" / "made.parquet", market=found.market or "m")
    read_rows(path.parent / "out" / "made.parquet")


def _film(container: str, codec: str, pixels: str) -> bytes:
    data = io.BytesIO()
    with av.open(data, "w", format=container) as film:
        stream = film.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
        for step in range(8):
            picture = np.full((48, 64, 3), 20 * step, np.uint8)
            picture[step : step + 16, step : step + 16] = 255 - 20 * step
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)
    return data.getvalue()


@cache
def _films() -> Examples:
    pictures = [Image.effect_noise((64, 48), 20 + step).convert("P") for step in range(6)]
    gif = io.BytesIO()
    pictures[0].save(gif, "gif", save_all=True, append_images=pictures[1:], duration=100)
    found = [("film.gif", gif.getvalue())]
    for name, container, codec in (("webm", "webm", "libvpx"), ("mkv", "matroska", "mpeg4"), ("avi", "avi", "mpeg4")):
        found.append((f"film.{name}", _film(container, codec, "yuv420p")))
    return found


def _tracks(path: Path) -> None:
    """Key points of RWTH-BOSTON-104's form, and what the model makes of them."""
    for name, data in files("tests/fixtures/signs/boston104/*")():
        if name != path.name:
            path.with_name(name).write_bytes(data)
    sentences = read_sentences(path.parent, "train")
    scales = fit_scales(sentences)
    for sentence in sentences:
        features(normalised(sentence.tracks, scales[POOLED]))


def _checkpoint(path: Path) -> None:
    """A damaged card beside sound weights, or the other way round."""
    for name, data in files(f"assets/checkpoints/{CHECKPOINT}.*", most=10**7)():
        if name != path.name:
            path.with_name(name).write_bytes(data)
    load_predictor(CHECKPOINT, folder=path.parent)


@cache
def _hour() -> Examples:
    """The files of a recorded hour: rows, trades, events."""
    with tempfile.TemporaryDirectory() as folder:
        rows = read_rows(sorted(BOOKS.glob("*.parquet"))[0])[:80]
        with SegmentWriter(Path(folder), "BTC/USDT", key="live/binance/BTC/USDT") as writer:
            writer.add_event("start", int(rows.timestamps[0]))
            for when, levels in zip(rows.timestamps, rows.levels, strict=True):
                writer.add(Row(int(when), levels))
                writer.add_trade(Trade(price=float(levels[0]), size=1.0, side="buy", exchange_ms=int(when)))
            writer.add_event("stop", int(rows.timestamps[-1]))
        return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(Path(folder).rglob("*.parquet"))]


def _segment(damaged: Path) -> None:
    """The hour in the library, one of its files damaged."""
    root = damaged.parent / "library"
    for name, data in _hour():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damaged.read_bytes() if Path(name).name == damaged.name else data)
    for entry in list_recordings(root):
        if not entry.problem:
            read_market(entry.paths)
            for one in entry.paths:
                read_trades(one)


def _by_name(examples: Callable[[], Examples]) -> Callable[[], Examples]:
    return lambda: [(Path(name).name, data) for name, data in examples()]


UPLOADS: Final[dict[str, Kind]] = {
    "books of others": Kind(
        lambda: [(name, dict(written)[name]) for name, written in _foreign().items()], _convert, (FormatError, BookError)
    ),
    "other films": Kind(_films, lambda path: read_video(path.read_bytes(), size=48, fps=12), (VideoError,)),
    "key points": Kind(files("tests/fixtures/signs/boston104/*"), _tracks, (ValueError,)),
    "checkpoint": Kind(files(f"assets/checkpoints/{CHECKPOINT}.*", most=10**7), _checkpoint, (checkpoints.CheckpointError,)),
    "recorded hour": Kind(_by_name(_hour), _segment, (BookError,)),
}
