"""From any picture to the image that the ViT reads, in named steps.

The model knows garments as Fashion-MNIST made them, so the steps are that data set's own (Xiao, Rasul and Vollgraf 2017,
section 2): trim the edges that are within 5 % of the corners' colour, bring the longest edge to 28 pixels, sharpen with a
Gaussian of radius and deviation 1, extend the shortest edge to 28 around the centre, negate, turn grey. Three things are added
for ordinary pictures: transparent parts get a background, the negation is left out where the background is dark already, and the
background is brought to black. An image of 28 x 28 pixels counts as prepared: it is negated at most. A model that was trained on
photographs reads them as they are: in colour, without a uniform border around them, padded to a square with the colour of the
corners, and made smaller.

Trimmed by this rule, 99.6 % of the data set's training images have a longest side of 27 or 28 pixels.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.vision.classifier import Manner, default_name
from core.vision.garments import Edges, FoundGarment
from core.vision.pictures import Bytes, Picture

SIDE: Final = 28
TOLERANCE: Final = 0.05
"""The data set's: how far from the corners' colour an edge may be to be trimmed, of the whole range."""
LIGHT, DARK = 224, 32
"""Levels from which on a background counts as light, or as dark, whatever stands before it."""
COLOURED: Final = 0.005
"""Share of pixels with a colour above which a picture is not grey."""
SMALL: Final = 40
"""Sides up to which a picture is as small as the data set's."""
SHARP: Final = 0.2
"""Error of the worst hundredth of a picture's pixels, of its range, where 28 x 28 pixels do not hold it: the data set's images,
enlarged in any way, stay below 0.15, and a drawn shape is above 0.24."""
BORDER_NOISE: Final = (0.03, 0.15)
"""Largest distance of a border's pixels from its median, in grey level and in a colour: JPEG blurs colours more."""
BORDER_LINE: Final = 0.97
"""Share of a line's pixels that are so near."""
BORDER_EDGE: Final = 0.75
"""Share of a line's pixels that have another colour where a border ends: a garment on plain ground ends in a few."""
BORDER_BLUR: Final = 10
"""Pixels over which a border may end: JPEG's blocks of 8 blur it."""
LINES: Final = 64
"""Lines that are looked at together for a border's end."""
MIN_INSIDE: Final = 0.25
"""Share of a side that a border leaves."""
MAX_FRAMES: Final = 3
"""Borders inside one another, such as a white one within the black bars of a screen."""
STATUS_BAR: Final = 0.08
"""Share of a side within which the clock and signs of a phone's status bar stand."""
STATUS_INK: Final = 0.4
"""Share of a line's pixels that these cover at most."""
MAX_NOISE: Final = 40.0
"""Levels; corners that vary more show part of a scene, not noise."""

StepName = Literal["ground", "border", "turn", "grey", "invert", "black", "crop", "pad", "resize", "sharpen"]

Switch = Literal["auto", "none"]
Crop = Literal["auto", "whole"] | Edges

_Levels = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The choices of the preparation.

    Attributes:
        manner: as the data set made its images, or, for a model that was trained on photographs, in colour, with no crop, no
            negation, no darkened background and no sharpening.
        border: "auto" cuts off a uniform border of any colour, or the bars of a screen, for photographs; "none" leaves it.
        turn: "auto" sets a picture upright where the model says that it lies on a side; "none" leaves it as it lies.
        crop: "auto" by a tolerance the corners' noise asks for, at least the data set's 5 %, and in the manner of photographs not
            at all; "whole" not at all; else the edges of a box.
    """

    manner: Manner = "dataset"
    border: Switch = "auto"
    turn: Switch = "auto"
    crop: Crop = "auto"


PHOTOGRAPH: Final = Recipe(manner="photograph")
"""For a model that was trained on photographs: its border cut off, padded to a square, made smaller, and nothing else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedPicture:
    """A picture taken through all steps.

    Attributes:
        done: steps that changed it, in their order.
        upright: (height, width, 3), on white, without its border, set upright.
        square: (n, n), or (n, n, 3) in the manner of photographs, before it is brought to the model's size.
        image: what the model reads, (side, side), or (side, side, 3) in the manner of photographs.
        box: left, top, right and bottom of the crop, pixels of the picture without its border, set upright.
        quarters: by how many quarter turns counterclockwise it was set upright.
        blank: whether nothing stood out from the background, so that there was nothing to crop to.
        unturned: what the model would read of it as it was given, where it was set upright by itself; None elsewhere.
        empty: whether the whole picture is of one grey level, within `TOLERANCE`, so that there is nothing to classify.
        garments: two or three garments in it, the largest first; none where it shows one (`core.vision.uprightness`).
    """

    done: tuple[StepName, ...]
    upright: Bytes
    square: Bytes
    image: Bytes
    box: tuple[int, int, int, int]
    quarters: int
    blank: bool
    empty: bool
    unturned: Bytes | None = None
    garments: tuple[FoundGarment, ...] = ()


def prepare(picture: Picture, recipe: Recipe | None = None, *, lies: int = 0, side: int = SIDE) -> PreparedPicture:
    """Take a picture through all steps.

    Args:
        side: of what the model reads, pixels.
        lies: by how many quarter turns counterclockwise the picture lies, as far as is known (`core.vision.uprightness`).

    Raises:
        ValueError: for a box without room in it, or percentages outside 0 to 100.
    """
    r = recipe or Recipe()
    _check(r.crop)
    ready, photograph = is_prepared(picture), r.manner == "photograph"
    whole = _on_white(picture)
    left, top, right, bottom = border_box(whole) if photograph and r.border == "auto" else (0, 0, *whole.shape[1::-1])
    quarters = -lies % 4 if r.turn == "auto" else 0
    coloured = np.ascontiguousarray(np.rot90(whole[top:bottom, left:right], quarters))

    # Tones: grey levels on a black ground, or the colours of a photograph as they are.
    levels = coloured if photograph else luminance(coloured)  # (height, width, 3), or (height, width)
    grey = luminance(levels)
    behind, noise = background(grey)
    negate = not photograph and is_light(grey, behind)
    levels, behind = (255 - levels, 255 - behind) if negate else (levels, behind)
    floor = min(behind + 2 * noise, 254.0)
    blacken = not photograph and not ready and floor > 0
    if blacken:
        levels, behind = ((levels - floor) * (255 / (255 - floor))).clip(0, 255), 0.0

    # Size: cropped to what stands out, filled up to a square, resized, and sharpened where it became smaller.
    crop: Crop = "whole" if photograph and r.crop == "auto" else r.crop
    tolerance = 100 * (max(TOLERANCE, 2.5 * noise / 255) if crop == "auto" else TOLERANCE)
    box, blank = _box(luminance(levels), behind, tolerance, crop, ready=ready)
    fill = [0.0 if blacken else background(one)[0] for one in _channels(levels)]
    cropped = levels[box[1] : box[3], box[0] : box[2]]
    square = [_square(one, fill=level) for one, level in zip(_channels(cropped), fill, strict=True)]
    sharpen = not photograph and len(square[0]) > side
    small = [sharpened(_resized(one, side)) if sharpen else _resized(one, side) for one in square]
    done: dict[StepName, bool] = {
        "ground": picture.alpha is not None,
        "border": coloured.size < whole.size,
        "turn": quarters != 0,
        "grey": not photograph and bool((picture.rgb[..., :1] != picture.rgb).any()),
        "invert": negate,
        "black": blacken,
        "crop": cropped.size < levels.size,
        "pad": square[0].shape != cropped.shape[:2],
        "resize": len(square[0]) != side,
        "sharpen": sharpen,
    }
    return PreparedPicture(
        done=tuple(name for name, changed in done.items() if changed),
        upright=_bytes(coloured),
        square=_bytes(_together(square)),
        image=_bytes(_together(small)),
        box=box,
        quarters=quarters,
        blank=blank,
        empty=float(np.ptp(grey)) <= 255 * TOLERANCE,
    )


def _bytes(levels: _Levels) -> Bytes:
    return np.round(levels).clip(0, 255).astype(np.uint8)


def luminance(levels: _Levels) -> _Levels:
    """(height, width, 3) -> (height, width) by ITU-R BT.601; grey levels (height, width) stay as they are."""
    if levels.ndim == 2:
        return levels
    return np.asarray(levels @ np.array([0.299, 0.587, 0.114])).round(6)  # a grey pixel stays exactly what it was


def _most(levels: _Levels) -> _Levels:
    """(..., 3) -> (...): the largest of a pixel's levels, two at a time: numpy takes ten times as long to look along so few."""
    return reduce(np.maximum, np.moveaxis(levels, -1, 0))


def _channels(levels: _Levels) -> list[_Levels]:
    """Each colour's levels (height, width), or the only ones."""
    return [levels] if levels.ndim == 2 else [np.ascontiguousarray(levels[..., one]) for one in range(levels.shape[-1])]


def _together(channels: list[_Levels]) -> _Levels:
    """The opposite of `_channels`."""
    return channels[0] if len(channels) == 1 else np.stack(channels, axis=-1)


def is_prepared(picture: Picture) -> bool:
    """Tells whether a picture has the model's own 28 x 28 pixels: prepared already, by the data set or by a person."""
    return picture.rgb.shape[:2] == (SIDE, SIDE)


def like_the_data_set(picture: Picture) -> bool:
    """Tells whether a picture is made as the data set's are: grey, and of 28 x 28 pixels, or on black and no finer than that.

    On black: its corners are. No finer: both sides have `SMALL` pixels at most, or it is much the same made of 28 x 28 pixels and
    larger again (`SHARP`), as an enlarged image of the data set is, and a page of text or a drawing on black is not.
    """
    rgb = _on_white(picture)
    if float((_most(rgb) + _most(-rgb) > 255 * TOLERANCE).mean()) > COLOURED:
        return False
    if is_prepared(picture):
        return True
    levels = luminance(rgb)
    if background(levels)[0] > DARK:
        return False
    if max(levels.shape) <= SMALL:
        return True
    image = Image.fromarray(levels.astype(np.float32))
    coarse = image.resize((SIDE, SIDE), Image.Resampling.BOX)
    again = (np.asarray(coarse.resize(image.size, kind)) for kind in (Image.Resampling.BICUBIC, Image.Resampling.NEAREST))
    return min(float(np.quantile(np.abs(levels - one), 0.99)) for one in again) <= SHARP * float(np.ptp(levels))


def model_for(picture: Picture, names: list[str]) -> str:
    """The checkpoint that answers a picture where nobody chose one; pages, gallery and evaluation ask here."""
    return default_name(names, photograph=not like_the_data_set(picture))


def border_box(rgb: npt.NDArray[np.float64]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what a uniform border of a picture (height, width, 3) encloses; all of it without one.

    A border ends in a straight line: from a side on nearly every line is of one colour, up to one that is mostly of others. Each
    side is looked at by itself, so that bars above and below are found too, and what they enclose may have a border again.
    """
    height, width, _ = rgb.shape
    left, top, right, bottom = 0, 0, width, height
    for _ in range(MAX_FRAMES):
        part = rgb[top:bottom, left:right]
        above, below = _border_width(part), _border_width(part[::-1])
        middle = part[above : max(above + 1, len(part) - below)].swapaxes(0, 1)
        before, after = _border_width(middle), _border_width(middle[::-1])
        left, top, right, bottom = left + before, top + above, right - after, bottom - below
        if right - left < MIN_INSIDE * width or bottom - top < MIN_INSIDE * height:
            return 0, 0, width, height
        if not above + below + before + after:
            break
    return left, top, right, bottom


def _border_width(rgb: npt.NDArray[np.float64]) -> int:
    """Lines of a picture (lines, pixels, 3) from the first on that belong to a border, or to a status bar with one below it."""
    width = _uniform_width(rgb)
    if width:
        return width
    near = rgb[: int(STATUS_BAR * len(rgb))]
    own = np.median(near, axis=1)  # (lines, 3)
    ink = (np.abs(near - own[:, None]).max(axis=-1) > 255 * BORDER_NOISE[1]).mean(axis=1)
    written = np.flatnonzero(ink > 1 - BORDER_LINE)
    if not len(written) or ink.max() > STATUS_INK:
        return 0
    steps = 1 + np.flatnonzero(np.abs(np.diff(own, axis=0)).max(axis=1) > 1)  # a bar may end in a step too faint for an edge
    for start in sorted({1 + int(written[-1]), *(int(one) for one in steps if one > written[-1])}):
        width = _uniform_width(rgb[start:])
        if width:
            return start + width
    return 0


def _uniform_width(rgb: npt.NDArray[np.float64]) -> int:
    """Lines of a picture (lines, pixels, 3) from the first on that have one colour, where they end in an edge."""
    if not len(rgb):
        return 0
    colour = np.median(rgb[0], axis=0)

    def not_of_it(lines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(lines,): share of each line's pixels that are not of the border."""
        apart = lines - colour
        grey, most = np.abs(luminance(apart)), _most(np.abs(apart))
        return np.asarray(((grey > 255 * BORDER_NOISE[0]) | (most > 255 * BORDER_NOISE[1])).mean(axis=1))

    if not_of_it(rgb[:1])[0] > 1 - BORDER_LINE:
        return 0
    uniform = len(rgb)
    for first in range(0, len(rgb), LINES):
        others = np.flatnonzero(not_of_it(rgb[first : first + LINES]) > 1 - BORDER_LINE)
        if len(others):
            uniform = first + int(others[0])
            break
    near_end = np.abs(rgb[uniform : uniform + BORDER_BLUR] - colour).max(axis=-1)
    ends = np.flatnonzero((near_end > 255 * TOLERANCE).mean(axis=1) >= BORDER_EDGE)
    return uniform + int(ends[0]) if len(ends) else 0


def corners(levels: _Levels) -> list[_Levels]:
    """The four corners, a thirtieth of the shorter side each, one pixel at least."""
    size = max(1, min(levels.shape) // 30)
    return [levels[rows, columns] for rows in (slice(size), slice(-size, None)) for columns in (slice(size), slice(-size, None))]


def background(levels: _Levels) -> tuple[float, float]:
    """The level of the background, and its noise.

    The level is the median of the four corners' medians; the noise, how far nine in ten of a corner's pixels lie from its median.
    """
    parts = corners(levels)
    level = float(np.median([np.median(part) for part in parts]))
    apart = sorted(float(np.quantile(np.abs(part - level), 0.9)) for part in parts)
    return level, min(apart[2], MAX_NOISE)  # the third: a garment may reach into one corner


def is_light(levels: _Levels, behind: float) -> bool:
    """Tells whether to negate the picture, so that the garment becomes brighter than its background.

    A background near white or near black decides alone; in between, the difference of what stands before it does: a white shirt
    on a grey wall is brighter already.
    """
    if not DARK < behind < LIGHT:
        return behind >= LIGHT
    darker, brighter = float((behind - levels).clip(0).sum()), float((levels - behind).clip(0).sum())
    return darker > brighter if darker != brighter else behind > 127


def sharpened(levels: _Levels) -> _Levels:
    """Twice the image less its blur by a 3 x 3 Gaussian of deviation 1, over what that leaves of a flat one.

    As ImageMagick's `-sharpen 1x1`: the kernel's weights are -g but in the middle, where they are 2, all over their sum.
    """
    one = np.exp(-(np.array([-1.0, 0.0, 1.0]) ** 2) / 2)
    kernel = -np.outer(one, one) / one.sum() ** 2
    kernel[1, 1] = 2.0
    kernel /= kernel.sum()
    padded = np.pad(levels, 1, mode="edge")
    height, width = levels.shape
    mixed = sum(kernel[i, j] * padded[i : i + height, j : j + width] for i in range(3) for j in range(3))
    return np.asarray(mixed).clip(0, 255)


def _check(crop: Crop) -> None:
    if isinstance(crop, str):
        return
    left, top, right, bottom = crop
    if not all(0 <= edge <= 100 for edge in crop):
        raise ValueError("the edges of the box are percentages: each lies between 0 and 100")
    if left >= right or top >= bottom:
        raise ValueError("the box has no room in it: left must be less than right, and top less than bottom")


def _on_white(picture: Picture) -> npt.NDArray[np.float64]:
    rgb = picture.rgb.astype(np.float64)
    if picture.alpha is None:
        return rgb
    share = picture.alpha[..., None] / 255
    return rgb * share + 255.0 * (1 - share)


def _box(levels: _Levels, behind: float, tolerance: float, crop: Crop, *, ready: bool) -> tuple[tuple[int, int, int, int], bool]:
    """Left, top, right and bottom of the crop, and whether nothing stands out from the background."""
    height, width = levels.shape
    everything = (0, 0, width, height)
    out = np.abs(levels - behind) > 255 * tolerance / 100
    blank = not out.any()
    if not isinstance(crop, str):
        left, top, right, bottom = (round(side * edge / 100) for side, edge in zip((width, height) * 2, crop, strict=True))
        left, top = min(left, width - 1), min(top, height - 1)
        return (left, top, max(right, left + 1), max(bottom, top + 1)), blank
    if crop == "whole" or ready or blank:
        return everything, blank
    few = [max(1, round(0.005 * side)) for side in (width, height)]  # fewer pixels than this are dust
    rows, columns = np.flatnonzero(out.sum(axis=1) >= few[0]), np.flatnonzero(out.sum(axis=0) >= few[1])
    if not len(rows) or not len(columns):
        return everything, True
    return (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1), False


def _square(levels: _Levels, *, fill: float) -> _Levels:
    height, width = levels.shape
    side = max(height, width)
    above, before = (side - height) // 2, (side - width) // 2
    edges = ((above, side - height - above), (before, side - width - before))
    return np.pad(levels, edges, constant_values=fill)


def _resized(square: _Levels, wanted: int) -> _Levels:
    side = square.shape[0]
    if side == wanted:
        return square
    # Pillow widens a filter by the factor it reduces by, so that every pixel counts (antialiasing).
    kind = Image.Resampling.BOX if side > wanted else Image.Resampling.BICUBIC
    image = Image.fromarray(square.astype(np.float32)).resize((wanted, wanted), kind)
    return np.asarray(image, dtype=np.float64).clip(0, 255)
