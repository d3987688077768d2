"""Facts of a picture or film that its first bytes or its codes say, for those who read pictures and those who read films."""

import struct
from typing import Final

from core.messages import Message, compose

HIGH_RANGE: Final = {16: "PQ", 18: "HLG"}
"""H.273's TransferCharacteristics of high dynamic range: browsers map their light to the screen's; here it is only said."""


def high_range(transfer: int) -> Message:
    """Clause on a picture of high dynamic range, by its code in `HIGH_RANGE`."""
    return compose(
        "high dynamic range ({curve}) taken as ordinary levels: a browser shows other colours", curve=HIGH_RANGE[transfer]
    )


def is_webp(data: bytes) -> bool:
    """Tells whether a file begins as a WebP, cut off or not."""
    return data[:4] == b"RIFF" and b"WEBP".startswith(data[8:12])


def is_animated(data: bytes) -> bool:
    """Tells whether a PNG or a WebP says that it holds several frames."""
    if is_webp(data):
        return data[12:16] == b"VP8X" and len(data) > 20 and bool(data[20] & 2)
    return data.startswith(b"\x89PNG") and b"acTL" in data[: max(0, data.find(b"IDAT"))]


def webp_size(data: bytes) -> tuple[int, int]:
    """Width and height by a WebP's header; (0, 0) where it has none. Pillow makes room for the pixels before it says them."""
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L" and len(data) >= 25:
        packed = int.from_bytes(data[21:25], "little")
        return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0
