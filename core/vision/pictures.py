"""Decodes picture files of any size, mode, orientation and kind to what a browser shows (D41), and refuses bad ones.

The size is read from the header before anything is decoded, so that a picture of 400 million pixels is refused at once. Whatever
was done to the pixels is said in `Picture.done`.
"""

import hashlib
import math
from dataclasses import dataclass, field
from io import BytesIO
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from core import picture_headers
from core.messages import Message, Refusal, compose
from core.store import BoundedStore, Limit
from core.vision import colours, picture_files
from core.vision.picture_files import KINDS, MAX_SCANS, PngParts, TiffPage

Bytes = npt.NDArray[np.uint8]

SUFFIXES: Final = ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "heic", "heif", "avif", "ico")
MAX_PIXELS: Final = 24_000_000
"""Pixels that may be decoded; 96 MB of them, and as many again while they are turned or brought to another mode."""
MAX_JPEG_PIXELS: Final = 220_000_000
"""Pixels of a baseline JPEG, of which an eighth of each side is decoded: above the 108 and 200 megapixels of phones."""
Image.MAX_IMAGE_PIXELS = MAX_JPEG_PIXELS // 2  # Pillow refuses twice as many, and warns from here on
WORK_SIDE: Final = 768
"""Longest side that is kept: over 27 times what the model sees."""
STRIP_PIXELS: Final = 1 << 20
"""Pixels of a deep picture that are scaled at a time."""
KEPT: Final = Limit(total=128, address=96, visitor=48)
"""Pictures that a process keeps, at 2.4 MB at most each."""

Done = Literal["animated", "page", "bits", "mirrored", "turned", "reduced", "profile", "high_range"]
"""What may be done to a file's pixels before they are seen, in its order."""

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
MIRRORED: Final = (2, 4, 5, 7)
DEGREES: Final = {3: 180, 4: 180, 5: 270, 6: 90, 7: 90, 8: 270}
"""By how much an orientation turns, clockwise, once left and right are exchanged in those `MIRRORED`."""


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
        frames: pictures in the file, of which this is one; counted up to two where each must be read for it (GIF, TIFF).
        done: what was done to its pixels, each as a clause for a person, which keeps its numbers.
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
    done: dict[Done, Message] = field(default_factory=dict)


def decode(data: bytes, *, name: str = "", max_pixels: int = MAX_PIXELS) -> Picture:
    """The picture in a file's bytes.

    Raises:
        PictureError: for an empty file, one of another kind, a damaged or cut one, or more than `max_pixels` pixels to decode.
        MemoryError: where the process may not take what it needs.
    """
    if not data:
        raise PictureError("the file is empty (0 bytes): choose one with a picture in it")
    kind = picture_files.kind_of(data)
    page = picture_files.meant_page(data) if kind == "TIFF" else TiffPage(data=data)
    parts = picture_files.png_parts(data) if kind == "PNG" else PngParts(data=page.data)
    size: tuple[int, int] | None = None
    if kind == "WEBP" and math.prod(size := picture_headers.webp_size(data)) > max_pixels:
        raise _too_large(max_pixels, size)
    try:
        with Image.open(BytesIO(parts.data), formats=KINDS) as opened:
            frames = _first_frame(opened, parts.data)
            size = opened.size
            opened.draft(None, (WORK_SIDE, WORK_SIDE))  # a large JPEG is decoded at a half, a quarter or an eighth
            scans = picture_files.jpeg_scans(data, most=MAX_SCANS + 1) if opened.format in ("JPEG", "MPO") else 1
            if scans > MAX_SCANS:
                raise PictureError("the JPEG has more than {most} scans, and each takes as long as a picture", most=MAX_SCANS)
            decoded = size if scans > 1 else opened.size  # one of several scans is held whole
            pixels = max(decoded[0] * decoded[1], picture_files.largest_in_icon(opened, data))
            if pixels > max_pixels or size[0] * size[1] > MAX_JPEG_PIXELS:
                raise _too_large(max_pixels, size)
            return _upright(opened, parts, data, name=name, size=size, page=page, frames=frames)
    except (PictureError, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        raise _too_large(max_pixels, size) from error
    except UnidentifiedImageError as error:
        raise _not_read(data) from error
    except Exception as error:  # a decoder that meets damage may raise almost anything
        raise _fault(error, data, max_pixels, size) from error


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


def _first_frame(opened: Image.Image, data: bytes) -> int:
    """Frames of an animation, 1 elsewhere; the first that is shown is sought.

    In a PNG it may stand behind a picture for programs that know no animations.
    """
    frames = _frame_count(data) if opened.format in ("GIF", "PNG", "WEBP") else 1
    if getattr(opened, "default_image", False):
        opened.seek(1)
        frames -= 1
    return frames


def _upright(
    opened: Image.Image, parts: PngParts, data: bytes, *, name: str, size: tuple[int, int], page: TiffPage, frames: int
) -> Picture:
    """Picture that a browser shows of an opened file, at its page.

    Args:
        size: as it is stored. frames: of an animation.
    """
    kind, mode, done = str(opened.format), opened.mode, dict[Done, Message]()
    if page.count > 1:
        done["page"] = compose("of several pages number {page} is taken", page=page.number + 1)
    if frames > 1:
        done["animated"] = compose("animated: the first of its frames is taken")
    bits = picture_files.bits(opened, parts)
    if bits > 8:
        done["bits"] = compose("{bits} bits a level, brought to eight", bits=bits)
    of_tiff = picture_files.orientation(opened) if kind == "TIFF" else 1  # Pillow turns a TIFF by itself, also by its XMP
    for key in ("xmp", "XML:com.adobe.xmp", "Raw profile type exif"):  # what Pillow would turn it by and a browser does not
        opened.info.pop(key, None)
    frame = opened.tile[0].extents if kind == "GIF" and opened.tile else None  # type: ignore[attr-defined]
    opened.load()
    whole = _plain(opened, bits)
    if frame is not None and frame != (0, 0, *size):  # an animation's first frame may leave parts of its screen free
        part, whole = whole.convert("RGBA").crop(frame), Image.new("RGBA", whole.size)
        whole.paste(part, frame[:2])
    way = 1 if kind == "TIFF" else picture_files.orientation(opened, parts.chunks.get(b"eXIf", b""))
    if way != 1:
        whole = whole.transpose(UPRIGHT[way])
        size = (size[1], size[0]) if way >= 5 else size
    way = max(way, of_tiff)
    if way in MIRRORED:
        done["mirrored"] = compose("mirrored")
    if way in DEGREES:
        done["turned"] = compose("turned by {degrees}°", degrees=DEGREES[way])
    if max(whole.size) > WORK_SIDE or max(size) > WORK_SIDE:
        done["reduced"] = compose("reduced for what follows")
        whole.thumbnail((WORK_SIDE, WORK_SIDE), Image.Resampling.BOX, reducing_gap=None)
    alpha = np.asarray(whole.getchannel("A")) if whole.mode == "RGBA" else None
    rgb, profile = _in_srgb(whole.convert("RGB") if whole.mode == "RGBA" else whole, opened, parts, data)
    if (codes := picture_files.codes(opened, parts, data)) and codes[1] in picture_headers.HIGH_RANGE:
        done["high_range"] = picture_headers.high_range(codes[1])
    if profile:
        done["profile"] = compose("colours of {profile} brought to sRGB", profile=profile)
    return Picture(
        name=name,
        id=hashlib.sha256(data).hexdigest()[:12],
        rgb=np.ascontiguousarray(rgb),
        alpha=None if alpha is None or alpha.min() == 255 else np.ascontiguousarray(alpha),
        width=size[0],
        height=size[1],
        kind="JPEG" if kind == "MPO" else kind,  # as phones and cameras have it, with a second picture in it
        mode=mode,
        frames=max(frames, page.count),
        done=done,
    )


def _in_srgb(image: Image.Image, opened: Image.Image, parts: PngParts, data: bytes) -> tuple[Bytes, str]:
    """Pixels (height, width, 3), and what their colours were brought from; "" where they are those of the file."""
    profile = parts.profile or opened.info.get("icc_profile") or b""
    codes = picture_files.codes(opened, parts, data)
    name = ""
    if profile and not (codes and opened.format == "PNG"):  # a PNG's codes go before its profile
        image, name = colours.from_profile(image, profile)
        codes = None
    rgb = np.asarray(colours.from_lab(image) if image.mode == "LAB" else image.convert("RGB"))
    if codes:
        return colours.from_codes(rgb, *codes)
    gamma = None if profile else picture_files.gamma(parts)
    return colours.from_gamma(rgb, *gamma) if gamma else (rgb, name)


def _frame_count(data: bytes) -> int:
    """Pictures in a file; 1 where the later ones are damaged.

    Counted in a file of its own, as counting moves Pillow; of a GIF up to two, as each has to be decoded.
    """
    try:
        with Image.open(BytesIO(data), formats=KINDS) as image:
            if image.format == "GIF":
                image.seek(1)
                return 2
            return int(getattr(image, "n_frames", 1))
    except Exception:  # a decoder that meets damage may raise almost anything
        return 1


def _plain(image: Image.Image, bits: int) -> Image.Image:
    """Grey, RGB, CMYK or LAB, or RGBA where something shows through; deep grey levels are brought to eight bits.

    Grey stays grey, one byte a pixel instead of four, until it has been reduced.
    """
    clear = image.info.get("transparency")
    if image.mode.startswith("I") or image.mode == "F":
        eight = _eight_bits(image, bits)
        if isinstance(clear, int):
            eight = Image.merge("LA", (eight, Image.fromarray(np.where(np.asarray(image) == clear, 0, 255).astype(np.uint8))))
        return eight if eight.mode == "L" else eight.convert("RGBA")
    if isinstance(clear, int) and image.mode == "L" and bits < 8:  # Pillow leaves it in the file's few bits
        image.info["transparency"] = clear * 255 // (2**bits - 1)
    elif isinstance(clear, tuple) and bits == 16:
        image.info["transparency"] = tuple(level >> 8 for level in clear)
    see_through = image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or clear is not None
    if image.mode in ("RGBa", "La"):
        image = image.convert("RGBA" if image.mode == "RGBa" else "LA")
    if see_through:
        return image.convert("RGBA")
    return image if image.mode in ("L", "CMYK", "LAB") else image.convert("RGB")


def _eight_bits(image: Image.Image, bits: int) -> Image.Image:
    """Grey levels of eight bits: of unsigned ones of up to 16 bits the whole range; others from their smallest to their largest.

    A strip at a time, so that a picture of 64 megapixels needs no second copy in a wider type. What is no number counts as 0.
    """
    height = max(1, STRIP_PIXELS // image.width)
    strips = [(0, top, image.width, min(top + height, image.height)) for top in range(0, image.height, height)]
    low, high = 0.0, float(2**bits - 1 if bits <= 16 else 65_535)
    if not image.mode.startswith("I;16"):
        extents = [(float(levels.min()), float(levels.max())) for levels in (_levels(image, strip) for strip in strips)]
        smallest, largest = min(one for one, _ in extents), max(one for _, one in extents)
        if image.mode == "F" and smallest >= 0 and largest <= 1:
            low, high = 0.0, 1.0
        elif image.mode == "F" or smallest < 0 or not 255 < largest <= 65_535:
            low, high = smallest, largest
    factor = 255 / (high - low) if high > low else 0.0
    eight = Image.new("L", image.size)
    dark = picture_files.white_is_zero(image)
    for strip in strips:
        scaled = np.rint((_levels(image, strip) - low) * factor).clip(0, 255)
        eight.paste(Image.fromarray((255 - scaled if dark else scaled).astype(np.uint8)), strip)
    return eight


def _levels(image: Image.Image, box: tuple[int, int, int, int]) -> npt.NDArray[np.float64]:
    """(height, width) of a part of the picture."""
    levels = np.asarray(image.crop(box)).astype(np.float64)
    return np.nan_to_num(levels, copy=False, nan=0.0, posinf=0.0, neginf=0.0) if image.mode == "F" else levels


def _too_large(most: int, size: tuple[int, int] | None = None) -> PictureError:
    limit = compose("at most {count} million pixels are decoded here, so make it smaller first", count=most // 1_000_000)
    if size is None:
        return PictureError("the picture is too large: {limit}", limit=limit)
    return PictureError("the picture is {width:,} x {height:,} pixels: {limit}", width=size[0], height=size[1], limit=limit)


def _not_read(data: bytes) -> PictureError:
    if data[:1024].lstrip().startswith(b"%PDF"):
        return PictureError("the file is a PDF, whatever its name says: export its page as a PNG or JPEG")
    if picture_files.is_film(data):
        return PictureError("the file is a film: films of signs are read on their own page, a garment from a still")
    if (kind := picture_files.kind_of(data)) is not None:
        return _unread(kind) if picture_files.is_unread(data, kind) else _damaged()
    return PictureError("the file is not a picture that can be read here: choose a PNG, JPEG, WebP, GIF, BMP, TIFF, HEIC or AVIF")


def _fault(error: Exception, data: bytes, most: int, size: tuple[int, int] | None) -> PictureError:
    """The cause of a decoder's error."""
    words = str(error).lower()
    if any(word in words for word in ("limit", "too large", "too big", "bomb")):
        return _too_large(most, size)
    return _unread(picture_files.kind_of(data) or "") if picture_files.says_unread(error) else _damaged()


def _unread(kind: str) -> PictureError:
    return PictureError("this {kind} file keeps its pixels in a way that is not read here: save it as a PNG or JPEG", kind=kind)


def _damaged() -> PictureError:
    return PictureError("the file is damaged or cut short: save or download it again")


STORE: Final[BoundedStore[Picture]] = BoundedStore(
    key=lambda picture: picture.id,
    size=lambda picture: picture.rgb.nbytes + (0 if picture.alpha is None else picture.alpha.nbytes),
    limit=KEPT,
    max_bytes=KEPT.total * 4 * WORK_SIDE**2,
)
"""The pictures that visitors gave this process; `STORE.keep(picture)` returns the id for a link."""
