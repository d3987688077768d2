"""Structure of a film's file: whether its parts, by the lengths that they give, fill it up to its end."""

import struct
from typing import Final, Literal

Fault = Literal["", "cut", "damaged"]
"""Cut: the file ends before its parts do. Damaged: what stands in its middle is no part."""

_EBML_ID, _SEGMENT_ID, _CLUSTER_ID = 0x1A45DFA3, 0x18538067, 0x1F43B675
_TOP: Final = {0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B, 0x1941A469, 0x1043A770, 0x1254C367, 0xEC, 0xBF, _CLUSTER_ID}
"""Elements of a Matroska segment."""
_IN_CLUSTER: Final = {0xE7, 0x5854, 0xA7, 0xAB, 0xA3, 0xA0, 0xAF, 0xEC, 0xBF}


def fault_of(data: bytes) -> Fault:
    """The first fault of an MP4, Matroska, AVI or GIF; "" for a sound one, and for other kinds, whose parts give no lengths."""
    try:
        if data[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
            return _iso(data)
        if data.startswith(b"\x1a\x45\xdf\xa3"):
            return _matroska(data)
        if data.startswith(b"RIFF"):
            return _riff(data)
        return _gif(data) if data.startswith(b"GIF8") else ""
    except (struct.error, IndexError):
        return "cut"


def _iso(data: bytes) -> Fault:
    at = 0
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, at + 8)
        if size == 0:  # up to the end of the file
            return ""
        if size < 8 or not all(32 <= one < 127 or one == 0xA9 for one in name):
            return "damaged"
        at += size
    return "cut" if at > len(data) else ""


def _matroska(data: bytes) -> Fault:
    at, end = 0, len(data)
    inside = {_EBML_ID, _SEGMENT_ID, 0xEC}
    while at < end:
        name, at = _ebml_number(data, at, marked=True)
        size, at = _ebml_number(data, at, marked=False)
        if name == _SEGMENT_ID:
            inside = _TOP | _IN_CLUSTER
        elif name not in inside:
            return "damaged"
        if name in (_SEGMENT_ID, _CLUSTER_ID):
            if size >= 0 and at + size > end:
                return "cut"
            continue  # what stands in it follows
        if size < 0:
            return "damaged"
        at += size
    return "cut" if at > end else ""


def _ebml_number(data: bytes, at: int, *, marked: bool) -> tuple[int, int]:
    """An element's name, or its length (-1 where that is not known), and the place behind it."""
    width = 9 - data[at].bit_length()
    if width > 8:
        return 0, at + 1
    number = int.from_bytes(data[at : at + width], "big")
    if at + width > len(data):
        raise IndexError
    if not marked:
        number &= (1 << 7 * width) - 1
        number = -1 if number == (1 << 7 * width) - 1 else number
    return number, at + width


def _riff(data: bytes) -> Fault:
    at = 0
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if not all(32 <= one < 127 for one in name):
            return "damaged"
        # lists are entered where frames stand in them
        enters = name in (b"RIFF", b"LIST") and data[at + 8 : at + 12] in (b"AVI ", b"AVIX", b"movi", b"rec ")
        if enters and size and at + 8 + size > len(data):
            return "cut"
        at += 12 if enters else 8 + size + size % 2
    return "cut" if at > len(data) + 1 else ""


def _gif(data: bytes) -> Fault:
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    while at < len(data):
        mark = data[at]
        if mark == 0x3B:
            return ""
        if mark == 0x21:
            at += 2
        elif mark == 0x2C:
            flags = data[at + 9]
            at += 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
        else:
            return "damaged"
        while data[at]:
            at += 1 + data[at]
        at += 1
    return "cut"
