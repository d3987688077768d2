"""Samples videos and sets of pictures into frames of a model's size and rate, within bounds on memory and time.

A video is decoded frame by frame; only frames that are sampled are converted, already small, so that a 4K film costs no more
memory than a short clip. Reading seeks to the start and ends at `most` frames or when time is out; `Footage.ended` says which.
Files are opened without any protocol and by a list of containers: a playlist cannot make the server fetch anything.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.messages import Refusal, compose

Fit = Literal["crop", "pad"]
"""Crop: the middle square. Pad: all of the picture, black around it."""

Ended = Literal["", "most", "time", "damaged"]

SUFFIXES: Final = ("mp4", "mov", "m4v", "webm", "mkv", "avi", "gif")
MAX_FRAMES: Final = 256
PATIENCE_S: Final = 30.0
MAX_PIXELS: Final = 8192 * 8192
MAX_ASPECT: Final = 20
MAX_DAMAGE: Final = 200
"""Packets that may fail in a row before the rest of a file is given up."""

_CONTAINERS: Final = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,mpegts,mpeg,flv,ogg,asf,mp3,wav,flac,aac"
"""Sound-only containers are included so that the error can say that the file holds only sound."""

Frames = NDArray[np.uint8]


class VideoError(Refusal, ValueError):
    """A file without a readable frame; the message says what is wrong and what would be right."""


@dataclass(frozen=True, kw_only=True)
class Footage:
    """Frames of a model's size and rate, with facts about the file they were sampled from.

    Attributes:
        frames: (T, size, size, 3) uint8, RGB, upright. fps: of these frames.
        seconds: (T,) the place of each in the file, seconds from its start.
        width, height: of the file's picture, upright. source_fps: 0 where the file does not say.
        duration: seconds of the whole file, None where it does not say.
        rotation: degrees clockwise by which the file says to turn its pictures. codec: its name.
        complete: whether everything from the start asked for to the end of the file was read.
        ended: why reading ended early: "most" frames reached, "time" out, or the file is "damaged" or cut off there; empty where
            complete.
    """

    frames: Frames
    fps: float
    seconds: NDArray[np.float64]
    width: int
    height: int
    source_fps: float = 0.0
    duration: float | None = None
    rotation: int = 0
    codec: str = ""
    ended: Ended = ""

    @property
    def complete(self) -> bool:
        return not self.ended


@dataclass(kw_only=True)
class _Sampler:
    """Samples, at each tick of the model's frame rate, the frame that a player would show."""

    fps: float
    start: float
    most: int
    size: int
    fit: Fit
    seconds: list[float] = field(default_factory=list)
    frames: list[Frames] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return len(self.frames) >= self.most

    def tick(self) -> float:
        """Seconds of the next frame that is wanted."""
        return self.start + len(self.frames) / self.fps

    def add(self, frame: Any, until: float) -> None:
        """Sample a decoded frame at every tick before `until`; it is converted only where there is such a tick."""
        made: Frames | None = None
        while not self.full and self.tick() < until - 1e-6:
            made = _picture(frame, self.size, self.fit) if made is None else made
            self.seconds.append(self.tick())
            self.frames.append(made)


def read_video(
    data: bytes,
    *,
    size: int,
    fps: float,
    most: int = MAX_FRAMES,
    start: float = 0.0,
    fit: Fit = "crop",
    on_frame: Callable[[int], None] = lambda count: None,
) -> Footage:
    """Sample a film at a model's rate, for `PATIENCE_S` at most.

    A film with fewer frames a second shows each for as long as a player would; a single picture gives one frame.

    Args:
        data: the file. size: height and width of a frame. fps: frames a second to sample. most: frames to read.
        start: seconds into the film.
        on_frame: called with the number of frames sampled so far.

    Raises:
        VideoError: for a file without frames.
        ValueError: for a size, rate or count that is not above 0.
    """
    if size < 1 or fps <= 0 or most < 1 or start < 0:
        raise ValueError(f"size, fps and most must be above 0 and start 0 or more, not {size}, {fps}, {most} and {start}")
    if not data:
        raise VideoError(compose("the file is empty: choose one that holds a video"))
    with _opened(data) as container:
        stream = _picture_stream(container)
        duration = _duration(container, stream)
        if duration is not None and start >= max(duration, 1e-3):
            raise VideoError(
                "the video is {duration:.1f} s long: start before its end, not at {start:g} s", duration=duration, start=start
            )
        if start:
            with contextlib.suppress(av.error.FFmpegError):
                container.seek(int(start * av.time_base), backward=True)
        sampler = _Sampler(fps=fps, start=start, most=most, size=size, fit=fit)
        reading = _Reading(stream=stream, rate=float(stream.average_rate or stream.guessed_rate or 0))
        last, ended = _sample(sampler, reading, container, duration, on_frame)
        rotation = -int(last.rotation) % 360
        width, height = (last.height, last.width) if rotation % 180 else (last.width, last.height)
        return Footage(
            frames=np.stack(sampler.frames),
            fps=fps,
            seconds=np.array(sampler.seconds),
            width=width,
            height=height,
            source_fps=reading.rate,
            duration=duration,
            rotation=rotation,
            codec=stream.codec_context.name,
            ended=ended,
        )


def _sample(
    sampler: _Sampler, reading: _Reading, container: Any, duration: float | None, on_frame: Callable[[int], None]
) -> tuple[Any, Ended]:
    """Fill the sampler; the last frame that was decoded, and why reading ended early."""
    deadline = time.monotonic() + PATIENCE_S
    held: tuple[Any, float] | None = None  # a frame is shown until the next one, and sampled once that is known
    ended: Ended = ""
    for frame, at in reading.frames(container):
        if held is not None:
            sampler.add(held[0], until=at)
        held = frame, at
        if sampler.full or time.monotonic() > deadline:
            ended = "most" if sampler.full else "time"
            break
        on_frame(len(sampler.frames))
    if held is None:
        raise VideoError(compose("no picture of the video can be decoded: the file is damaged or cut off; send it again"))
    last, at = held
    rate = reading.rate
    if not ended:
        shown = float(last.duration * last.time_base) if last.duration and last.time_base else 1 / rate if rate else 0.0
        sampler.add(last, until=at + (shown if reading.count > 1 else 0.0))
        if not sampler.frames:
            sampler.add(last, until=sampler.start + 1e-3)
        if reading.broken or (duration is not None and rate and at < duration - max(0.5, 3 / rate)):
            ended = "damaged"
        if sampler.full and duration is not None and sampler.tick() < duration - 1e-3:
            ended = "most"
    if not sampler.frames:
        raise VideoError(
            "no frame was decoded within {patience_s:g} s: send a video with fewer pixels or a later start", patience_s=PATIENCE_S
        )
    return last, ended


def of_pictures(pictures: Iterable[Frames], *, size: int, fps: float, hold: int = 1, fit: Fit = "crop") -> Footage:
    """A set of pictures as a clip: each shown for `hold` frames, in the order given.

    Args:
        pictures: (height, width, 3) each, upright, as `core.vision.pictures` decodes them.

    Raises:
        VideoError: where there is none, or they are more than `MAX_FRAMES` frames, or one is too narrow.
        ValueError: as `read_video`.
    """
    if size < 1 or fps <= 0 or hold < 1:
        raise ValueError(f"size, fps and hold must be above 0, not {size}, {fps} and {hold}")
    frames: list[Frames] = []
    width = height = 0
    for picture in pictures:
        if len(frames) + hold > MAX_FRAMES:
            raise VideoError("these are more than {most} frames: choose fewer pictures or hold each shorter", most=MAX_FRAMES)
        height, width = picture.shape[:2]
        _check_size(width, height)
        method = Image.Resampling.BOX if min(width, height) > size else Image.Resampling.BILINEAR
        small = Image.fromarray(picture).resize(_scaled(width, height, size, fit), method)
        frames += [_square(np.asarray(small), size)] * hold
    if not frames:
        raise VideoError(compose("there is no picture: choose one or more"))
    return Footage(
        frames=np.stack(frames),
        fps=fps,
        seconds=np.arange(len(frames)) / fps,
        width=width,
        height=height,
        duration=len(frames) / fps,
    )


@contextlib.contextmanager
def _opened(data: bytes) -> Iterator[Any]:
    options = {"format_whitelist": _CONTAINERS, "protocol_whitelist": ""}
    try:
        container = av.open(io.BytesIO(data), mode="r", container_options=options, metadata_errors="replace")
    except (av.error.FFmpegError, ValueError) as error:
        if b"ftyp" in data[:32]:
            why = compose("the file is cut off: its index, which stands at its end, is missing; send the whole file")
            raise VideoError(why) from error
        raise VideoError(compose("this is not a video that can be read: send mp4, mov, webm, mkv, avi or gif")) from error
    with container:
        yield container


def _picture_stream(container: Any) -> Any:
    streams = [one for one in container.streams.video if not one.disposition & av.stream.Disposition.attached_pic]
    if not streams:
        if container.streams.audio:
            raise VideoError(compose("the file holds only sound: send one with a picture"))
        raise VideoError(compose("the file holds no picture: send one with a picture"))
    stream = streams[0]
    context = stream.codec_context
    if context is None:
        raise VideoError(compose("the video's codec is not known here: send H.264, HEVC, VP8, VP9, AV1 or gif"))
    _check_size(context.width, context.height)
    context.thread_type = "SLICE"  # frame threads would hold a 4K picture each
    return stream


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise VideoError("a picture has {width} x {height} pixels: up to 8192 x 8192 can be read", width=width, height=height)
    if width and height and max(width, height) > MAX_ASPECT * min(width, height):
        raise VideoError(
            "a picture of {width} x {height} shows no hand: its sides may differ up to 20-fold", width=width, height=height
        )


def _duration(container: Any, stream: Any) -> float | None:
    """Seconds, by the picture's own note or the file's."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration else None


@dataclass(kw_only=True)
class _Reading:
    """Decodes a stream and skips damaged packets."""

    stream: Any
    rate: float
    count: int = 0
    broken: bool = False
    """True where the file ended in damage."""

    def frames(self, container: Any) -> Iterator[tuple[Any, float]]:
        """Decoded frames with their seconds from the file's start, rising."""
        first = float((self.stream.start_time or 0) * (self.stream.time_base or Fraction(1)))
        before, in_a_row = -np.inf, 0
        packets = container.demux(self.stream)
        while True:
            try:
                packet = next(packets)
                decoded = packet.decode()
                in_a_row = 0
                self.broken = False
            except StopIteration:
                return
            except av.error.EOFError:
                return
            except av.error.FFmpegError:
                self.broken = True
                in_a_row += 1
                if in_a_row > MAX_DAMAGE:
                    return
                continue
            for frame in decoded:
                at = frame.time - first if frame.time is not None else self.count / (self.rate or 25.0)
                if at <= before:  # a file may repeat or go back: time does not
                    continue
                before = at
                self.count += 1
                _check_size(frame.width, frame.height)
                yield frame, at


def _picture(frame: Any, size: int, fit: Fit) -> Frames:
    """A decoded frame, small, square and upright."""
    width, height = frame.width, frame.height
    aspect = frame.sample_aspect_ratio if hasattr(frame, "sample_aspect_ratio") else None
    if aspect:
        width = max(1, round(width * float(aspect)))
    across, down = _scaled(width, height, size, fit)
    small = frame.reformat(width=across, height=down, format="rgb24", interpolation="AREA")
    turned = np.rot90(small.to_ndarray(), k=int(frame.rotation) // 90)  # both count anticlockwise
    return _square(np.ascontiguousarray(turned), size)


def _scaled(width: int, height: int, size: int, fit: Fit) -> tuple[int, int]:
    """Sides after which a crop or a pad to (size, size) remains."""
    side = min(width, height) if fit == "crop" else max(width, height)
    return max(1, round(width * size / side)), max(1, round(height * size / side))


def _square(picture: Frames, size: int) -> Frames:
    """The middle (size, size) of a picture, black where it is smaller."""
    square = np.zeros((size, size, 3), dtype=np.uint8)
    height, width = picture.shape[:2]
    rows, columns = min(size, height), min(size, width)
    top, left = (height - rows) // 2, (width - columns) // 2
    to_row, to_column = (size - rows) // 2, (size - columns) // 2
    square[to_row : to_row + rows, to_column : to_column + columns] = picture[top : top + rows, left : left + columns]
    return square


def sheet(frames: Frames, indices: Sequence[int]) -> list[bytes]:
    """Some frames as small JPEG files, for a strip."""
    pictures = []
    for index in indices:
        buffer = io.BytesIO()
        Image.fromarray(frames[index]).save(buffer, "JPEG", quality=80)
        pictures.append(buffer.getvalue())
    return pictures
