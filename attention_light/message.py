"""The form in which a scene travels: a head as JSON, then arrays and files."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class MessageParts:
    """Arrays and files of a message, in their order; calling it adds one and returns where that stands."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.size = 0

    def __call__(self, data: NDArray[Any] | bytes) -> dict[str, Any]:
        raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        place: dict[str, Any] = {"at": self.size, "bytes": len(raw)}
        if not isinstance(data, bytes):
            place |= {"shape": list(data.shape), "type": str(data.dtype)}
        padded = raw + b"\0" * (-len(raw) % 8)
        self.blobs.append(padded)
        self.size += len(padded)
        return place


def framed(head: Mapping[str, Any], parts: MessageParts) -> bytes:
    """One message: the length of its head as uint32, the head as JSON, then arrays and files, 8 bytes aligned."""
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return b"".join((struct.pack("<I", len(text)), text, *parts.blobs))
