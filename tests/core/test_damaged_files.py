"""Whatever is damaged in a file of any kind that the app reads, reading it ends with the error that says so.

Among them those that readers bring of their own: others' books, films of other codecs, key points, checkpoints, a recorded hour.
"""

import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import av
import numpy as np
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from PIL import Image

from core import checkpoints
from core.market.book import BookError
from core.market.events import Row, Trade
from core.market.formats import conversion
from core.market.formats.tables import FormatError
from core.market.predictor import load_predictor
from core.market.store.index import list_recordings
from core.market.store.rows import read_market
from core.market.store.writer import SegmentWriter, restore_recordings
from core.signs.recogniser import load_recogniser
from core.signs.tracks import POOLED, features, normalised
from core.signs.video import VideoError, read_video
from core.vision.pictures import PictureError, decode
from lab.signs.tracked_sentences import fit_scales, read_sentences
from lab.vision.idx import IdxError, read_idx
from tests.core.market.formats import test_conversion as formats
from tests.core.market.helpers import read_rows, read_trades

ROOT: Final = Path(__file__).resolve().parents[2]

Examples = list[tuple[str, bytes]]
"""Names and contents."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: real examples, how it is read, and the errors that reading may raise."""

    examples: Callable[[], Examples]
    read: Callable[[Path], object]
    errors: tuple[type[Exception], ...]


def files(*patterns: str, most: int = 400_000) -> Callable[[], Examples]:
    """Files of the project as examples, those of less than `most` bytes."""

    @cache
    def read() -> Examples:
        paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.stat().st_size < most)
        return [(path.name, path.read_bytes()) for path in paths]

    return read


RECORDINGS: Final = ROOT / "assets" / "recordings"

Edit = tuple[str, float, int, bytes]
"""What is done, where (a share of the file), over how many bytes, and with which bytes."""


@cache
def _csv() -> list[tuple[str, bytes]]:
    frame = pq.read_table(sorted(RECORDINGS.glob("*.parquet"))[0]).to_pandas()[:60]
    return [("book.csv", frame.to_csv(index=False).encode())]


@cache
def _pictures() -> list[tuple[str, bytes]]:
    image = Image.effect_mandelbrot((90, 70), (-2, -1, 1, 1), 20).convert("RGB")
    found = []
    for ending in ("png", "jpeg", "webp", "gif", "bmp", "tiff"):
        data = io.BytesIO()
        image.save(data, ending)
        found.append((f"picture.{ending}", data.getvalue()))
    return [*found, *files("tests/fixtures/garment_photos/*.jpg", "tests/fixtures/garment_photos/*.heic")()]


def _weights(path: Path) -> None:
    """Weights whose digest is right, and a card that belongs to others."""
    card = json.loads((ROOT / "assets" / "checkpoints" / "iiga_hands.json").read_bytes())
    card |= {"name": path.stem, "weights_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(card))
    load_recogniser(path.stem, folder=path.parent)


def _trades(path: Path) -> None:
    (path.parent / "trades").mkdir(exist_ok=True)
    path.replace(path.parent / "trades" / "book.parquet")
    read_trades(path.parent / "book.parquet")


def _journal(path: Path) -> None:
    path.replace(path.with_name(".x_1.journal.part"))
    restore_recordings(path.parent)
    for one in path.parent.rglob("rows_*.parquet"):
        read_rows(one)


@cache
def _journals() -> list[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        rows = read_rows(sorted(RECORDINGS.glob("*.parquet"))[0])
        writer = SegmentWriter(Path(folder), "BTC/USDT")
        for place, (when, levels) in enumerate(zip(rows.timestamps[:120], rows.levels[:120], strict=True)):
            writer.add(Row(int(when), levels))
            if place % 40 == 39:
                writer.save_journal()
        writer.add_event("gap", int(rows.timestamps[0]))
        writer.save_journal()
        assert writer._journal is not None
        writer._journal.close()  # which merges its log into it
        (journal,) = Path(folder).glob(".*.journal.part")
        return [("journal", journal.read_bytes())]


CHECKPOINT: Final = "tlob_six"


@cache
def _foreign() -> dict[str, Examples]:
    """By the name of the file that is damaged: all files of its format."""
    rows, found = read_rows(RECORDINGS / "binance_spot_btcusdt_2024-08-08.parquet")[:60], {}
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
    kinds = (("webm", "webm", "libvpx"), ("mkv", "matroska", "mpeg4"), ("avi", "avi", "mpeg4"))
    return [("film.gif", gif.getvalue()), *((f"film.{name}", _film(*coded, "yuv420p")) for name, *coded in kinds)]


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
        rows = read_rows(sorted(RECORDINGS.glob("*.parquet"))[0])[:80]
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


KINDS: Final[dict[str, Kind]] = {
    "recording": Kind(files("assets/recordings/*.parquet"), lambda path: read_rows(path, deep=True), (BookError,)),
    "listing": Kind(files("assets/recordings/*.parquet"), lambda path: list_recordings(path.parent), ()),
    "trades": Kind(files("assets/recordings/trades/*.parquet"), _trades, (BookError,)),
    "table": Kind(_csv, read_rows, (BookError,)),
    "foreign table": Kind(_csv, lambda path: conversion.inspect({path.name: path}), (FormatError, BookError)),
    "journal": Kind(_journals, _journal, ()),
    "card": Kind(
        files("assets/checkpoints/iiga_hands.json"),
        lambda path: checkpoints.read_card(path.stem, folder=path.parent),
        (checkpoints.CheckpointError,),
    ),
    "weights": Kind(files("assets/checkpoints/iiga_hands.safetensors", most=10**6), _weights, (checkpoints.CheckpointError,)),
    "picture": Kind(_pictures, lambda path: decode(path.read_bytes(), name=path.name), (PictureError,)),
    "film": Kind(files("assets/clips/*.mp4"), lambda path: read_video(path.read_bytes(), size=48, fps=12), (VideoError,)),
    "digits": Kind(files("assets/pictures/fashion-mnist-few/*.gz"), read_idx, (IdxError,)),
    "books of others": Kind(
        lambda: [(name, dict(written)[name]) for name, written in _foreign().items()], _convert, (FormatError, BookError)
    ),
    "other films": Kind(_films, lambda path: read_video(path.read_bytes(), size=48, fps=12), (VideoError,)),
    "key points": Kind(files("tests/fixtures/signs/boston104/*"), _tracks, (ValueError,)),
    "checkpoint": Kind(files(f"assets/checkpoints/{CHECKPOINT}.*", most=10**7), _checkpoint, (checkpoints.CheckpointError,)),
    "recorded hour": Kind(lambda: [(Path(name).name, data) for name, data in _hour()], _segment, (BookError,)),
}

WAYS: Final = st.sampled_from(["flip", "cut", "insert", "remove", "repeat", "fill", "swap", "end"])
FILLINGS: Final = st.binary(min_size=1, max_size=16) | st.sampled_from(
    [b"\xff" * 8, b"\x00" * 8, b"NaN", b"-1", b"1e999", b"\x7f\xff\xff\xff"]
)
EDITS: Final = st.tuples(WAYS, st.floats(0, 1, exclude_max=True), st.integers(1, 4096), FILLINGS)
DAMAGE: Final = st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 9), st.lists(EDITS, min_size=1, max_size=6))
"""Kind, which of its examples, and what is done to it."""


def damaged(data: bytes, edits: list[Edit]) -> bytes:
    """A file after these edits."""
    for what, place, count, filling in edits:
        at = int(place * len(data))
        # a footer and a header decide what the rest means: half of all edits are near one of them
        at = at if count % 4 < 2 else max(0, len(data) - 1 - at % 512) if count % 4 == 2 else at % 64
        if what == "flip":
            data = data[:at] + bytes(one ^ filling[0] for one in data[at : at + 1]) + data[at + 1 :]
        elif what == "cut":
            data = data[:at]
        elif what == "insert":
            data = data[:at] + filling + data[at:]
        elif what == "remove":
            data = data[:at] + data[at + count :]
        elif what == "repeat":
            data = data[:at] + data[at : at + count] + data[at:]
        elif what == "fill":
            data = data[:at] + (filling * count)[:count] + data[at + count :]
        elif what == "swap":
            data = data[at:] + data[:at]
        else:
            data += filling * (count // 16)
    return data


def read_damaged(kind: str, which: int, edits: list[Edit]) -> str:
    """Read a damaged file as the app does; returns "read", or the name of the error that it may raise.

    Raises:
        Exception: any that it may not.
    """
    about = KINDS[kind]
    examples = about.examples()
    name, data = examples[which % len(examples)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(damaged(data, edits))
        try:
            about.read(path)
        except about.errors as error:
            if not str(error):
                raise RuntimeError("an error without words") from error
            return type(error).__name__
    return "read"


def test_the_undamaged_ones_are_read() -> None:
    found = {kind: {read_damaged(kind, which, []) for which in range(len(one.examples()))} for kind, one in KINDS.items()}
    assert set().union(*found.values()) == {"read"}, found


@seed(1)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(DAMAGE)
def test_a_damaged_file_ends_in_a_sentence_or_is_read(damage: tuple[str, int, list[Edit]]) -> None:
    read_damaged(*damage)
