"""Small files that are made to take the machine, each with what is to be said of it; and functions for orders of their own."""

import io
import struct
import time
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
from PIL import Image


@cache
def still(side: int, kind: str) -> bytes:
    quickly = {"AVIF": {"speed": 10}, "WEBP": {"method": 0}}
    Image.new("RGB", (side, side)).save(buffer := io.BytesIO(), kind, quality=10, **quickly.get(kind, {}))
    return buffer.getvalue()


def scans(side: int, count: int) -> bytes:
    """A progressive JPEG whose scans refine nothing, some bits each: every one walks over all of its blocks."""

    def segment(marker: int, body: bytes) -> bytes:
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body

    head = segment(0xDB, b"\0" + bytes([1] * 64)) + segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\x01\x11\x00")
    head += segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\xe0") + segment(0xC4, b"\x00" + bytes([1] + [0] * 15) + b"\x00")
    runs = -(-(((side + 7) // 8) ** 2) // 32_767)
    bits = ("0" + "1" * 14) * runs
    bits += "1" * (-len(bits) % 8)
    packed = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)).replace(b"\xff", b"\xff\x00")
    return b"\xff\xd8" + head + (segment(0xDA, b"\x01\x01\x00\x01\x3f\x10") + packed) * count + b"\xff\xd9"


def pages(count: int) -> bytes:
    """A TIFF of as many pages of one pixel."""
    tags = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 4), (277, 1), (278, 1), (279, 1)]
    body = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    ends = [8 + (at + 1) * (len(body) + 4) for at in range(count - 1)] + [0]
    return b"II*\0" + struct.pack("<I", 8) + b"".join(body + struct.pack("<I", end) for end in ends)


def moving(count: int) -> bytes:
    """A GIF of as many frames of one pixel."""
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff" + frame * count + b"\x3b"


TOO_MANY: Final = "8,000 x 8,000 pixels: at most 24 million"
PICTURES: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "AVIF of 64 megapixels": (lambda: still(8000, "AVIF"), TOO_MANY),
    "WebP of 64 megapixels": (lambda: still(8000, "WEBP"), TOO_MANY),
    "AVIF of 23 megapixels": (lambda: still(4800, "AVIF"), ""),
    "WebP of 23 megapixels": (lambda: still(4800, "WEBP"), ""),
    "JPEG of 1,500 scans": (lambda: scans(1024, 1500), "more than 100 scans"),
    "JPEG of 100 scans": (lambda: scans(4800, 100), ""),
    "TIFF of 60,000 pages": (lambda: pages(60_000), ""),
    "GIF of 200,000 frames": (lambda: moving(200_000), ""),
}
"""By name: the file, and part of the sentence that refuses it, "" where it is read."""


# -- functions that a pool carries out ----------------------------------------------------------------------------------------


def sleep(data: bytes, *, seconds: float) -> int:
    time.sleep(seconds)
    return len(data)


def spin(_data: bytes) -> None:
    while True:
        pass


def fill(_data: bytes, *, mib: int) -> int:
    return int(np.ones(mib << 20, np.uint8)[-1])
