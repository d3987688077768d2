"""One clip in many encodings: each is what a browser shows of it, by its pixels and by what is read in it (D41)."""

import io
import struct
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition
from PIL import Image

from attention_observatory import read_signs
from core.picture_headers import is_animated
from core.signs.samples import clip_samples
from core.signs.video import Footage, VideoError, read_video
from tests.core.signs.video_files import film, films, grey

Frames = np.ndarray
Row = tuple[bytes, float]
"""A file, and the levels by which its pictures may differ from the clip's in the mean."""
FINE, RATE = {"crf": "10"}, {"b": "2M"}
QUICK = RATE | {"deadline": "realtime", "cpu-used": "8"}
"""Of VP8 and VP9, which else take a second a film."""


@cache
def clip() -> Frames:
    """(32, 160, 160, 3): the signs 3, 1 and 4, eight frames a second."""
    path = next(one.path for one in clip_samples() if one.name == "digits_314")
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def squeezed(columns: int, rows: int) -> Frames:
    """The clip in so many columns and rows."""
    sized = [np.asarray(Image.fromarray(one).resize((columns, rows), Image.Resampling.BOX)) for one in clip()]
    return np.stack(sized)


def of_clip(pictures: Sequence[np.ndarray] | Frames | None = None, **arguments: Any) -> bytes:
    return film(clip() if pictures is None else pictures, fps=8, **({"options": FINE} | arguments))


@cache
def ways() -> dict[str, Row]:
    """The clip stored in each of eight ways, with the matrix that sets it upright: turned anticlockwise, then exchanged."""
    rows = {}
    for mirrored in (False, True):
        for degrees in (0, 90, 180, 270):
            stored = clip()[:, :, ::-1] if mirrored else clip()
            stored = np.ascontiguousarray(np.rot90(stored, -degrees // 90, axes=(1, 2)))
            name = f"turned by {degrees}" + (", left and right exchanged" if mirrored else "")
            rows[name] = of_clip(stored, rotation=degrees, mirrored=mirrored), 3.0
    return rows


@cache
def shapes() -> dict[str, Row]:
    half = squeezed(80, 160)
    return {
        "pixels of 2:1": (of_clip(half, options=FINE | {"x264-params": "sar=2/1"}), 9),
        "pixels of 1:2": (of_clip(squeezed(160, 80), options=FINE | {"x264-params": "sar=1/2"}), 9),
        "pixels of 4:3": (of_clip(squeezed(120, 160), options=FINE | {"x264-params": "sar=4/3"}), 9),
        "pixels of 4:3, matroska": (of_clip(squeezed(120, 160), kind="matroska", options=FINE | {"x264-params": "sar=4/3"}), 9),
        "pixels of 2:1, turned": (
            of_clip(np.ascontiguousarray(np.rot90(squeezed(160, 80), -1, axes=(1, 2))), rotation=90,
                    options=FINE | {"x264-params": "sar=2/1"}), 9,
        ),
    }  # fmt: skip


@cache
def codecs() -> dict[str, Row]:
    table = [
        ("mp4", "libx264", "yuv420p", FINE, 2), ("mp4", "libx264", "yuv444p", FINE, 2), ("mp4", "libx264", "yuvj420p", FINE, 2),
        ("mp4", "libx264", "yuv420p10le", FINE, 2), ("mov", "libx264", "yuv422p", FINE, 2),
        ("mpegts", "libx264", "yuv420p", FINE, 2),
        ("mp4", "libx265", "yuv420p", {"x265-params": "log-level=none", "preset": "superfast"}, 5),
        ("webm", "libvpx", "yuv420p", QUICK, 3),
        ("webm", "libvpx-vp9", "yuv420p", QUICK, 3), ("matroska", "ffv1", "bgr0", {}, 0), ("avi", "rawvideo", "bgr24", {}, 0),
        ("avi", "mpeg4", "yuv420p", RATE, 4), ("avi", "mjpeg", "yuvj420p", {"qmin": "2", "qmax": "3"}, 4),
        ("mov", "prores_ks", "yuv422p10le", {}, 3), ("mov", "png", "rgb24", {}, 0), ("flv", "flv", "yuv420p", RATE, 4),
        ("asf", "wmv2", "yuv420p", RATE, 4),
    ]  # fmt: skip
    rows: dict[str, Row] = {
        f"{kind}, {codec}, {pixels}": (of_clip(kind=kind, codec=codec, pixels=pixels, options=options), apart)
        for kind, codec, pixels, options, apart in table
    }
    for weights, name in ((1, "BT.709"), (6, "BT.601")):
        rows[f"weights of {name}"] = of_clip(weights=weights), 3
    few = [Image.fromarray(one).quantize(200, dither=Image.Dither.NONE) for one in clip()]
    gif = io.BytesIO()
    few[0].save(gif, "GIF", save_all=True, append_images=few[1:], duration=[120, 130] * 16, optimize=False)
    return rows | {"gif": (gif.getvalue(), 4)}


@cache
def files() -> dict[str, Row]:
    """The clip beside other streams, or behind a header that is wrong."""
    other = np.full_like(clip()[:8], 90)
    plain = of_clip()
    at = plain.index(b"mdhd") + 4 + 16  # behind version, flags and two dates, the time scale and the duration
    short = plain[:at] + struct.pack(">I", struct.unpack_from(">I", plain, at)[0] // 30) + plain[at + 4 :]
    live = io.BytesIO()  # as a browser's recorder writes it: to a pipe, so that its length is never filled in
    with av.open(_Pipe(live), "w", format="webm", options={"live": "1"}) as container:
        stream = container.add_stream("libvpx", rate=8, options=QUICK)
        stream.height, stream.width, stream.pix_fmt = 160, 160, "yuv420p"
        for one in clip():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(one, format="rgb24")))
        container.mux(stream.encode(None))
    return {
        "the default stream is the second": (films([(other, 0), (clip(), Disposition.default)]), 2),
        "the first of two default streams": (films([(clip(), Disposition.default), (other, Disposition.default)]), 2),
        "a cover first": (films([(other[:1], Disposition.attached_pic), (clip(), Disposition.default)], kind="mp4"), 2),
        "a longer sound, matroska": (films([(clip(), Disposition.default)], seconds_of_sound=9), 2),
        "a longer sound, mp4": (films([(clip(), Disposition.default)], kind="mp4", seconds_of_sound=9), 2),
        "a header that is too short": (short, 2),
        "no length": (live.getvalue(), 3),
    }


class _Pipe:
    """Writes to a buffer that cannot be gone back in."""

    def __init__(self, buffer: io.BytesIO) -> None:
        self.write = buffer.write


TABLE = {"ways": ways, "shapes": shapes, "codecs": codecs, "files": files}


@pytest.mark.parametrize("rows", TABLE.values(), ids=TABLE)
def test_each_encoding_is_what_a_browser_shows(rows: Any) -> None:
    wrong = {}
    for name, (data, apart) in rows().items():
        try:
            found = read_video(data, size=160, fps=8)
        except VideoError as error:
            wrong[name] = str(error)
            continue
        gap = np.abs(found.frames[:32].astype(int) - clip()[: len(found.frames)]).mean()
        if not (32 <= len(found.frames) <= 33 and gap <= apart and found.complete and (found.width, found.height) == (160, 160)):
            wrong[name] = f"{len(found.frames)} frames, {gap:.1f} levels apart, {found.width} x {found.height}, {found.ended}"
        if found.duration != pytest.approx(4, abs=0.13):
            wrong[name] = f"{found.duration} s"
    assert not wrong


@pytest.mark.parametrize("rows", TABLE.values(), ids=TABLE)
def test_each_encoding_is_read_alike(rows: Any) -> None:
    read = {name: read_signs(data, checkpoint="iiga_digits").glosses for name, (data, _apart) in rows().items()}
    assert {name: glosses for name, glosses in read.items() if glosses != ("3", "1", "4")} == {}


def first(data: bytes, **arguments: Any) -> Footage:
    return read_video(data, size=32, fps=8, **arguments)


def test_what_was_done_is_said_with_its_numbers() -> None:
    stored = np.ascontiguousarray(np.rot90(squeezed(160, 80), -1, axes=(1, 2)))
    options = FINE | {"x264-params": "sar=2/1"}
    found = first(of_clip(stored, rotation=90, mirrored=True, pixels="yuv420p10le", options=options))
    assert {name: clause.values for name, clause in found.done.items()} == {
        "pixel_shape": {"across": 2, "down": 1},
        "mirrored": {},
        "turned": {"degrees": 90},  # clockwise, once left and right are exchanged
        "bits": {"bits": 10},
    }
    second = first(films([(clip()[:2], 0), (clip()[:2], Disposition.default)]))
    assert second.done["stream"].values == {"number": 2, "count": 2}
    assert first(files()["a header that is too short"][0]).done["header"].values["shown"] == pytest.approx(4, abs=0.01)
    assert first(of_clip()).done == {}


@pytest.mark.parametrize("name", ["a header that is too short", "no length", "a longer sound, matroska"])
def test_a_start_is_measured_by_the_pictures_and_not_by_the_header(name: str) -> None:
    data = files()[name][0]
    late = first(data, start=1.0)
    np.testing.assert_allclose(late.seconds, 1 + np.arange(24) / 8)
    for start in (4.2, 6.0, 100.0):
        with pytest.raises(VideoError, match=r"4\.0 s long: start before its end"):
            first(data, start=start)


def test_an_angle_between_the_eight_ways_is_left_alone() -> None:
    assert first(of_clip(clip()[:3], rotation=30)).done == {}


def test_clear_parts_of_an_animation_are_white() -> None:
    frames = [Image.new("RGBA", (64, 64), (0, 0, 0, 0)) for _ in range(2)]
    for one in frames:
        one.paste((200, 0, 0, 255), (0, 32, 64, 64))
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=125, disposal=2)
    found = first(buffer.getvalue())
    assert found.frames[0, 4, 16].tolist() == [255, 255, 255]
    assert found.frames[0, 28, 16].tolist() == pytest.approx([200, 0, 0], abs=4)


def test_high_definition_has_its_own_weights_where_it_names_none() -> None:
    """Y, Cb and Cr of (200, 50, 30) by BT.709, in a film of 720 lines; by BT.601 in one of 480."""
    for lines, (luma, blue, red) in ((720, (0.2126, 0.0722, 0.7874)), (480, (0.299, 0.114, 0.701))):
        r, g, b = 200 / 255, 50 / 255, 30 / 255
        y = luma * r + (1 - luma - blue) * g + blue * b
        levels = 16 + 219 * y, 128 + 112 * (b - y) / (1 - blue), 128 + 112 * (r - y) / red
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=8, options={"crf": "1", "preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = lines, lines, "yuv420p"
            frame = av.VideoFrame(lines, lines, "yuv420p")
            for plane, level in zip(frame.planes, levels, strict=True):
                plane.update(bytes([round(level)]) * plane.buffer_size)
            container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        assert first(buffer.getvalue()).frames[0, 16, 16].tolist() == pytest.approx([200, 50, 30], abs=4)


@pytest.mark.parametrize(("kind", "codec"), [("mp4", "libx264"), ("matroska", "libx264"), ("webm", "libvpx"), ("avi", "mpeg4")])
def test_a_garbled_middle_is_not_complete(kind: str, codec: str) -> None:
    data = bytearray(of_clip(kind=kind, codec=codec, options={"b": "2M"}))
    assert first(bytes(data)).complete
    middle = len(data) // 2
    data[middle : middle + 8_000] = np.random.default_rng(0).integers(0, 255, 8_000, dtype=np.uint8).tobytes()
    found = first(bytes(data))
    assert not found.complete
    assert found.ended or all(0.5 < at < 3.5 for at in found.damaged)


def test_a_rate_that_is_a_fraction() -> None:
    found = read_video(film(clip(), fps=Fraction(24_000, 1_001), options=FINE), size=32, fps=8)
    assert found.duration == pytest.approx(32 * 1_001 / 24_000, abs=0.01) and found.complete


def test_a_display_matrix_of_zeros_turns_nothing() -> None:
    data = film([grey(200, 64, 48)] * 10, rotation=90)
    at = data.find(b"tkhd") + 44  # the matrix of a track's header of version 0
    assert read_video(data, size=16, fps=8).done["turned"].values == {"degrees": 270}
    assert "turned" not in read_video(data[:at] + bytes(36) + data[at + 36 :], size=16, fps=8).done


@pytest.mark.parametrize(("transfer", "name"), [("smpte2084", "PQ"), ("arib-std-b67", "HLG")])
def test_a_film_of_high_dynamic_range_says_that_its_light_is_not_mapped(transfer: str, name: str) -> None:
    pictures = [grey(200, 64, 48)] * 4
    of_range = read_video(film(pictures, options={"x264-params": f"transfer={transfer}"}), size=16, fps=8)
    assert name in of_range.done["high_range"]
    assert "high_range" not in read_video(film(pictures), size=16, fps=8).done


@pytest.mark.parametrize("kind", ["webp", "png"])
def test_an_animated_picture_is_a_film(kind: str) -> None:
    pictures = [Image.fromarray(grey(40 * number, 64, 48)) for number in range(6)]
    file = io.BytesIO()
    pictures[0].save(file, kind, save_all=True, append_images=pictures[1:], duration=200, lossless=True)
    footage = read_video(file.getvalue(), size=48, fps=5)
    assert footage.frames[:, 24, 24, 0].tolist() == [0, 40, 80, 120, 160, 200]
    assert footage.duration == pytest.approx(1.2)
    assert (footage.width, footage.height) == (64, 48)
    assert is_animated(file.getvalue())
    still = io.BytesIO()
    pictures[0].save(still, kind)
    assert not is_animated(still.getvalue())
