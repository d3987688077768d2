"""Films made by PyAV for tests: what a frame shows tells which one it is."""

import io
import tempfile
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

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
    mirrored: bool = False,
    codec: str = "",
    pixels: str = "",
    weights: int = 0,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> bytes:
    """A file of these pictures, all of one size.

    Args:
        rotation: written as a display matrix, degrees as FFmpeg counts them, after left and right are exchanged where `mirrored`.
        pixels: FFmpeg's name of how pixels are kept. weights: its number of a colour space, 0 for none.
    """
    with tempfile.TemporaryDirectory() as folder:  # moving the index to the front needs a file of its own
        path = Path(folder) / "film"
        with av.open(str(path), "w", format=kind, options=container_options or {}) as container:
            stream = container.add_stream(codec or CODECS[kind], rate=fps, options=options or {})
            if rotation or mirrored:
                stream.set_display_rotation(rotation, hflip=mirrored)
            stream.pix_fmt = pixels or ("rgb8" if kind == "gif" else "yuv420p")
            stream.codec_context.colorspace = weights or 2
            _encode(container, stream, pictures, weights)
        return path.read_bytes()


def films(tracks: Sequence[tuple[Sequence[np.ndarray], int]], *, kind: str = "matroska", seconds_of_sound: float = 0) -> bytes:
    """A file of several pictures' streams, each with its disposition, and of silence."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind) as container:
        covers = [disposition == av.stream.Disposition.attached_pic for _pictures, disposition in tracks]
        streams = [container.add_stream("mjpeg" if cover else "libx264", rate=8, options={"crf": "10"}) for cover in covers]
        audio = container.add_stream("aac", rate=16_000) if seconds_of_sound else None
        for stream, (pictures, disposition) in zip(streams, tracks, strict=True):
            stream.disposition = disposition
            stream.pix_fmt = "yuvj420p" if stream.codec_context.name == "mjpeg" else "yuv420p"
            stream.height, stream.width = pictures[0].shape[:2]
        for stream, (pictures, _disposition) in zip(streams, tracks, strict=True):
            _encode(container, stream, pictures, 0)
        if audio:
            silence(container, audio, int(seconds_of_sound * 16_000 / 1024))
    return buffer.getvalue()


def _encode(container: Any, stream: Any, pictures: Iterable[np.ndarray], weights: int) -> None:
    for number, picture in enumerate(pictures):
        if number == 0 and not stream.codec_context.is_open:
            stream.height, stream.width = picture.shape[:2]
        frame = av.VideoFrame.from_ndarray(picture, format="rgba" if picture.shape[2] == 4 else "rgb24")
        if weights:
            frame = frame.reformat(format=stream.pix_fmt, dst_colorspace={1: "ITU709", 6: "ITU601"}[weights])
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def silence(container: Any, stream: Any, frames: int) -> None:
    for _ in range(frames):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16_000
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def sound(kind: str = "mp4") -> bytes:
    """A second of silence."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind) as container:
        stream = container.add_stream("aac", rate=16_000)
        silence(container, stream, 16)
    return buffer.getvalue()
