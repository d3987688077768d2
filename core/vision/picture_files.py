"""Facts of a picture's file that decide what a browser shows of it: PNG's chunks, TIFF's pages, the way up, bits a level."""

import re
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Final

from PIL import Image, TiffImagePlugin, TiffTags

from core.picture_headers import is_webp

with suppress(ImportError):  # the library does without: HEIF is then refused as a file of another kind
    from pillow_heif import register_heif_opener

    register_heif_opener()
Image.init()  # `open` with named formats looks for no others by itself

KINDS: Final = tuple(
    kind for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF", "ICO", "ICNS") if kind in Image.OPEN
)
"""Formats that Pillow may recognise a file as; of an icon's sizes it takes the largest."""
_SHOWN: Final = (b"tRNS", b"acTL", b"fcTL", b"fdAT")
"""PNG's chunks beside the critical ones that the pixels need. Pillow is given no others: their limits and faults are not the
picture's."""
_SAID: Final = (b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"cICP", b"eXIf")
MAX_PROFILE: Final = 16 << 20
"""Bytes of an ICC profile; those of presses take 3 million."""
MAX_PAGES: Final = 1_000
"""Pages of a TIFF that are looked at."""
MAX_SCANS: Final = 100
"""Scans of a JPEG; encoders write ten or so."""
MAX_FIELDS: Final = 1_000
"""Fields of a page that are looked at."""

NEW_SUBFILE_TYPE, SUBFILE_TYPE, WIDTH, HEIGHT, BITS, PHOTOMETRIC, ORIENTATION = 254, 255, 256, 257, 258, 262, 274
for _bits in ((1, (12,)), (0, (12,)), (0, (16,))):  # as TIFF 6.0 has them; Pillow knows some, each in one order of bytes
    for _order, _raw in ((TiffImagePlugin.II, "I;16"), (TiffImagePlugin.MM, "I;16B")):
        _mode = ("I;16", "I;12") if _bits[1] == (12,) else (_raw, _raw)
        TiffImagePlugin.OPEN_INFO.setdefault((_order, _bits[0], (1,), 1, _bits[1], ()), _mode)


@dataclass(frozen=True, kw_only=True)
class PngParts:
    """A PNG without what it says in words, and what it says of its colours.

    Attributes:
        data: the file with the chunks that make its pixels. bits: a level. chunks: the bodies of `_SAID`, sound ones.
    """

    data: bytes
    bits: int = 8
    chunks: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def profile(self) -> bytes:
        """The ICC profile; empty where there is none, or it is damaged."""
        body = self.chunks.get(b"iCCP", b"").partition(b"\0")[2]
        try:
            return zlib.decompressobj().decompress(body[1:], MAX_PROFILE)
        except zlib.error:
            return b""


def png_parts(data: bytes) -> PngParts:
    """The chunks of a PNG; whatever follows where they are damaged stays as it is, for the decoder to meet."""
    kept, chunks, at, bits = [data[:8]], dict[bytes, bytes](), 8, 8
    while at + 12 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            break
        if name == b"IHDR" and length == 13:
            bits = data[at + 16]
        if not name[0] & 0x20 or name in _SHOWN:  # a capital: critical
            kept.append(data[at:end])
        elif name in _SAID and zlib.crc32(data[at + 4 : end - 4]) == struct.unpack_from(">I", data, end - 4)[0]:
            chunks.setdefault(name, data[at + 8 : end - 4])
        at = end
    return PngParts(data=b"".join((*kept, data[at:])), bits=bits, chunks=chunks)


@dataclass(frozen=True, kw_only=True)
class TiffPage:
    """The page of a TIFF that is the picture.

    Attributes:
        data: the file with this page as its first. number: of the page, from 0 on. count: pages, up to 2.
    """

    data: bytes
    number: int = 0
    count: int = 1


def meant_page(data: bytes) -> TiffPage:
    """The first page that is neither a copy of lower resolution nor a mask by its NewSubfileType or SubfileType (TIFF 6.0).

    Where all of them are, it is the largest one. A page whose tags cannot be read ends the file.
    """
    order, large = "<" if data[:2] == b"II" else ">", data[2:4] in (b"+\0", b"\0+")
    link, offset = (8, "Q") if large else (4, "I")
    pages: list[tuple[int, dict[int, int]]] = []
    aside, most = list[bool](), MAX_PAGES
    try:
        (at,) = struct.unpack_from(order + offset, data, link)
        while at and len(pages) < most and all(at != one for one, _tags in pages):
            (fields,) = struct.unpack_from(order + ("Q" if large else "H"), data, at)
            first, size = (at + 8, 20) if large else (at + 2, 12)
            starts = range(first, first + size * min(fields, MAX_FIELDS), size)
            tags = dict(_number(data, start, order, value=start + size - (8 if large else 4)) for start in starts)
            pages.append((at, tags))
            aside.append(bool(tags.get(NEW_SUBFILE_TYPE, 0) & 5 or tags.get(SUBFILE_TYPE) == 2))
            most = MAX_PAGES if all(aside) else max(2, len(pages))
            (at,) = struct.unpack_from(order + offset, data, first + size * fields)
    except struct.error:
        pass
    if len(pages) < 2:
        return TiffPage(data=data)
    areas = [tags.get(WIDTH, 0) * tags.get(HEIGHT, 0) for _at, tags in pages]
    number = areas.index(max(areas)) if all(aside) else aside.index(False)
    patched = data[:link] + struct.pack(order + offset, pages[number][0]) + data[link + struct.calcsize(offset) :]
    return TiffPage(data=patched if number else data, number=number, count=2)


def _number(data: bytes, start: int, order: str, *, value: int) -> tuple[int, int]:
    """A field's tag and its first number, where that stands in the field itself."""
    tag, kind = struct.unpack_from(order + "HH", data, start)
    form = {1: "B", 3: "H", 4: "I", 16: "Q"}.get(kind, "H")
    return tag, struct.unpack_from(order + form, data, value)[0]


def orientation(image: Image.Image, exif: bytes = b"") -> int:
    """The way up by EXIF, 2 to 8, or by TIFF's own tag; 1, upright, where it is missing, senseless or damaged.

    XMP's is not asked: browsers do not turn by it.
    """
    try:
        if isinstance(image, TiffImagePlugin.TiffImageFile):
            number = image.tag_v2.get(ORIENTATION, 1)
        else:
            tags = Image.Exif()
            tags.load(exif or image.info.get("exif", b""))
            number = tags.get(ORIENTATION, 1)
    except (SyntaxError, ValueError, TypeError, OSError, KeyError, IndexError, struct.error):
        return 1
    return int(number) if number in range(2, 9) else 1


def bits(image: Image.Image, parts: PngParts) -> int:
    """Bits of a level as the file keeps it."""
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        return max(map(int, image.tag_v2.get(BITS, (1,))))
    return int(image.info.get("bit_depth", parts.bits))


def white_is_zero(image: Image.Image) -> bool:
    """Tells whether the photometric tag of an opened TIFF says that 0 is white; Pillow minds it up to eight bits."""
    return isinstance(image, TiffImagePlugin.TiffImageFile) and image.tag_v2.get(PHOTOMETRIC, 1) == 0


def codes(image: Image.Image, parts: PngParts, data: bytes) -> tuple[int, int] | None:
    """Primaries and transfer of the colours by ITU-T H.273: a PNG's cICP, the colour box of an AVIF or HEIF; None without one."""
    if cicp := parts.chunks.get(b"cICP"):
        return (cicp[0], cicp[1]) if len(cicp) == 4 else None
    at = data.find(b"colrnclx", 0, 1 << 16) if image.format in ("AVIF", "HEIF") else -1
    if at < 0 or at + 12 > len(data):
        return None
    primaries, transfer = struct.unpack_from(">HH", data, at + 8)
    return primaries, transfer


def gamma(parts: PngParts) -> tuple[float | None, tuple[tuple[float, float], ...] | None] | None:
    """Exponent, and red, green, blue and white of a PNG, where it says them and does not say sRGB."""
    exponent, colours = parts.chunks.get(b"gAMA", b""), parts.chunks.get(b"cHRM", b"")
    if b"sRGB" in parts.chunks or (len(exponent) != 4 and len(colours) != 32):
        return None
    white, *primaries = struct.iter_unpack(">II", colours) if len(colours) == 32 else [()]
    chromaticities = tuple((x / 1e5, y / 1e5) for x, y in [*primaries, white]) if primaries else None
    return (struct.unpack(">I", exponent)[0] / 1e5 if len(exponent) == 4 else None), chromaticities


def jpeg_scans(data: bytes, *, most: int) -> int:
    """Scans of a JPEG's first picture, counted up to `most`."""
    at, scans = 2, 0
    while scans < most and (marker := _MARKER.search(data, at)) is not None and marker[1] != b"\xd9":
        at = marker.end() + (int.from_bytes(data[marker.end() : marker.end() + 2]) if marker[1] != b"\x01" else 0)
        scans += marker[1] == b"\xda"
    return scans


_MARKER: Final = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])")
"""A marker that is no restart among a scan's bits; the picture's end and 01 have no length after them."""


def largest_in_icon(image: Image.Image, data: bytes) -> int:
    """Pixels of the largest PNG in an icon, whatever its directory says; 0 elsewhere."""
    if image.format not in ("ICO", "ICNS"):
        return 0
    sides = (struct.unpack(">II", one) for one in re.findall(rb"IHDR(.{8})", data, re.DOTALL))
    return max((width * height for width, height in sides), default=0)


# -- files without a picture that can be read ---------------------------------------------------------------------------------


def is_film(data: bytes) -> bool:
    """Tells whether a file's first bytes are a film's."""
    if data[4:8] == b"ftyp":
        return not any(brand in data[8:64] for brand in _STILLS)
    return data.startswith((b"\x1a\x45\xdf\xa3", b"FLV", b"OggS", b"\x00\x00\x01\xba")) or data[8:12] == b"AVI "


def kind_of(data: bytes) -> str | None:
    """The format that a file's first bytes are of; None for no picture that is read here."""
    if is_webp(data):
        return "WEBP"
    if data.startswith(b"\x89PNG"):  # one whose line ends were changed on the way is damaged, and no other kind
        return "PNG"
    return next((kind for kind in KINDS if (known := Image.OPEN[kind][1]) is not None and known(data[:64])), None)


def is_unread(data: bytes, kind: str) -> bool:
    """Tells whether Pillow knows the format and not this way of keeping pixels; else the file is damaged."""
    try:
        Image.OPEN[kind][0](BytesIO(data), "")
    except Exception as error:
        missing = error.__cause__.args if isinstance(error.__cause__, KeyError) else ()
        # a compression that it has no name for; a missing tag has one
        return says_unread(error) or (kind == "TIFF" and any(one not in TiffTags.TAGS_V2 for one in missing))
    return False


def says_unread(error: Exception) -> bool:
    """Tells whether a decoder's error speaks of a feature rather than of damage."""
    words = str(error).lower()
    return any(word in words for word in ("unknown pixel mode", "unknown data organization", "cannot handle", "unsupported"))


_STILLS: Final = (b"avif", b"avis", b"mif1", b"msf1", b"heic", b"heix", b"heim", b"heis", b"hevc")
