"""Films made by PyAV for tests: what a frame shows tells which one it is."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

CODECS = {"mp4": "libx264", "mov": "libx264", "webm": "libvpx", "matroska": "libx264", "avi": "mpeg4", "gif": "gif"}


def grey(level: int, width: int, height: int) -> np.ndarray:
    return np.full((height, width, 3), level, dtype=np.uint8)


def film(
    pictures: Iterable[np.ndarray],
    *,
    kind: str = "mp4",
    fps: Fraction | int = 10,
    rotation: int = 0,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> bytes:
    """A file of these pictures, all of one size; `rotation` is written as a display matrix, degrees as FFmpeg counts them."""
    with tempfile.TemporaryDirectory() as folder:  # moving the index to the front needs a file of its own
        path = Path(folder) / "film"
        _write(path, pictures, kind, fps, rotation, options or {}, container_options or {})
        return path.read_bytes()


def _write(
    path: Path,
    pictures: Iterable[np.ndarray],
    kind: str,
    fps: Fraction | int,
    rotation: int,
    options: dict[str, str],
    container_options: dict[str, str],
) -> None:
    with av.open(str(path), "w", format=kind, options=container_options) as container:
        stream = container.add_stream(CODECS[kind], rate=fps, options=options)
        for number, picture in enumerate(pictures):
            if number == 0:
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "rgb8" if kind == "gif" else "yuv420p"
                if rotation:
                    stream.set_display_rotation(rotation)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def sound(kind: str = "mp4") -> bytes:
    """A second of silence."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind) as container:
        stream = container.add_stream("aac", rate=16_000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16_000
        for _ in range(16):
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()
