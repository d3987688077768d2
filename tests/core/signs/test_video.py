"""Real files through the real decoder: every kind, turned, cut off, too long, too large, or no film at all."""

from itertools import count
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from core.signs import video
from core.signs.video import VideoError, of_pictures, read_video
from tests.core.signs.video_files import film, grey, sound

LEVELS = [20 * number for number in range(10)]


def steps(width: int = 64, height: int = 48) -> list[np.ndarray]:
    return [grey(level, width, height) for level in LEVELS]


WHOLE, SOUNDS = film(steps()), ("mp4", "mov", "matroska")


def centre(frames: np.ndarray) -> list[int]:
    return frames[:, frames.shape[1] // 2, frames.shape[2] // 2, 0].tolist()


@pytest.mark.parametrize("fps", [3, 7.5, 10, 24])
def test_a_tick_shows_what_a_player_would_show(fps):
    found = read_video(film(steps()), size=8, fps=fps)
    expected = [LEVELS[int(second * 10 + 1e-6)] for second in found.seconds]
    assert centre(found.frames) == pytest.approx(expected, abs=4)
    assert len(found.frames) == int(np.ceil(fps * 1.0 - 1e-6))


def test_a_start_inside_the_film_is_sought():
    data = film([grey(level % 250, 32, 32) for level in range(0, 2000, 5)], options={"g": "12"})  # 40 s
    found = read_video(data, size=8, fps=10, start=20.0, most=10)
    assert centre(found.frames) == pytest.approx([(5 * number) % 250 for number in range(200, 210)], abs=4)
    assert found.seconds[0] == 20
    assert found.ended == "most"
    with pytest.raises(VideoError, match=r"40\.0 s long"):
        read_video(data, size=8, fps=10, start=40)


def test_crop_takes_the_middle_and_pad_takes_all():
    picture = grey(0, 96, 32)
    picture[:, 32:64] = 200
    data = film([picture] * 2)
    cropped, padded = (read_video(data, size=24, fps=5, fit=fit).frames[0, ..., 0] for fit in get_args(video.Fit))
    assert cropped[:, 2:-2].min() > 190
    assert padded[:7].max() == padded[-7:].max() == 0
    assert padded[12, 11:13].min() > 190
    assert padded[12, :6].max() < 20


@pytest.mark.parametrize("kind", ["gif", "mp4", "webm"])
@pytest.mark.parametrize("fps", [1, 8])
def test_one_picture_is_one_frame(kind, fps):
    found = read_video(film([grey(120, 40, 40)], kind=kind), size=16, fps=fps)
    assert centre(found.frames) == pytest.approx([120], abs=6)


def test_a_film_cut_off_behind_its_index_gives_what_there_is():
    pictures = [np.random.default_rng(number).integers(0, 255, (48, 64, 3), dtype=np.uint8) for number in range(60)]
    for kind, options in (("mp4", {"movflags": "faststart"}), ("webm", {}), ("avi", {})):
        data = film(pictures, kind=kind, container_options=options)
        whole = read_video(data, size=16, fps=10)
        part = read_video(data[: len(data) // 2], size=16, fps=10)
        assert len(whole.frames) == 60
        assert whole.complete
        assert 10 < len(part.frames) < 50
        assert not part.complete
        assert part.ended == "damaged"
        np.testing.assert_allclose(part.frames[:8].astype(int), whole.frames[:8].astype(int), atol=2)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"hello, this is a letter\n" * 200, "not a video"),
        (bytes(range(256)) * 40, "not a video"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://localhost:9/x.ts\n#EXT-X-ENDLIST\n", "not a video"),
        (b"ffconcat version 1.0\nfile 'secret.mp4'\n", "not a video"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a video"),
        (WHOLE[: len(WHOLE) // 2], "cut off"),
        *((sound(kind), "holds no picture") for kind in SOUNDS),
    ],
    ids=["empty", "text", "bytes", "playlist", "concat", "picture", "cut off before its index", *SOUNDS],
)
def test_what_is_no_film_is_refused(data, words):
    with pytest.raises(VideoError, match=words) as caught:
        read_video(data, size=8, fps=5)
    assert str(caught.value)[0].islower()
    assert not str(caught.value).endswith(".")


def test_two_hours_cost_no_more_than_their_first_frames():
    hours = film((grey(number % 250, 32, 32) for number in range(7200)), fps=1, options={"preset": "ultrafast", "g": "60"})
    told: list[int] = []
    found = read_video(hours, size=8, fps=8, most=128, on_frame=told.append)
    assert found.duration == pytest.approx(7200)
    assert found.frames.shape == (128, 8, 8, 3)
    assert found.ended == "most"
    assert len(told) < 20  # frames that were decoded
    late = read_video(hours, size=8, fps=1, start=7000, most=5)
    assert centre(late.frames) == pytest.approx([number % 250 for number in range(7000, 7005)], abs=4)


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch):
    ticks = count()
    monkeypatch.setattr(video, "time", SimpleNamespace(monotonic=lambda: float(next(ticks)), process_time=lambda: 0.0))
    data = film(steps() * 10)
    found = read_video(data, size=8, fps=10)
    assert found.ended == "time"
    assert 20 < len(found.frames) < 40
    monkeypatch.setattr(video, "PATIENCE_S", 0)
    with pytest.raises(VideoError, match="within 0 s"):
        read_video(data, size=8, fps=10, start=9.5)


def test_a_picture_too_large_or_too_narrow_is_refused():
    with pytest.raises(VideoError, match="sides may differ"):
        read_video(film([grey(0, 640, 16)]), size=8, fps=5)
    with pytest.raises(VideoError, match="up to 24 million"):
        video._check_size(16_384, 16_384)


def test_pictures_become_a_clip():
    found = of_pictures([grey(50, 300, 200), grey(150, 20, 40)], size=64, fps=8, hold=3)
    assert centre(found.frames) == [50, 50, 50, 150, 150, 150]
    assert found.seconds.tolist() == [number / 8 for number in range(6)]
    assert found.frames.shape == (6, 64, 64, 3)
    with pytest.raises(VideoError, match="no picture"):
        of_pictures([], size=8, fps=8)
    with pytest.raises(VideoError, match="fewer pictures"):
        of_pictures([grey(0, 8, 8)] * 300, size=8, fps=8)


def test_nonsense_settings_are_refused():
    for settings in ({"size": 0, "fps": 5}, {"size": 8, "fps": 0}, {"size": 8, "fps": 5, "most": 0}):
        with pytest.raises(ValueError, match="above 0"):
            read_video(b"x", **settings)
    with pytest.raises(ValueError, match="above 0"):
        of_pictures([grey(0, 8, 8)], size=8, fps=8, hold=0)


def test_a_strip_holds_the_frames_asked_for():
    frames = np.stack([grey(level, 16, 16) for level in LEVELS])
    files = video.sheet(frames, [0, 9])
    assert len(files) == 2
    assert all(file.startswith(b"\xff\xd8") for file in files)
