"""Decoding: every kind, mode and orientation against the pixels that went in, and one sentence for each bad file."""

import contextlib
import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from core.vision import pictures
from core.vision.pictures import PictureError, decode, from_pixels, png
from tests.core.vision.picture_bytes import chunk, page, profile, saved, tiff
from tests.core.vision.test_picture_encodings import jpeg_rows, other_rows, png_rows, tiff_rows


def scene(height: int = 40, width: int = 60) -> NDArray[np.uint8]:
    """A smooth picture with four corners that differ, so that no turn of it looks like another."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = 255 * x / (width - 1), 255 * y / (height - 1)
    return np.stack([red, green, np.where((x < width / 2) & (y < height / 2), 220, 30)], axis=-1).astype(np.uint8)


LOSSLESS = ("png", "png, clear above", "webp", "bmp", "tiff", "tiff, packed")
LOSSY = ("jpeg", "jpeg, inks", "tiff, inks", "webp, lossy", "gif", "png, palette", "heic", "avif")


def written(name: str) -> bytes:
    """One of the encodings of a photograph."""
    return (png_rows() | jpeg_rows() | tiff_rows() | other_rows())[name][0]


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_a_deep_picture_of_many_strips_is_scaled_as_a_whole(mode: str) -> None:
    """Against the same arithmetic on the whole array."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 65_536, (2_100, 1_100))
    if mode == "F":
        levels = levels - 30_000
    kinds = {"I;16": np.uint16, "I": np.int32, "F": np.float32}
    image = Image.fromarray(levels.astype(kinds[mode]))
    assert image.mode == mode and image.width * image.height > 2 * pictures.STRIP_PIXELS
    low, high = (0, 65_535) if mode != "F" else (levels.min(), levels.max())
    np.testing.assert_array_equal(np.asarray(pictures._eight_bits(image, 16)), np.rint((levels - low) * (255 / (high - low))))


def test_a_deep_picture_needs_no_wide_copy_of_itself() -> None:
    """Nine megapixels would take 72 MB as float64; numpy's arrays while it is decoded, the picture it returns included."""
    levels = np.zeros((3_000, 3_000), np.uint16)
    levels[1_000:2_000, 1_000:2_000] = 40_000
    data = saved(Image.fromarray(levels), "PNG")
    tracemalloc.start()
    picture = decode(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert picture.rgb.shape == (768, 768, 3) and picture.rgb[384, 384].tolist() == [156, 156, 156]
    assert peak < 45e6


def test_real_numbers_span_from_their_smallest_to_their_largest() -> None:
    levels = np.array([[-1.0, 0.0], [1.0, np.nan]], dtype=np.float32)
    assert decode(saved(Image.fromarray(levels), "TIFF")).rgb[..., 0].tolist() == [[0, 128], [255, 128]]


def test_a_large_one_is_reduced() -> None:
    picture = decode(saved(Image.fromarray(scene(1500, 3000)), "JPEG"))
    assert (picture.width, picture.height) == (3000, 1500)
    assert picture.rgb.shape == (384, 768, 3) and "reduced" in picture.done


def test_of_several_pictures_it_takes_the_first_and_says_so() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "green", "blue")]
    rest = {"save_all": True, "append_images": frames[1:]}
    for kind, note in (("GIF", "animated"), ("WEBP", "animated"), ("PNG", "animated"), ("TIFF", "page")):
        picture = decode(saved(frames[0], kind, **rest))
        assert list(picture.done) == [note] and picture.frames == (3 if kind in ("WEBP", "PNG") else 2)
        assert np.abs(picture.rgb[0, 0].astype(int) - (255, 0, 0)).max() < 12


@pytest.mark.parametrize("later", ["cut short", "a palette", "grey"])
def test_the_first_page_of_a_tiff_is_read_whatever_the_later_ones_are(later: str) -> None:
    mode = {"cut short": "RGB", "a palette": "P", "grey": "L"}[later]
    rest = [Image.new("RGB", (60, 40), "white").convert(mode) for _ in range(2)]
    data = saved(Image.fromarray(scene()), "TIFF", compression="tiff_lzw", save_all=True, append_images=rest)
    if later == "cut short":
        with Image.open(io.BytesIO(data)) as image:
            image.seek(1)
            data = data[: image.tag_v2[273][0]]  # up to where the second page's pixels would begin
    np.testing.assert_array_equal(decode(data).rgb, scene())


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (2, 3)])
def test_any_size(size: tuple[int, int]) -> None:
    assert decode(saved(Image.new("RGB", size, "white"), "PNG")).rgb.shape == (size[1], size[0], 3)


def huge() -> bytes:
    """A PNG whose header says 20,000 x 20,000, with next to nothing behind it: whoever decoded it would find it cut."""
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 64))


BAD: dict[str, tuple[bytes, str]] = {
    "0 bytes": (b"", "the file is empty"),
    "a PDF": (b"%PDF-1.7\n1 0 obj\n", "the file is a PDF, whatever its name says"),
    "a text": (b"hello, world", "choose a PNG, JPEG"),
    "an SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture that can be read here"),
    "a ZIP": (b"PK\x03\x04" + b"\0" * 60, "not a picture that can be read here"),
    "20,000 x 20,000": (huge(), "at most 24 million pixels"),
    "a film": (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41", "the file is a film"),
    "ten bits a level": (tiff(page(scene()[..., 0].astype(int) * 4, bits=10)), "this TIFF file keeps its pixels in a way"),
    "JPEG 2000 in a TIFF": (tiff(page(scene(), t259=34_712)), "this TIFF file keeps its pixels in a way"),
    "a PNG's start": (b"\x89PNG\r\n\x1a\n", "damaged or cut short"),
    "a PNG sent as text": (saved(scene(), "PNG").replace(b"\r\n", b"\n"), "damaged or cut short"),
    "a JPEG's start": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "damaged or cut short"),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD.keys())
def test_bad_files_get_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(PictureError, match=words):
        decode(data, name="bad.png")


@pytest.mark.parametrize("name", [*LOSSLESS, *LOSSY])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_a_file_that_was_cut_is_damaged(name: str, share: float) -> None:
    data = written(name)
    with pytest.raises(PictureError, match="damaged or cut short"):
        decode(data[: int(share * len(data))])


def test_too_many_pixels_are_counted_from_the_header() -> None:
    with pytest.raises(PictureError, match="60 x 40 pixels: at most"):
        decode(saved(scene(), "PNG"), max_pixels=2000)


@pytest.mark.parametrize("progressive", [False, True])
def test_a_phones_108_megapixels_are_scaled_down_unless_all_must_be_kept(progressive: bool) -> None:
    large = Image.linear_gradient("L").resize((12_000, 9_000))
    large.save(buffer := io.BytesIO(), "JPEG", quality=50, progressive=progressive)
    if progressive:
        with pytest.raises(PictureError, match="12,000 x 9,000 pixels: at most 24 million"):
            decode(buffer.getvalue())
    else:
        picture = decode(buffer.getvalue())
        assert (picture.width, picture.height) == (12_000, 9_000) and picture.rgb.shape == (576, 768, 3)
        rows = picture.rgb[:, 384, 0].astype(float)
        assert np.abs(rows - np.linspace(0, 255, 576)).max() < 3


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(LOSSLESS), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8))
def test_whatever_is_damaged_it_decodes_or_says_so(name: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(written(name))
    for at, value in changes:
        data[at % len(data)] = value
    with contextlib.suppress(PictureError):
        assert decode(bytes(data)).rgb.ndim == 3


def test_a_picture_of_grey_levels_and_its_file() -> None:
    grey = scene()[..., 1]
    np.testing.assert_array_equal(decode(png(grey)).rgb, from_pixels(grey, name="grey").rgb)


def test_what_was_done_is_said_with_its_numbers() -> None:
    small, deep = scene(5, 8), scene()[..., 0].astype(int) * 16
    tags = page(deep, bits=12, t274=6, t34675=profile(None, "linear", 1.0))
    picture = decode(tiff(page(small, t254=1), tags))
    assert {name: clause.values for name, clause in picture.done.items()} == {
        "page": {"page": 2},
        "bits": {"bits": 12},
        "turned": {"degrees": 90},
        "profile": {"profile": "linear"},
    }
    assert (picture.width, picture.height) == (40, 60)
