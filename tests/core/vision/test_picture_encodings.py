"""One photograph in many encodings: each is what a browser shows of it, by its pixels and by the model's answer (D41).

The files are written from the array that they must give, by hand where the library that would write them is the one that reads.
"""

import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from attention_observatory import PhotoAnswer, classify_photo
from core.vision.gallery import photograph_gallery
from core.vision.pictures import PictureError, decode
from tests.core.vision.picture_bytes import (
    DISPLAY_P3,
    SRGB_COLORANTS,
    chunk,
    in_p3,
    light_of,
    page,
    png,
    press_profile,
    profile,
    saved,
    tiff,
)

Pixels = NDArray[np.uint8]
Row = tuple[bytes, Pixels, float]
"""A file, what a browser shows of it, and the levels by which it may differ in the mean."""
P3 = profile(DISPLAY_P3, "Display P3")
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'


@cache
def photograph() -> Pixels:
    """(height, width, 3): a pair of trousers."""
    return decode(next(one.data for one in photograph_gallery() if one.kind == "pants")).rgb


@cache
def grey() -> Pixels:
    """(height, width): its luminance."""
    return np.asarray(Image.fromarray(photograph()).convert("L"))


def grey_at(bits: int) -> NDArray[np.int64]:
    """Its luminance in so many bits."""
    return np.rint(grey() / 255 * (2**bits - 1)).astype(np.int64)


def coloured(levels: NDArray[Any]) -> Pixels:
    """Grey levels as three equal colours."""
    return np.repeat(np.rint(levels).astype(np.uint8)[..., None], 3, axis=-1)


def as_stored(orientation: int, upright: Pixels) -> Pixels:
    """Pixels as a camera stores them: the inverse of what EXIF then says to do."""
    ways = {
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.swapaxes(0, 1),
        6: np.rot90(upright),
        7: upright[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(upright, -1),
    }
    return np.ascontiguousarray(ways[orientation])


def exif(orientation: int) -> bytes:
    """EXIF with that tag alone."""
    return b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHIHHI", 274, 3, 1, orientation, 0, 0)


def half_white(pixels: Pixels) -> Pixels:
    """The lower half of a picture, on white."""
    below = pixels.copy()
    below[: len(below) // 2] = 255
    return below


def clear_above() -> Image.Image:
    """The photograph with its upper half fully clear, over noise."""
    alpha = np.full(grey().shape, 255, np.uint8)
    alpha[: len(alpha) // 2] = 0
    noise = np.random.default_rng(0).integers(0, 255, photograph().shape, dtype=np.uint8)
    return Image.fromarray(np.dstack([np.where(alpha[..., None] > 0, photograph(), noise), alpha]))


def cmyk() -> Pixels:
    """Inks, 255 all of it, that print the photograph where they multiply."""
    brightest = photograph().max(axis=-1).astype(np.float64)
    inks = 255 * (1 - photograph() / np.maximum(brightest, 1)[..., None])
    return np.dstack([np.rint(inks), 255 - brightest]).astype(np.uint8)


@cache
def png_rows() -> dict[str, Row]:
    rgb, p3 = photograph(), in_p3(photograph())
    height, width = grey().shape
    few = Image.fromarray(rgb).quantize(64)
    rest = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rgb))
    hidden = [
        chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, width, height, 0, 0, 1, 1, 0, 0)),
        chunk(b"fdAT", struct.pack(">I", 1) + rest),
    ]
    clear4 = np.where(grey_at(4) == 15, 14, grey_at(4))
    clear4[: height // 2] = 15
    primaries = struct.pack(">8I", 31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000)

    def icc(data: bytes) -> bytes:
        return chunk(b"iCCP", b"profile\0\0" + zlib.compress(data))

    return {
        "png": (png(rgb), rgb, 0),
        "png, 16 bits": (png(rgb.astype(np.int64) * 257, bits=16), rgb, 0),
        "png, grey": (png(grey()), coloured(grey()), 0),
        "png, grey of 16 bits": (png(grey_at(16), bits=16), coloured(grey()), 0),
        "png, grey of 4 bits": (png(grey_at(4), bits=4), coloured(grey_at(4) * 17), 0),
        "png, grey of 4 bits, one of them clear": (
            png(clear4, chunk(b"tRNS", b"\0\x0f"), bits=4), half_white(coloured(clear4 * 17)), 0,
        ),
        "png, grey of 16 bits, one of them clear": (
            png(clear4 * 4369, chunk(b"tRNS", b"\xff\xff"), bits=16), half_white(coloured(clear4 * 17)), 0,
        ),
        "png, palette": (saved(few, "PNG"), np.asarray(few.convert("RGB")), 0),
        "png, clear above": (saved(clear_above(), "PNG"), half_white(rgb), 0),
        "png, a long text": (png(rgb, chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(3 << 20)))), rgb, 0),
        "png, many texts": (png(rgb, *[chunk(b"tEXt", b"note\0" + bytes(900_000))] * 80), rgb, 0),
        "png, a text with a wrong checksum": (png(rgb, chunk(b"tEXt", b"a\0b")[:-1] + b"x"), rgb, 0),
        "png, EXIF 6": (png(as_stored(6, rgb), chunk(b"eXIf", exif(6))), rgb, 0),
        "png, EXIF 8 behind the pixels": (png(as_stored(8, rgb), after=[chunk(b"eXIf", exif(8))]), rgb, 0),
        "png, XMP 6": (png(rgb, chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)), rgb, 0),
        "png, Display P3": (png(p3, icc(P3)), rgb, 1),
        "png, Display P3 with 2 MB behind it": (png(p3, icc(P3 + bytes(2 << 20))), rgb, 1),
        "png, sRGB's profile": (png(rgb, icc(profile(SRGB_COLORANTS, "sRGB"))), rgb, 0),
        "png, a profile of rubbish": (png(rgb, icc(bytes(400))), rgb, 0),
        "png, linear light": (png(np.rint(255 * light_of(rgb)), chunk(b"gAMA", struct.pack(">I", 100_000))), rgb, 4),
        "png, gamma beside sRGB": (png(rgb, chunk(b"sRGB", b"\0"), chunk(b"gAMA", struct.pack(">I", 100_000))), rgb, 0),
        "png, P3 by its primaries": (png(p3, chunk(b"cHRM", primaries)), rgb, 1),
        "png, P3 by codes": (png(p3, chunk(b"cICP", bytes((12, 13, 0, 1))), icc(profile(SRGB_COLORANTS, "sRGB"))), rgb, 1),
        "png, animated behind a picture for others": (
            png(np.full_like(rgb, 255), chunk(b"acTL", struct.pack(">II", 1, 0)), after=hidden), rgb, 0,
        ),
    }  # fmt: skip


@cache
def jpeg_rows() -> dict[str, Row]:
    rgb, p3 = photograph(), in_p3(photograph())

    def jpeg(pixels: Pixels | Image.Image, *segments: bytes, **options: Any) -> bytes:
        data = saved(pixels, "JPEG", quality=97, subsampling=0, **options)
        return data[:2] + b"".join(b"\xff\xe1" + struct.pack(">H", len(one) + 2) + one for one in segments) + data[2:]

    linear = np.rint(255 * light_of(grey())).astype(np.uint8)
    turned = {f"jpeg, EXIF {way}": (jpeg(as_stored(way, rgb), b"Exif\0\0" + exif(way)), rgb, 2.0) for way in range(2, 9)}
    return turned | {
        "jpeg": (jpeg(rgb), rgb, 2),
        "jpeg, progressive": (jpeg(rgb, progressive=True), rgb, 2),
        "jpeg, grey": (jpeg(grey()), coloured(grey()), 2),
        "jpeg, inks": (jpeg(Image.fromarray(cmyk(), "CMYK")), rgb, 3),
        "jpeg, Display P3": (jpeg(p3, icc_profile=P3), rgb, 3),
        "jpeg, grey of linear light": (jpeg(linear, icc_profile=profile(None, "linear", 1.0)), coloured(grey()), 6),
        "jpeg, grey with a profile of colours": (jpeg(grey(), icc_profile=P3), coloured(grey()), 2),
        "jpeg, colours with a profile of grey": (jpeg(rgb, icc_profile=profile(None, "linear", 1.0)), rgb, 2),
        "jpeg, XMP 6": (jpeg(rgb, b"http://ns.adobe.com/xap/1.0/\0" + XMP), rgb, 2),
        "jpeg, EXIF 1 beside XMP 6": (jpeg(rgb, b"Exif\0\0" + exif(1), b"http://ns.adobe.com/xap/1.0/\0" + XMP), rgb, 2),
        "jpeg, EXIF of rubbish": (jpeg(rgb, b"Exif\0\0" + bytes(range(60))), rgb, 2),
        "jpeg, two in one": (
            saved(rgb, "MPO", save_all=True, quality=97, subsampling=0, append_images=[Image.new("RGB", (9, 9))]), rgb, 2,
        ),
    }  # fmt: skip


@cache
def tiff_rows() -> dict[str, Row]:
    rgb, p3 = photograph(), in_p3(photograph())
    small, mask = np.ascontiguousarray(rgb[::8, ::8]), grey_at(1)
    red_above, inks, lab = np.full_like(rgb, 255), np.zeros_like(cmyk()), np.zeros_like(rgb)
    half = len(rgb) // 2
    red_above[:half], inks[:half], lab[:half], lab[half:] = (255, 0, 0), (0, 255, 255, 0), (138, 81, 70), (255, 0, 0)
    printed = [(54.29, 80.80, 69.89) if ink == 0b0110 else (100 * (ink == 0), 0, 0) for ink in range(16)]  # sRGB's red, in Lab
    few = Image.fromarray(rgb).quantize(64)
    rows: dict[str, Row] = {f"tiff, turned {way}": (tiff(page(as_stored(way, rgb), t274=way)), rgb, 0) for way in range(2, 9)}
    for bits in (1, 2, 4, 8, 12, 16):
        shown = coloured(255 * grey_at(bits) / (2**bits - 1))
        for order in "<>":
            dark = tiff(page(2**bits - 1 - grey_at(bits), bits=bits, photometric=0, order=order), order=order)
            rows[f"tiff, {bits} bits, white is 0, {order}"] = dark, shown, 0
            rows[f"tiff, {bits} bits, {order}"] = tiff(page(grey_at(bits), bits=bits, order=order), order=order), shown, 0
    return rows | {
        "tiff": (tiff(page(rgb)), rgb, 0),
        "tiff, packed": (saved(rgb, "TIFF", compression="tiff_lzw"), rgb, 0),
        "tiff, planes": (tiff(page(rgb, t284=2)), rgb, 0),
        "tiff, colours of 16 bits": (tiff(page(rgb.astype(np.int64) * 257, bits=16)), rgb, 0),
        "tiff, real numbers up to 1": (tiff(page(grey() / 510, bits=32, t339=3)), coloured(grey() * 0.5), 0.5),
        "tiff, inks": (tiff(page(cmyk(), photometric=5)), rgb, 1),
        "tiff, inks of 16 bits": (tiff(page(cmyk().astype(np.int64) * 257, bits=16, photometric=5)), rgb, 1),
        "tiff, inks of a press": (tiff(page(inks, photometric=5, t34675=press_profile(printed))), red_above, 1),
        "tiff, Lab": (tiff(page(lab, photometric=8)), red_above, 3),
        "tiff, palette": (saved(few, "TIFF"), np.asarray(few.convert("RGB")), 0),
        "tiff, clear above": (saved(clear_above(), "TIFF"), half_white(rgb), 0),
        "tiff, Display P3": (tiff(page(p3, t34675=P3)), rgb, 1),
        "tiff, XMP 6": (tiff(page(rgb, t700=XMP)), rgb, 0),
        "tiff, a small copy first": (tiff(page(small, t254=1), page(rgb)), rgb, 0),
        "tiff, an old small copy first": (tiff(page(small, t255=2), page(rgb, t255=1)), rgb, 0),
        "tiff, a small copy and a mask first": (
            tiff(page(small, t254=1), page(mask, bits=1, photometric=4, t254=4), page(rgb), page(small)), rgb, 0,
        ),
        "tiff, small copies alone": (tiff(page(small, t254=1), page(rgb, t254=1), page(small, t254=1)), rgb, 0),
        "tiff, two pages": (tiff(page(rgb), page(np.full_like(rgb, 255))), rgb, 0),
    }  # fmt: skip


@cache
def other_rows() -> dict[str, Row]:
    rgb, p3 = photograph(), in_p3(photograph())
    height, width = grey().shape
    few = Image.fromarray(rgb).quantize(64)
    part = bytearray(saved(grey()[height // 2 :], "GIF"))
    struct.pack_into("<H", part, 8, height)
    at = part.index(b"\x2c" + struct.pack("<HHHH", 0, 0, width, height - height // 2))
    struct.pack_into("<H", part, at + 3, height // 2)
    square = Image.fromarray(rgb).resize((256, 256), Image.Resampling.BICUBIC)
    avif_of_p3 = saved(p3, "AVIF", quality=95)
    code = avif_of_p3.index(b"colrnclx") + 8
    return {
        "webp": (saved(rgb, "WEBP", lossless=True), rgb, 0),
        "webp, lossy": (saved(rgb, "WEBP", quality=95), rgb, 4),
        "webp, clear above": (saved(clear_above(), "WEBP", lossless=True), half_white(rgb), 0),
        "webp, Display P3": (saved(p3, "WEBP", lossless=True, icc_profile=P3), rgb, 1),
        "webp, EXIF 3": (saved(as_stored(3, rgb), "WEBP", lossless=True, exif=b"Exif\0\0" + exif(3)), rgb, 0),
        "gif": (saved(grey(), "GIF"), coloured(grey()), 0),
        "gif, a frame on the lower half": (bytes(part), half_white(coloured(grey())), 0),
        "bmp": (saved(rgb, "BMP"), rgb, 0),
        "bmp, palette": (saved(few, "BMP"), np.asarray(few.convert("RGB")), 0),
        "heic": (saved(rgb, "HEIF", quality=95), rgb, 3),
        "heic, EXIF 6": (saved(as_stored(6, rgb), "HEIF", exif=b"Exif\0\0" + exif(6), quality=95), rgb, 3),
        "heic, Display P3": (saved(p3, "HEIF", icc_profile=P3, quality=95), rgb, 3),
        "avif": (saved(rgb, "AVIF", quality=95), rgb, 4),
        "avif, EXIF 5": (saved(as_stored(5, rgb), "AVIF", exif=exif(5), quality=95), rgb, 4),
        "avif, P3 by codes": (avif_of_p3[:code] + b"\0\x0c\0\x0d" + avif_of_p3[code + 4 :], rgb, 4),
        "icon of three sizes": (saved(square, "ICO", sizes=[(16, 16), (256, 256), (32, 32)]), np.asarray(square), 0),
    }


def on_white(data: bytes) -> Pixels:
    """A file's pixels as a page of a browser has them."""
    picture = decode(data)
    if picture.alpha is None:
        return picture.rgb
    share = picture.alpha[..., None] / 255
    return np.rint(picture.rgb * share + 255 * (1 - share)).astype(np.uint8)


@cache
def answers() -> tuple[PhotoAnswer, PhotoAnswer]:
    """The photograph's, and in grey."""
    return classify_photo(saved(photograph(), "PNG")), classify_photo(saved(coloured(grey()), "PNG"))


@pytest.mark.parametrize("rows", [png_rows, jpeg_rows, tiff_rows, other_rows])
def test_each_encoding_is_what_a_browser_shows_and_is_answered_alike(rows: Any) -> None:
    """The first of those that give the same pixels is asked: the model sees nothing else of a file."""
    wrong, asked = {}, set[bytes]()
    for name, (data, expected, apart) in rows().items():
        try:
            pixels = on_white(data)
        except PictureError as error:
            wrong[name] = str(error)
            continue
        if pixels.shape != expected.shape:
            wrong[name] = f"{pixels.shape}, not {expected.shape}"
        elif (gap := np.abs(pixels.astype(int) - expected).mean()) > apart:
            wrong[name] = f"{gap:.2f} levels apart"
        unlike = expected.shape != photograph().shape or (expected[0] == 255).all()  # a square, half a pair of trousers
        if unlike or any(one in name for one in ("bits", "real", "press", "Lab")) or pixels.tobytes() in asked:
            continue
        asked.add(pixels.tobytes())
        like, answer = answers()[int((expected[..., :1] == expected).all())], classify_photo(data)
        if answer.name != like.name or abs(answer.probability - like.probability) > 0.05:
            wrong[name] = repr(answer)
    assert not wrong


@pytest.mark.parametrize(("transfer", "name"), [(16, "PQ"), (18, "HLG")])
def test_a_picture_of_high_dynamic_range_says_that_its_light_is_not_mapped(transfer: int, name: str) -> None:
    rgb = photograph()
    assert name in decode(png(rgb, chunk(b"cICP", bytes((9, transfer, 0, 1))))).done["high_range"]
    assert "high_range" not in decode(png(rgb, chunk(b"cICP", bytes((9, 13, 0, 1))))).done
