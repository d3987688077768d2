"""Decodes picture files of any size, mode, orientation and kind to RGB with transparency, and refuses bad ones.

The size is read from the header before anything is decoded, so that a picture of 400 million pixels is refused at once.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError
from pillow_heif import register_heif_opener

from core.messages import Refusal, compose
from core.store import BoundedStore

register_heif_opener()
Image.init()  # `open` with named formats looks for no others by itself

Bytes = npt.NDArray[np.uint8]

KINDS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF")
"""Formats that Pillow may recognise a file as."""
SUFFIXES: Final = ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "heic", "heif", "avif")
MAX_PIXELS: Final = 64_000_000
"""Pixels that may be decoded; 256 MB while they are."""
MAX_JPEG_PIXELS: Final = 220_000_000
"""Pixels of a baseline JPEG, of which an eighth of each side is decoded: above the 108 and 200 megapixels of phones."""
Image.MAX_IMAGE_PIXELS = MAX_JPEG_PIXELS // 2  # Pillow refuses twice as many, and warns from here on
WORK_SIDE: Final = 768
"""Longest side that is kept: over 27 times what the model sees."""
STRIP_PIXELS: Final = 1 << 20
"""Pixels of a deep picture that are scaled at a time."""
KEPT: Final = 64
"""Pictures that a process keeps, at 2.4 MB at most each."""

Note = Literal["animated", "pages", "turned", "reduced"]

UPRIGHT: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""The operation that sets a picture upright, by its EXIF orientation; from 5 on it exchanges width and height."""

_STARTS: Final = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"BM",
    b"II*\x00",
    b"MM\x00*",
    b"II+\x00",
    b"MM\x00+",
)
"""First bytes of the formats, except those in RIFF and ISO containers, whose mark stands further in."""


class PictureError(Refusal, ValueError):
    """A file without a picture that can be read; the message says why and what would be right."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A decoded picture, upright. The arrays are shared: do not write to them.

    Attributes:
        name: of its file. id: first twelve hex digits of the file's SHA-256, which links hold.
        rgb: (height, width, 3). alpha: (height, width), 255 opaque; None where all of it is.
        width, height: of the file, upright, before it was reduced to `WORK_SIDE`.
        kind: such as "JPEG". mode: Pillow's name of how the file keeps its pixels, such as "CMYK".
        frames: pictures in the file, of which this is the first.
        notes: what was done to it, for a person to read.
    """

    name: str
    id: str
    rgb: Bytes
    alpha: Bytes | None
    width: int
    height: int
    kind: str
    mode: str
    frames: int = 1
    notes: tuple[Note, ...] = ()


def decode(data: bytes, *, name: str = "", max_pixels: int = MAX_PIXELS) -> Picture:
    """The picture in a file's bytes.

    Raises:
        PictureError: for an empty file, one of another kind, a damaged or cut one, or more than `max_pixels` pixels to decode.
    """
    if not data:
        raise PictureError(compose("the file is empty (0 bytes): choose one with a picture in it"))
    try:
        opened = Image.open(BytesIO(data), formats=KINDS)
    except Image.DecompressionBombError as error:
        raise _too_large(max_pixels) from error
    except UnidentifiedImageError as error:
        raise _not_read(data) from error
    except Exception as error:  # a decoder that meets damage may raise almost anything
        raise _damaged() from error
    with opened:
        size = opened.size
        opened.draft(None, (WORK_SIDE, WORK_SIDE))  # a large JPEG is decoded at a half, a quarter or an eighth
        decoded = size if opened.info.get("progressive") else opened.size  # a progressive one keeps all coefficients in memory
        if decoded[0] * decoded[1] > max_pixels or size[0] * size[1] > MAX_JPEG_PIXELS:
            raise _too_large(max_pixels, size)
        try:
            return _upright(opened, data, name, size)
        except MemoryError as error:
            raise _too_large(max_pixels, size) from error
        except Exception as error:
            raise _damaged() from error


def from_pixels(image: Bytes, *, name: str) -> Picture:
    """A picture of levels (height, width), or (height, width, 3) in colour: a bundled test image, a camera's frame."""
    digest = hashlib.sha256(image.tobytes()).hexdigest()[:12]
    height, width = image.shape[:2]
    rgb, mode = (image, "RGB") if image.ndim == 3 else (np.repeat(image[..., None], 3, axis=-1), "L")
    return Picture(name=name, id=digest, rgb=rgb, alpha=None, width=width, height=height, kind="PNG", mode=mode)


def png(image: Bytes) -> bytes:
    """(height, width) or (height, width, 3) as a PNG file's bytes."""
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, format="PNG", compress_level=1)  # a third of the time, a twentieth larger
    return buffer.getvalue()


def _upright(opened: Image.Image, data: bytes, name: str, size: tuple[int, int]) -> Picture:
    kind, mode, notes = str(opened.format), opened.mode, list[Note]()
    frames = _frame_count(data)
    if frames > 1 and kind in ("GIF", "PNG", "WEBP"):
        notes.append("animated")
    elif frames > 1 and kind == "TIFF":
        notes.append("pages")
    opened.load()
    whole = _plain(opened)
    orientation = _orientation(opened)
    if orientation != 1:
        notes.append("turned")
        whole = whole.transpose(UPRIGHT[orientation])
        size = (size[1], size[0]) if orientation >= 5 else size
    if max(size) > WORK_SIDE:
        notes.append("reduced")
        whole.thumbnail((WORK_SIDE, WORK_SIDE), Image.Resampling.BOX, reducing_gap=None)
    pixels = np.asarray(whole.convert("RGB") if whole.mode == "L" else whole)
    alpha = pixels[..., 3] if pixels.shape[-1] == 4 and pixels[..., 3].min() < 255 else None
    return Picture(
        name=name,
        id=hashlib.sha256(data).hexdigest()[:12],
        rgb=np.ascontiguousarray(pixels[..., :3]),
        alpha=None if alpha is None else np.ascontiguousarray(alpha),
        width=size[0],
        height=size[1],
        kind="JPEG" if kind == "MPO" else kind,  # as phones and cameras have it, with a second picture in it
        mode=mode,
        frames=frames if notes[:1] in (["animated"], ["pages"]) else 1,
        notes=tuple(notes),
    )


def _frame_count(data: bytes) -> int:
    """Pictures in a file; 1 where the later ones are damaged.

    Counted in a file of its own: counting moves Pillow to the last page, whose colours it may then expect of the first.
    """
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            return int(getattr(image, "n_frames", 1))
    except Exception:  # a decoder that meets damage may raise almost anything
        return 1


def _plain(image: Image.Image) -> Image.Image:
    """Grey, RGB, or RGBA where something shows through; deep grey levels are brought to eight bits, which `convert` would clip.

    Grey stays grey, one byte a pixel instead of four, until it has been reduced.
    """
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image)
    see_through = image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info
    if image.mode in ("RGBa", "La"):
        image = image.convert("RGBA" if image.mode == "RGBa" else "LA")
    if see_through:
        return image.convert("RGBA")
    return image if image.mode == "L" else image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Grey levels of eight bits: a 257th of 16-bit ones; 32-bit and real ones from their smallest to their largest.

    A strip at a time, so that a picture of 64 megapixels needs no second copy in a wider type. What is no number counts as 0.
    """
    height = max(1, STRIP_PIXELS // image.width)
    strips = [(0, top, image.width, min(top + height, image.height)) for top in range(0, image.height, height)]
    low, high = 0.0, 65_535.0
    if not image.mode.startswith("I;16"):
        extents = [(float(levels.min()), float(levels.max())) for levels in (_levels(image, strip) for strip in strips)]
        smallest, largest = min(one for one, _ in extents), max(one for _, one in extents)
        if image.mode == "F" or smallest < 0 or not 255 < largest <= 65_535:
            low, high = smallest, largest
    factor = 255 / (high - low) if high > low else 0.0
    eight = Image.new("L", image.size)
    for strip in strips:
        scaled = np.rint((_levels(image, strip) - low) * factor).clip(0, 255)
        eight.paste(Image.fromarray(scaled.astype(np.uint8)), strip)
    return eight


def _levels(image: Image.Image, box: tuple[int, int, int, int]) -> npt.NDArray[np.float64]:
    """(height, width) of a part of the picture."""
    levels = np.asarray(image.crop(box)).astype(np.float64)
    return np.nan_to_num(levels, copy=False, nan=0.0, posinf=0.0, neginf=0.0) if image.mode == "F" else levels


def _orientation(image: Image.Image) -> int:
    """EXIF's orientation, 2 to 8; 1, upright, where it is missing, senseless or damaged."""
    try:
        number = image.getexif().get(0x0112, 1)
    except (SyntaxError, ValueError, OSError, KeyError, struct.error):
        return 1
    return int(number) if number in UPRIGHT else 1


def _too_large(most: int, size: tuple[int, int] | None = None) -> PictureError:
    limit = compose("at most {count} million pixels are decoded here, so make it smaller first", count=most // 1_000_000)
    if size is None:
        return PictureError("the picture is too large: {limit}", limit=limit)
    return PictureError("the picture is {width:,} x {height:,} pixels: {limit}", width=size[0], height=size[1], limit=limit)


def _not_read(data: bytes) -> PictureError:
    if data[:1024].lstrip().startswith(b"%PDF"):
        return PictureError(compose("the file is a PDF, whatever its name says: export its page as a PNG or JPEG"))
    if data.startswith(_STARTS) or (data[:4] == b"RIFF" and b"WEBP".startswith(data[8:12])) or data[4:8] == b"ftyp":
        return _damaged()
    return PictureError(
        compose("the file is not a picture that can be read here: choose a PNG, JPEG, WebP, GIF, BMP, TIFF, HEIC or AVIF")
    )


def _damaged() -> PictureError:
    return PictureError(compose("the file is damaged or cut short: save or download it again"))


STORE: Final[BoundedStore[Picture]] = BoundedStore(
    key=lambda picture: picture.id,
    size=lambda picture: picture.rgb.nbytes + (0 if picture.alpha is None else picture.alpha.nbytes),
    most=KEPT,
    max_bytes=KEPT * 4 * WORK_SIDE**2,
)
"""The pictures that visitors gave this process; `STORE.keep(picture)` returns the id for a link."""
