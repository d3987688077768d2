"""Samples videos and sets of pictures into frames of a model's size and rate, within bounds on memory and time.

A film is what a browser shows of it (D41): its default stream, in square pixels, upright and unmirrored by its display matrix, on
white where it is clear; what was done is said in `Footage.done`. How long it is says its last frame, where that was read.

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

from core import picture_headers
from core.messages import Message, Refusal, compose
from core.signs.containers import fault_of

Fit = Literal["crop", "pad"]
"""Crop: the middle square. Pad: all of the picture, black around it."""

Ended = Literal["", "most", "time", "damaged"]
Done = Literal["stream", "pixel_shape", "mirrored", "turned", "bits", "high_range", "header"]
"""Steps by which a film's pictures are changed before they are seen, and "header": that it does not hold what its header says."""

SUFFIXES: Final = ("mp4", "mov", "m4v", "webm", "mkv", "avi", "gif", "apng")
MAX_FRAMES: Final = 256
PATIENCE_S: Final = 25.0
"""Seconds by the wall and of the processor after which reading ends with what it has."""
MAX_PIXELS: Final = 24_000_000
THREADS: Final = 2
"""Threads that decode a picture's slices: each takes memory of its own."""
MAX_ASPECT: Final = 20
MAX_DAMAGE: Final = 200
"""Packets that may fail in a row before the rest of a file is given up."""
_UNSPECIFIED: Final = 2
"""FFmpeg's colour space of a film that names none."""

_CONTAINERS: Final = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,apng,mpegts,mpeg,flv,ogg,asf,mp3,wav,flac,aac"
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
        width, height: of the file's picture as it is shown. source_fps: 0 where the file does not say.
        duration: seconds up to its end where that was read, else by the file; None where it does not say.
        codec: its name.
        complete: whether everything from the start asked for to the end of the file was read, and was sound.
        ended: why reading ended early: "most" frames reached, "time" out, or the file is "damaged" or cut off there; else empty.
        damaged: seconds at which pictures before the end are missing or garbled.
        done: what was done to its pictures, each as a clause for a person, which keeps its numbers.
    """

    frames: Frames
    fps: float
    seconds: NDArray[np.float64]
    width: int
    height: int
    source_fps: float = 0.0
    duration: float | None = None
    codec: str = ""
    ended: Ended = ""
    damaged: tuple[float, ...] = ()
    done: dict[Done, Message] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.ended and not self.damaged


@dataclass(kw_only=True)
class _Sampler:
    """Samples, at each tick of the model's frame rate, the frame that a player would show."""

    fps: float
    start: float
    most: int
    size: int
    fit: Fit
    aspect: Fraction
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
            made = _picture(frame, self) if made is None else made
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
        VideoError: for a file without frames. MemoryError: where the process may not take what it needs.
        ValueError: for a size, rate or count that is not above 0.
    """
    if size < 1 or fps <= 0 or most < 1 or start < 0:
        raise ValueError(f"size, fps and most must be above 0 and start 0 or more, not {size}, {fps}, {most} and {start}")
    if not data:
        raise VideoError("the file is empty: choose one that holds a video")
    if picture_headers.is_webp(data):
        return _read_webp(data, _Sampler(fps=fps, start=start, most=most, size=size, fit=fit, aspect=Fraction(1)), on_frame)
    with _opened(data) as container:
        stream, done = _picture_stream(container)
        if start:
            with contextlib.suppress(av.error.FFmpegError):
                container.seek(int(start * av.time_base), backward=True)
        sampler = _Sampler(fps=fps, start=start, most=most, size=size, fit=fit, aspect=_pixel_aspect(container, stream))
        reading = _Reading(stream=stream, aspect=sampler.aspect, rate=float(stream.average_rate or stream.guessed_rate or 0))
        given = _duration(container, stream)
        last, ended = _sample(sampler, reading, container, on_frame)
        fault = "" if ended in ("most", "time") else fault_of(data)
        if fault == "cut" or (not ended and reading.broken):
            ended = "damaged"
        width, height = _shown_size(last, sampler.aspect)
        way = _way_up(last)
        done |= _said_of(last, way, sampler.aspect)
        if not ended and stream.duration and given is not None and abs(given - reading.end) > max(0.5, 3 / (reading.rate or 25)):
            done["header"] = compose("{shown:.1f} s long, though its header says {said:.1f} s", shown=reading.end, said=given)
        return Footage(
            frames=np.stack(sampler.frames),
            fps=fps,
            seconds=np.array(sampler.seconds),
            width=height if way.degrees % 180 else width,
            height=width if way.degrees % 180 else height,
            source_fps=reading.rate,
            duration=given if ended and (given or 0) >= reading.end else None if ended else reading.end,
            codec=stream.codec_context.name,
            ended=ended,
            damaged=tuple(sorted(set(reading.damaged))) or ((reading.gap,) if fault == "damaged" and not ended else ()),
            done=done,
        )


def _read_webp(data: bytes, sampler: _Sampler, on_frame: Callable[[int], None]) -> Footage:
    """As `read_video`, of a WebP with or without several frames, which FFmpeg does not read."""
    _check_size(*picture_headers.webp_size(data))
    try:
        with Image.open(io.BytesIO(data), formats=["WEBP"]) as image:
            reading = _WebpReading(stream=image, aspect=sampler.aspect, rate=0.0)
            last, ended = _sample(sampler, reading, None, on_frame)
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, VideoError):
            raise
        raise VideoError("no picture of the video can be decoded: the file is damaged or cut off; send it again") from error
    return Footage(
        frames=np.stack(sampler.frames),
        fps=sampler.fps,
        seconds=np.array(sampler.seconds),
        width=last.width,
        height=last.height,
        duration=None if ended else reading.end,
        codec="webp",
        ended=ended,
    )


def _sample(sampler: _Sampler, reading: _Reading, container: Any, on_frame: Callable[[int], None]) -> tuple[Any, Ended]:
    """Fill the sampler; the last frame that was decoded, and why reading ended early.

    Raises:
        VideoError: where no frame can be decoded, or the film ends before the start that was asked for.
    """
    deadlines = time.monotonic() + PATIENCE_S, time.process_time() + PATIENCE_S
    held: tuple[Any, float] | None = None  # a frame is shown until the next one, and sampled once that is known
    ended: Ended = ""
    for frame, at in reading.frames(container, sampler.start):
        if held is not None:
            sampler.add(held[0], until=at)
        held = frame, at
        if sampler.full or time.monotonic() > deadlines[0] or time.process_time() > deadlines[1]:
            ended = "most" if sampler.full else "time"
            break
        on_frame(len(sampler.frames))
    if held is None:
        raise VideoError("no picture of the video can be decoded: the file is damaged or cut off; send it again")
    last, at = held
    rate = reading.rate
    shown = float(last.duration * last.time_base) if last.duration and last.time_base else 1 / rate if rate else 0.0
    reading.end = at + shown
    if not ended:
        if sampler.start >= max(reading.end, 1e-3):
            raise VideoError(
                "the video is {duration:.1f} s long: start before its end, not at {start:g} s",
                duration=reading.end,
                start=sampler.start,
            )
        sampler.add(last, until=at + (shown if reading.count > 1 else 0.0))
        if not sampler.frames:
            sampler.add(last, until=sampler.start + 1e-3)
        if sampler.full and sampler.tick() < reading.end - 1e-3:
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
        raise VideoError("there is no picture: choose one or more")
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
    except MemoryError:
        raise
    except (av.error.FFmpegError, ValueError) as error:
        if b"ftyp" in data[:32]:
            why = compose("the file is cut off: its index, which stands at its end, is missing; send the whole file")
            raise VideoError(why) from error
        raise VideoError("this is not a video that can be read: send mp4, mov, webm, mkv, avi or gif") from error
    with container:
        yield container


def _picture_stream(container: Any) -> tuple[Any, dict[Done, Message]]:
    """The stream that a player shows by itself, and a clause on it where there are several; a cover is no film."""
    aside = av.stream.Disposition.attached_pic | av.stream.Disposition.timed_thumbnails
    streams = [one for one in container.streams.video if not one.disposition & aside]
    if not streams:
        raise VideoError("the file holds no picture: send one with a picture")
    stream = next((one for one in streams if one.disposition & av.stream.Disposition.default), streams[0])
    context = stream.codec_context
    if context is None:
        raise VideoError("the video's codec is not known here: send H.264, HEVC, VP8, VP9, AV1 or gif")
    _check_size(context.width, context.height)
    # Frame threads would hold a 4K picture each; slice threads of H.264 do not say that a picture is garbled.
    context.thread_type, context.thread_count = ("NONE" if context.name == "h264" else "SLICE"), THREADS
    if len(streams) == 1:
        return stream, {}
    clause = compose("picture stream {number} of {count}", number=streams.index(stream) + 1, count=len(streams))
    return stream, {"stream": clause}


def _pixel_aspect(container: Any, stream: Any) -> Fraction:
    """Width of a pixel over its height; 1 where the file does not say, and of a GIF, as browsers have it."""
    aspect = stream.sample_aspect_ratio
    if not aspect or "gif" in container.format.name or not 1 / MAX_ASPECT <= aspect <= MAX_ASPECT:
        return Fraction(1)
    return Fraction(aspect)


def _shown_size(frame: Any, aspect: Fraction) -> tuple[int, int]:
    """Width and height in square pixels, before it is turned: the side that the pixels are long along grows."""
    return (round(frame.width * aspect), frame.height) if aspect > 1 else (frame.width, round(frame.height / aspect))


@dataclass(frozen=True, kw_only=True)
class _Way:
    """Way to set a picture upright: left and right exchanged where `mirrored`, then turned clockwise."""

    mirrored: bool = False
    degrees: int = 0


def _way_up(frame: Any) -> _Way:
    """The one of eight ways that a frame's display matrix says; none for one of zeros or another angle, as browsers have it."""
    data = frame.side_data.get("DISPLAYMATRIX")
    if data is None:
        return _Way()
    a, b, _u, c, d, *_rest = np.frombuffer(data, np.int32)[:9].astype(float)  # x' = ax + cy, y' = bx + dy
    mirrored = a * d < b * c
    a, b = (-a, -b) if mirrored else (a, b)
    along, across = max(abs(a), abs(d)), max(abs(b), abs(c))
    if min(along, across) > 0.1 * max(along, across) or max(along, across) == 0:
        return _Way()
    return _Way(mirrored=mirrored, degrees=(0 if a >= 0 else 180) if along > across else (90 if b > 0 else 270))


def _said_of(frame: Any, way: _Way, aspect: Fraction) -> dict[Done, Message]:
    """Clauses on what is done to a film's pictures."""
    done: dict[Done, Message] = {}
    if aspect != 1:
        ratio = aspect.limit_denominator(1_000)
        done["pixel_shape"] = compose("pixels of {across}:{down} made square", across=ratio.numerator, down=ratio.denominator)
    if way.mirrored:
        done["mirrored"] = compose("mirrored")
    if way.degrees:
        done["turned"] = compose("turned by {degrees}°", degrees=way.degrees)
    if (bits := max(one.bits for one in frame.format.components)) > 8:
        done["bits"] = compose("{bits} bits a level, brought to eight", bits=bits)
    if frame.color_trc in picture_headers.HIGH_RANGE:
        done["high_range"] = picture_headers.high_range(frame.color_trc)
    return done


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise VideoError(
            "a picture has {width} x {height} pixels: up to {most} million can be read",
            width=width,
            height=height,
            most=MAX_PIXELS // 1_000_000,
        )
    if width and height and max(width, height) > MAX_ASPECT * min(width, height):
        raise VideoError(
            "a picture of {width} x {height} shows no hand: its sides may differ up to 20-fold", width=width, height=height
        )


def _duration(container: Any, stream: Any) -> float | None:
    """Seconds, by the picture's own note or the file's, which counts sound too."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration else None


@dataclass(kw_only=True)
class _Reading:
    """Decodes a stream and skips damaged packets.

    Attributes:
        broken: whether the file ended in damage. damaged: seconds before which a picture could not be decoded, or not wholly.
        gap: seconds of the frame that was shown for longest. end: seconds at which the last frame that was read ends.
    """

    stream: Any
    aspect: Fraction
    rate: float
    count: int = 0
    broken: bool = False
    damaged: list[float] = field(default_factory=list)
    gap: float = 0.0
    end: float = 0.0

    def frames(self, container: Any, start: float) -> Iterator[tuple[Any, float]]:
        """Decoded frames with their seconds from the file's start, rising; damage counts from the frame shown at `start` on."""
        first = float((self.stream.start_time or 0) * (self.stream.time_base or Fraction(1)))
        before, longest, in_a_row = -np.inf, 0.0, 0
        packets = container.demux(self.stream)
        while True:
            try:
                packet = next(packets)
                decoded = packet.decode()
                in_a_row = 0
                self.broken = False
                garbled = bool(packet.is_corrupt)
            except (StopIteration, av.error.EOFError):
                return
            except MemoryError:
                raise
            except av.error.FFmpegError:
                self.broken = garbled = True
                decoded = []
                in_a_row += 1
                if in_a_row > MAX_DAMAGE:
                    return
            for frame in decoded:
                at = frame.time - first if frame.time is not None else self.count / (self.rate or 25.0)
                if at <= before:  # a file may repeat or go back: time does not
                    continue
                if at - before > longest and self.count:
                    longest, self.gap = at - before, before
                before = at
                self.count += 1
                garbled = garbled or bool(frame.is_corrupt)
                _check_size(*_shown_size(frame, self.aspect))
                yield frame, at
            if garbled and before >= start - 1 / (self.rate or 25.0):
                self.damaged.append(max(float(before), start))


class _WebpReading(_Reading):
    """Decodes the frames of an opened WebP, each shown for the time that it says."""

    def frames(self, container: Any, start: float) -> Iterator[tuple[Any, float]]:
        at = 0.0
        for number in range(getattr(self.stream, "n_frames", 1)):
            self.stream.seek(number)
            frame = av.VideoFrame.from_ndarray(np.asarray(self.stream.convert("RGBA")), format="rgba")
            frame.time_base, frame.duration = Fraction(1, 1000), int(self.stream.info.get("duration") or 100)
            self.count += 1
            yield frame, at
            at += frame.duration / 1e3


def _picture(frame: Any, sampler: _Sampler) -> Frames:
    """A decoded frame, small, square and upright, on white where it is clear."""
    width, height = _shown_size(frame, sampler.aspect)
    across, down = _scaled(width, height, sampler.size, sampler.fit)
    clear = any(one.is_alpha for one in frame.format.components)
    # A film that does not say by which weights its colours are mixed has those of high definition from 720 lines on.
    weights = "ITU709" if frame.colorspace == _UNSPECIFIED and height >= 720 else None
    kind = "rgba" if clear else "rgb24"
    small = frame.reformat(
        width=across, height=down, format=kind, interpolation="AREA", src_colorspace=weights, threads=1
    ).to_ndarray()
    if clear:
        share = small[..., 3:] / 255
        small = np.rint(small[..., :3] * share + 255 * (1 - share)).astype(np.uint8)
    way = _way_up(frame)
    small = small[:, ::-1] if way.mirrored else small
    return _square(np.ascontiguousarray(np.rot90(small, k=-way.degrees // 90)), sampler.size)


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
