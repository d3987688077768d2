"""Damaged files of every kind that the app reads, made of the real bundled ones, and what may come of them."""

import hashlib
import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from hypothesis import strategies as st
from PIL import Image

from core import checkpoints
from core.market.book import BookError
from core.market.events import Row
from core.market.formats import conversion
from core.market.formats.tables import FormatError
from core.market.store.index import list_recordings
from core.market.store.writer import restore_recordings
from core.signs.recogniser import load_recogniser
from core.signs.video import VideoError, read_video
from core.vision.pictures import PictureError, decode
from lab.vision.idx import IdxError, read_idx
from tests.core.damaged_uploads import UPLOADS
from tests.core.file_kinds import ROOT, Kind, files
from tests.core.market.helpers import read_rows, read_trades

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


def _listed(path: Path) -> None:
    """A listing says what is wrong with an entry; a file that it calls sound has to be readable as far as it says."""
    list_recordings(path.parent)


def _weights(path: Path) -> None:
    """Weights whose digest is right, and a card that belongs to others."""
    card = json.loads((ROOT / "assets" / "checkpoints" / "iiga_hands.json").read_bytes())
    card |= {"name": path.stem, "weights_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(card))
    load_recogniser(path.stem, folder=path.parent)


def _card(path: Path) -> None:
    checkpoints.read_card(path.stem, folder=path.parent)


def _trades(path: Path) -> None:
    (path.parent / "trades").mkdir(exist_ok=True)
    path.replace(path.parent / "trades" / "book.parquet")
    read_trades(path.parent / "book.parquet")


def _journal(path: Path) -> None:
    path.replace(path.with_name(".x_1.journal.part"))
    restore_recordings(path.parent)
    left = list(path.parent.rglob("rows_*.parquet"))
    for one in left:
        read_rows(one)


@cache
def _journals() -> list[tuple[str, bytes]]:
    from core.market.store.writer import SegmentWriter

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


KINDS: Final[dict[str, Kind]] = {
    "recording": Kind(files("assets/recordings/*.parquet"), lambda path: read_rows(path, deep=True), (BookError,)),
    "listing": Kind(files("assets/recordings/*.parquet"), _listed, ()),
    "trades": Kind(files("assets/recordings/trades/*.parquet"), _trades, (BookError,)),
    "table": Kind(_csv, read_rows, (BookError,)),
    "foreign table": Kind(_csv, lambda path: conversion.inspect({path.name: path}), (FormatError, BookError)),
    "journal": Kind(_journals, _journal, ()),
    "card": Kind(files("assets/checkpoints/iiga_hands.json"), _card, (checkpoints.CheckpointError,)),
    "weights": Kind(files("assets/checkpoints/iiga_hands.safetensors", most=10**6), _weights, (checkpoints.CheckpointError,)),
    "picture": Kind(_pictures, lambda path: decode(path.read_bytes(), name=path.name), (PictureError,)),
    "film": Kind(files("assets/clips/*.mp4"), lambda path: read_video(path.read_bytes(), size=48, fps=12), (VideoError,)),
    "digits": Kind(files("assets/pictures/fashion-mnist-few/*.gz"), read_idx, (IdxError,)),
    **UPLOADS,
}

EDITS: Final = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "remove", "repeat", "fill", "swap", "end"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 4096),
        st.one_of(
            st.binary(min_size=1, max_size=16),
            st.sampled_from([b"\xff" * 8, b"\x00" * 8, b"NaN", b"-1", b"1e999", b"\x7f\xff\xff\xff"]),
        ),
    ),
    min_size=1,
    max_size=6,
)
DAMAGE: Final = st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 9), EDITS)
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


def undamaged() -> list[str]:
    """Kinds whose examples the app does not read as they are; there should be none."""
    found: list[str] = []
    for kind, about in KINDS.items():
        for which in range(len(about.examples())):
            result: Any = read_damaged(kind, which, [])
            if result != "read":
                found.append(kind)
    return sorted(set(found))
