"""Drawn pictures of no garments on white: a page of text, a mug, shapes and a face; and readings that were made up."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from core.vision.sight import PATCH, SeenPicture

WORDS = "the quick brown fox jumps over the lazy dog and so on until the line ends "


def drawings() -> dict[str, Image.Image]:
    """By name, RGB."""
    return {"text": _text(), "mug": _mug(), **_shapes()}


def _text() -> Image.Image:
    page = Image.new("RGB", (620, 877), "white")
    for line in range(38):
        ImageDraw.Draw(page).text((50, 40 + 21 * line), (WORDS * 2)[line * 7 % 40 :][:62], "black", ImageFont.load_default(18))
    return page


def _mug() -> Image.Image:
    sheet = Image.new("RGB", (600, 600), "white")
    draw = ImageDraw.Draw(sheet)
    draw.rounded_rectangle((180, 180, 400, 460), 20, fill=(180, 60, 50))
    draw.arc((360, 240, 500, 400), -90, 90, fill=(180, 60, 50), width=28)
    draw.ellipse((180, 160, 400, 205), fill=(120, 40, 30))
    return sheet


def _shapes() -> dict[str, Image.Image]:
    sheets = {name: Image.new("RGB", (600, 600), "white") for name in ("triangle", "circle", "square", "face")}
    pens = {name: ImageDraw.Draw(sheet) for name, sheet in sheets.items()}
    pens["triangle"].polygon([(300, 120), (500, 460), (100, 460)], fill=(120, 120, 120))
    pens["circle"].ellipse((150, 150, 450, 450), fill=(120, 120, 120))
    pens["square"].rectangle((160, 160, 440, 440), fill=(30, 60, 200))
    pens["face"].ellipse((150, 120, 450, 480), outline="black", width=6)
    for box in ((230, 220, 260, 250), (340, 220, 370, 250)):
        pens["face"].ellipse(box, fill="black")
    pens["face"].arc((230, 300, 370, 420), 20, 160, fill="black", width=6)
    return sheets


NONE = np.zeros((0, 0), np.float32)


def made_reading(salience: np.ndarray, tokens: np.ndarray = NONE, inside: tuple[int, int, int, int] | None = None) -> SeenPicture:
    """A reading of a black square in which so much stands out, pixel by pixel."""
    side = len(salience)
    pixels, grid = np.zeros((side, side, 3), np.uint8), (side // PATCH, side // PATCH)
    inside = inside or (0, 0, side, side)
    return SeenPicture(pixels=pixels, inside=inside, grid=grid, tokens=tokens, queries=NONE, keys=NONE, salience=salience)


def painted(image: np.ndarray, *patches: int) -> np.ndarray:
    """An image of 28 x 28 pixels whose patches of 4 x 4 of these numbers, from 1, are grey 0."""
    image = image.copy()
    for row, column in (divmod(patch - 1, 7) for patch in patches):
        image[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 0
    return image
