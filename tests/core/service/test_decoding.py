"""What strangers send is decoded to the same pixels as here, and no file takes more than its budget, or others' turns."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
from PIL import Image

from core import camera
from core.messages import Message
from core.service import decoding
from core.service.access import Role, Visitor
from core.signs.samples import clip_samples
from core.signs.video import VideoError, read_video
from core.vision import pictures
from core.vision.pictures import Picture, PictureError, decode
from core.workers import Stopped
from tests.core import bombs
from tests.core.signs.video_files import film, grey

MIB, SECONDS = 400, 4.0
"""Most that a file may take: resident memory, and time of the processor."""


def stranger(address: str) -> Visitor:
    return Visitor(id=address, role=Role.STRANGER, address=address)


class Taken:
    """The most that one process beside this one held and worked, by the system's accounts."""

    mib = seconds = 0.0


@contextmanager
def measured() -> Iterator[Taken]:
    taken, over, before = Taken(), threading.Event(), dict[int, float]()

    def watch() -> None:
        while not over.wait(0.01):
            for one in psutil.Process().children():
                try:
                    if "core.workers" not in one.cmdline():  # between fork and exec a child counts all of this process's memory
                        continue
                    worked = sum(one.cpu_times()[:2])
                    taken.mib = max(taken.mib, one.memory_info().rss / 2**20)
                    taken.seconds = max(taken.seconds, worked - before.setdefault(one.pid, worked))
                except psutil.Error:
                    continue

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield taken
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("name", bombs.PICTURES)
def test_no_picture_takes_more_than_its_budget(name: str) -> None:
    file, sentence = bombs.PICTURES[name]
    data = file()
    with measured() as taken:
        if sentence:
            with pytest.raises(PictureError, match=sentence) as refused:
                decoding.picture(stranger("a"), data)
            assert isinstance(refused.value.args[0], Message)
        else:
            try:
                decoding.picture(stranger("a"), data)
            except PictureError as error:
                if "takes more than 3 s" not in str(error):  # a slow processor's bound, which counts as well
                    raise
    most = MIB + (decoding.WEBP.mib - decoding.PICTURE.mib if name.startswith("WebP") else 0)
    assert taken.mib < most and taken.seconds < SECONDS, (taken.mib, taken.seconds)


def test_a_frame_of_many_scans_is_refused_at_once_and_one_of_some_within_its_time() -> None:
    with pytest.raises(ValueError, match="more than 100 scans"):
        decoding.frame(stranger("a"), bombs.scans(1280, 5_000))
    with measured() as taken, suppress(ValueError):  # a slow processor
        decoding.frame(stranger("a"), bombs.scans(1280, 100))
    assert taken.seconds < 1.5


def test_turns_are_taken_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that another visitor's picture is read before a bomber's next (`core.workers.WaitingLine`)."""
    asked = Mock(side_effect=Stopped("busy"))
    for pool in (decoding._quick, decoding._films):
        monkeypatch.setattr(pool, "run", asked)
    for kind in (decoding.picture, decoding.frame, decoding.film):
        with pytest.raises(ValueError, match="too many files wait here already"):
            kind(stranger("10.0.0.7"), b"")  # type: ignore[operator]
    assert [call.kwargs["by"] for call in asked.call_args_list] == ["10.0.0.7"] * 3


def noise(mode: str, kind: str, **options: object) -> bytes:
    levels = np.random.default_rng(0).integers(0, 256, (90, 130, len(Image.new(mode, (1, 1)).getbands())), np.uint8)
    Image.fromarray(levels.squeeze(), mode).save(buffer := io.BytesIO(), kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("data", [
    noise("RGB", "JPEG"), noise("RGBA", "PNG"), noise("L", "TIFF"), noise("RGB", "WEBP"), bombs.moving(3), bombs.pages(3),
])  # fmt: skip
def test_a_picture_is_the_same_as_decoded_here(data: bytes) -> None:
    here, there = decode(data, name="a"), decoding.picture(stranger("a"), data, name="a")
    for one in fields(Picture):
        assert np.array_equal(getattr(here, one.name), getattr(there, one.name))
    assert all(isinstance(clause, Message) and clause.template == here.done[key].template for key, clause in there.done.items())


def test_a_frame_is_the_same_as_decoded_here() -> None:
    data = noise("RGB", "JPEG")
    assert np.array_equal(decoding.frame(stranger("a"), data), camera.decoded(data))
    with pytest.raises(ValueError, match="a frame is no JPEG picture"):
        decoding.frame(stranger("a"), b"no picture")


def test_films_are_the_same_frames_and_say_how_far_they_are() -> None:
    sample = clip_samples()[0].path.read_bytes()
    expected, done = read_video(sample, size=96, fps=8.0), list[int]()
    found = decoding.film(stranger("1"), sample, size=96, fps=8.0, on_frame=done.append)
    for one in fields(expected):
        np.testing.assert_array_equal(getattr(found, one.name), getattr(expected, one.name), err_msg=one.name)
    assert done and done == sorted(done)
    with pytest.raises(VideoError, match="not a video"):
        decoding.film(stranger("1"), b"no film" * 99, size=96, fps=8.0)


def test_a_film_of_large_pictures_takes_no_more_than_its_budget() -> None:
    """Sixteen pictures of 5,600 x 4,200 in a few kilobytes, of which a decoder must keep several: all together pass the bound."""
    bomb = film([grey(128, 5_600, 4_200)] * 16, options={"preset": "ultrafast", "refs": "3", "bf": "3"})
    with measured() as taken, suppress(VideoError):
        decoding.film(stranger("1"), bomb, size=96, fps=8.0)
    assert taken.mib <= MIB and taken.seconds <= decoding.FILM.seconds, vars(taken)


def test_the_largest_webp_that_the_page_promises_is_read() -> None:
    picture = Image.new("RGBA", (6000, 4000), (200, 30, 40, 128))
    picture.save(buffer := io.BytesIO(), "WEBP", quality=10, method=0)
    found = decoding.picture(stranger("a"), buffer.getvalue())
    assert (found.width, found.height) == (6000, 4000)
    assert found.width * found.height == pictures.MAX_PIXELS
