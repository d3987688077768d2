"""Picture files written by hand, tag by tag and chunk by chunk: independent of the library that reads them."""

import io
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[Any]


def saved(image: Image.Image | Array, kind: str, **options: Any) -> bytes:
    """By Pillow."""
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, format=kind, **options)
    return buffer.getvalue()


# -- PNG ------------------------------------------------------------------------------------------------------------------------


def chunk(name: bytes, body: bytes) -> bytes:
    """One part of a PNG file."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(pixels: Array, *before: bytes, bits: int = 8, colours: int | None = None, after: Sequence[bytes] = ()) -> bytes:
    """Levels (height, width) or (height, width, channels) of so many bits, with further chunks before and after them."""
    levels = pixels[..., None] if pixels.ndim == 2 else pixels
    height, width, channels = levels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels] if colours is None else colours
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))
    rows = b"".join(b"\0" + packed(row.reshape(-1), bits) for row in levels)
    parts = [header, *before, chunk(b"IDAT", zlib.compress(rows)), *after, chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def packed(levels: Array, bits: int, order: str = ">") -> bytes:
    """Levels one after the other, the highest bit first, filled up to a byte."""
    if bits in (8, 16, 32):
        return levels.astype(f"{order}u{bits // 8}").tobytes()
    places = np.arange(bits - 1, -1, -1)
    return np.packbits((levels[:, None].astype(np.int64) >> places) & 1).tobytes()


# -- TIFF -----------------------------------------------------------------------------------------------------------------------


def tiff(*pages: dict[int, Any], order: str = "<") -> bytes:
    """Pages of tags; a tag's value is a number, several, or bytes, and 273 are the strips' own bytes."""
    out = bytearray((b"II*\0" if order == "<" else b"MM\0*") + b"\0\0\0\0")
    link = 4
    for tags in pages:
        fields, places = [], []
        for strip in tags[273]:
            places.append(len(out))
            out += strip + b"\0" * (len(strip) % 2)
        for tag, value in sorted({**tags, 273: places, 279: [len(strip) for strip in tags[273]]}.items()):
            kind, count, body = _field(value, order, long=tag in (273, 279))
            if len(body) > 4:
                place = len(out)
                out += body + b"\0" * (len(body) % 2)
                body = struct.pack(order + "I", place)
            fields.append(struct.pack(order + "HHI", tag, kind, count) + body.ljust(4, b"\0"))
        struct.pack_into(order + "I", out, link, len(out))
        out += struct.pack(order + "H", len(fields)) + b"".join(fields)
        link = len(out)
        out += b"\0\0\0\0"
    return bytes(out)


def _field(value: Any, order: str, *, long: bool) -> tuple[int, int, bytes]:
    if isinstance(value, bytes):
        return 7, len(value), value
    values = [value] if isinstance(value, int) else list(value)
    return (4 if long else 3), len(values), struct.pack(f"{order}{len(values)}{'I' if long else 'H'}", *values)


def page(pixels: Array, *, bits: int = 8, photometric: int | None = None, order: str = "<", **further: Any) -> dict[int, Any]:
    """Tags of an uncompressed page of levels (height, width) or (height, width, channels); further tags as `t254=1`.

    With `t284=2` it keeps a plane of each channel.
    """
    levels = pixels[..., None] if pixels.ndim == 2 else pixels
    height, width, channels = levels.shape
    planes = [levels[..., one] for one in range(channels)] if further.get("t284") == 2 else [levels]
    if levels.dtype.kind == "f":
        strips = [plane.astype(f"{order}f4").tobytes() for plane in planes]
    else:
        strips = [b"".join(packed(row.reshape(-1), bits, order) for row in plane) for plane in planes]
    kind = (1 if channels < 3 else 2) if photometric is None else photometric
    tags = {256: width, 257: height, 258: [bits] * channels, 259: 1, 262: kind, 273: strips, 277: channels, 278: height}
    return tags | {int(name[1:]): value for name, value in further.items()}


# -- ICC ------------------------------------------------------------------------------------------------------------------------

DISPLAY_P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
"""Red, green and blue in XYZ under the white of 5000 K, as Apple's profile has them."""
SRGB_COLORANTS = ((0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410))
P3_OF_SRGB = np.array([(0.8225, 0.1774, 0.0), (0.0332, 0.9669, 0.0), (0.0171, 0.0724, 0.9108)])
"""Linear sRGB to linear Display P3 (CSS Color 4, section 12)."""


def light_of(levels: Array) -> NDArray[np.float64]:
    """sRGB's levels of 0 to 255 as light of 0 to 1 (IEC 61966-2-1)."""
    v = np.asarray(levels, dtype=np.float64) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def levels_of(light: Array) -> NDArray[np.uint8]:
    """The inverse of `light_of`."""
    x = np.clip(light, 0, 1)
    return np.rint(255 * np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)).astype(np.uint8)


def in_p3(rgb: Array) -> NDArray[np.uint8]:
    """sRGB's levels (height, width, 3) as Display P3's."""
    return levels_of(light_of(rgb) @ P3_OF_SRGB.T)


def profile(colorants: Sequence[Sequence[float]] | None, name: str, gamma: float | None = None) -> bytes:
    """An ICC profile (version 2) of three colorants, or of grey where None; sRGB's curve, or levels to the power `gamma`."""
    steps = np.arange(1024) / 1023
    light = light_of(255 * steps) if gamma is None else steps**gamma
    curve = b"curv" + bytes(4) + struct.pack(">I", 1024) + np.rint(65_535 * light).astype(">u2").tobytes()
    text = name.encode()
    words = b"desc" + bytes(4) + struct.pack(">I", len(text) + 1) + text + bytes(1 + 4 + 4 + 2 + 1 + 67)
    tags = {b"desc": words, b"wtpt": xyz((0.9642, 1.0, 0.8249))}
    if colorants is None:
        tags[b"kTRC"] = curve
    else:
        tags |= {kind + b"XYZ": xyz(one) for kind, one in zip((b"r", b"g", b"b"), colorants, strict=True)}
        tags |= {kind + b"TRC": curve for kind in (b"r", b"g", b"b")}
    return icc(tags, b"GRAY" if colorants is None else b"RGB ", b"XYZ ", b"mntr")


def xyz(values: Sequence[float]) -> bytes:
    """A tag of three numbers."""
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(one * 65_536) for one in values))


def icc(tags: dict[bytes, bytes], space: bytes, connection: bytes, device: bytes) -> bytes:
    """The header, the table and the tags of a profile."""
    place, table, bodies = 128 + 4 + 12 * len(tags), b"", b""
    for name, body in tags.items():
        body += bytes(-len(body) % 4)
        table += name + struct.pack(">II", place + len(bodies), len(body))
        bodies += body
    size = place + len(bodies)
    header = struct.pack(">I4sI4s4s4s", size, b"none", 0x02400000, device, space, connection)
    header += bytes(12) + b"acsp" + bytes(28) + struct.pack(">3i", 63_190, 65_536, 54_061) + bytes(48)
    return header + struct.pack(">I", len(tags)) + table + bodies


def press_profile(inks: Sequence[Sequence[float]]) -> bytes:
    """A profile of four inks: Lab (L, a, b) of each of the 16 ways to print them or not, the last ink changing first."""
    ends = struct.pack(">HH", 0, 65_535)
    lab = np.array([(one[0] / 100 * 65_280, (one[1] + 128) * 256, (one[2] + 128) * 256) for one in inks])
    matrix = struct.pack(">9i", 65_536, 0, 0, 0, 65_536, 0, 0, 0, 65_536)
    table = b"mft2" + bytes(4) + bytes((4, 3, 2, 0)) + matrix + struct.pack(">HH", 2, 2)
    table += ends * 4 + np.rint(lab).clip(0, 65_535).astype(">u2").tobytes() + ends * 3
    words = b"desc" + bytes(4) + struct.pack(">I", 6) + b"press\0" + bytes(4 + 4 + 2 + 1 + 67)
    return icc({b"desc": words, b"wtpt": xyz((0.9642, 1.0, 0.8249)), b"A2B0": table}, b"CMYK", b"Lab ", b"prtr")
