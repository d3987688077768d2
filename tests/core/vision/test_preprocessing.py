"""Preprocessing: the data set's own images pass untouched, and each step against a closed form or a library."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps
from scipy import ndimage

from core.vision.gallery import gallery, photograph_gallery
from core.vision.pictures import Picture, decode, from_pixels, png
from core.vision.preprocessing import (
    PHOTOGRAPH,
    SIDE,
    Recipe,
    background,
    is_light,
    like_the_data_set,
    luminance,
    prepare,
    sharpened,
)
from tests.core.vision import made_pictures
from tests.core.vision.picture_bytes import saved

IMAGES = gallery()[0]
jpeg = partial(saved, kind="JPEG")


def on_white(image: NDArray[np.uint8], *, factor: int = 6, height: int = 300, width: int = 240, paper: int = 253) -> Picture:
    """A garment as a shop has it: dark on a light ground, larger than needed, not in the middle."""
    big = 255 - np.kron(image, np.ones((factor, factor), np.uint8))
    sheet = np.full((height, width), paper, np.uint8)
    sheet[20 : 20 + big.shape[0], 30 : 30 + big.shape[1]] = np.minimum(big, paper)
    return from_pixels(sheet, name="shop")


def test_a_test_image_given_as_a_file_comes_through_unchanged_and_its_negative_is_only_inverted() -> None:
    for index, image in enumerate(IMAGES):
        for given, done in ((image, ()), (255 - image, ("invert",))):
            prepared = prepare(decode(png(given)))
            np.testing.assert_array_equal(prepared.image, image, err_msg=f"{index}")
            assert prepared.done == done, index


def test_a_garment_on_a_large_light_sheet_is_found_again() -> None:
    """Enlarged six times by whole pixels, so that the mean of an area is exactly the pixel it was."""
    image = np.random.default_rng(0).integers(60, 255, (SIDE, SIDE), dtype=np.uint8)
    prepared = prepare(on_white(image, paper=255))
    assert prepared.box == (30, 20, 30 + 6 * SIDE, 20 + 6 * SIDE)
    np.testing.assert_array_equal(prepared.square[::6, ::6], image)


def test_the_garment_stands_in_the_middle_with_its_longest_side_from_edge_to_edge() -> None:
    sheet = np.full((200, 300), 255, np.uint8)
    sheet[50:150, 200:250] = 90
    image = prepare(from_pixels(sheet, name="")).square
    assert (image[:, 25:75] == 165).all() and (image[:, :25] == 0).all() and (image[:, 75:] == 0).all()


def test_grey_is_pillows_luminance() -> None:
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
    theirs = np.asarray(Image.fromarray(colours).convert("L"), dtype=int)
    assert np.abs(luminance(colours.astype(np.float64)).round() - theirs).max() <= 1  # Pillow rounds down
    assert "grey" in prepare(decode(png(colours))).done


@pytest.mark.parametrize(
    ("behind", "garment", "light"),
    [(255, 20, True), (230, 250, True), (0, 200, False), (20, 5, False), (150, 240, False), (150, 30, True)],
)
def test_the_background_decides_and_between_black_and_white_what_stands_before_it(behind: int, garment: int, light: bool) -> None:
    levels = np.full((60, 60), float(behind))
    levels[20:40, 20:40] = garment
    assert is_light(levels, background(levels)[0]) is light


def test_a_garment_in_a_corner_does_not_pass_for_the_background() -> None:
    levels = np.full((90, 90), 250.0)
    levels[60:, 60:] = 10
    assert background(levels) == (250.0, 0.0)


def test_a_noisy_background_is_trimmed_all_the_same() -> None:
    rng = np.random.default_rng(0)
    noisy = np.clip(180 + rng.normal(0, 8, (240, 240)), 0, 255)
    noisy[80:160, 60:180] = 40
    prepared = prepare(from_pixels(noisy.astype(np.uint8), name=""))
    np.testing.assert_allclose(prepared.box, (60, 80, 180, 160), atol=3)
    assert prepared.image[0].max() == 0  # black behind it, as the data set has it


def test_sharpening_is_a_convolution_with_imagemagicks_kernel() -> None:
    """-sharpen 1x1: minus a Gaussian of deviation 1 over 3 x 3, in the middle minus twice the sum of all, over the new sum."""
    y, x = np.mgrid[-1:2, -1:2]
    kernel = -np.exp(-(x**2 + y**2) / 2) / (2 * np.pi)
    kernel[1, 1] = -2 * kernel.sum()
    image = IMAGES[3].astype(float)
    theirs = ndimage.convolve(image, kernel / kernel.sum(), mode="nearest").clip(0, 255)
    np.testing.assert_allclose(sharpened(image), theirs, atol=1e-9)
    flat = np.full((5, 5), 77.0)
    np.testing.assert_allclose(sharpened(flat), flat)


def test_each_choice_is_followed() -> None:
    picture = on_white(IMAGES[0])
    assert prepare(picture).done == ("invert", "black", "crop", "pad", "resize", "sharpen")
    assert prepare(picture, Recipe(crop="whole")).box == (0, 0, 240, 300)
    assert prepare(picture, Recipe(crop=(25, 10, 75, 90))).box == (60, 30, 180, 270)
    assert [prepare(picture, Recipe(turn=turn), lies=1).quarters for turn in ("auto", "none")] == [3, 0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "level", "spread"), [
    *((size, level, 0) for size in [(1, 1), (1, 500), (500, 1), (3, 2), (28, 28), (27, 29), (768, 20)] for level in (0, 90, 255)),
    *((size, 120, spread) for size in [(1, 1), (28, 28), (60, 300)] for spread in (0, 12)),
])  # fmt: skip
def test_a_picture_of_one_grey_level_within_the_tolerance_is_empty_and_does_no_harm(
    size: tuple[int, int], level: int, spread: int
) -> None:
    levels = level + np.random.default_rng(0).integers(0, spread + 1, size)
    prepared = prepare(from_pixels(levels.astype(np.uint8), name=""))
    assert prepared.empty and prepared.image.shape == (SIDE, SIDE)
    assert prepared.blank or spread


def test_what_is_transparent_gets_a_ground_and_throughout_is_empty() -> None:
    rgba = np.zeros((40, 40, 4), np.uint8)
    rgba[10:30, 10:30] = (200, 0, 0, 255)
    for opaque in (True, False):
        rgba[..., 3] *= opaque
        prepared = prepare(decode(png(rgba)))
        assert prepared.upright[0, 0].tolist() == [255, 255, 255] and prepared.empty is not opaque
    assert not any(prepare(from_pixels(image, name="")).empty for image in IMAGES)


def test_a_speck_holds_no_edge_back() -> None:
    sheet = np.full((400, 400), 255, np.uint8)
    sheet[100:300, 150:250] = 60
    sheet[5, 395] = 0
    assert prepare(from_pixels(sheet, name="")).box == (150, 100, 250, 300)


def test_impossible_choices_say_so() -> None:
    picture = on_white(IMAGES[0])
    with pytest.raises(ValueError, match="left must be less than right"):
        prepare(picture, Recipe(crop=(60, 0, 40, 100)))
    with pytest.raises(ValueError, match="between 0 and 100"):
        prepare(picture, Recipe(crop=(0, 0, 101, 100)))


def test_in_the_manner_of_photographs_a_picture_is_only_padded_and_made_smaller() -> None:
    """A light corner, a garment to crop to and a picture to sharpen: each would be done in the data set's manner."""
    levels = np.full((90, 60), 240, np.uint8)
    levels[30:60, 20:40] = 30
    picture = from_pixels(levels, name="")
    assert prepare(picture, PHOTOGRAPH).done == ("pad", "resize")
    square = np.pad(levels.astype(np.float64), ((0, 0), (15, 15)), constant_values=240)
    expected = np.asarray(Image.fromarray(square.astype(np.float32)).resize((28, 28), Image.Resampling.BOX))
    found = prepare(picture, PHOTOGRAPH)
    np.testing.assert_array_equal(found.image, np.stack([np.round(expected).astype(np.uint8)] * 3, axis=-1))
    coloured = replace(picture, rgb=np.where(np.arange(3) == 1, picture.rgb // 2, picture.rgb))
    larger = prepare(coloured, PHOTOGRAPH, side=90).image
    np.testing.assert_array_equal(larger[:, 15:75], coloured.rgb)
    assert (larger[:, :15] == [240, 120, 240]).all()
    asked = prepare(picture, Recipe(manner="photograph", crop=(20, 0, 100, 100)))
    assert "crop" in asked.done and asked.box == (12, 0, 60, 90)


def test_the_data_sets_images_are_known_in_any_size_and_a_drawing_on_black_is_not_taken_for_one() -> None:
    for image in IMAGES[::6]:
        assert like_the_data_set(from_pixels(255 - image, name=""))  # 28 x 28 on white: negated
        for side, kind in ((30, Image.Resampling.BICUBIC), (280, Image.Resampling.NEAREST), (500, Image.Resampling.LANCZOS)):
            enlarged = Image.fromarray(image).resize((side, side), kind)
            assert like_the_data_set(decode(jpeg(enlarged, quality=80)))
            assert not like_the_data_set(decode(jpeg(ImageOps.colorize(enlarged, "black", "red"), quality=80)))
            if side > SIDE + 2:
                assert not like_the_data_set(decode(png(255 - np.asarray(enlarged))))
    for name, drawing in made_pictures.drawings().items():
        assert not like_the_data_set(decode(jpeg(drawing))), name
        assert not like_the_data_set(decode(jpeg(ImageOps.invert(drawing)))), name
    assert not any(like_the_data_set(decode(one.data)) for one in photograph_gallery())


def framed(image: Image.Image, share: float, colour: str, *, bars: bool = False) -> Image.Image:
    """A picture within a border of a share of its shorter side, or with bars above and below."""
    width = round(share * min(image.size))
    across = 0 if bars else width
    sheet = Image.new("RGB", (image.width + 2 * across, image.height + 2 * width), colour)
    sheet.paste(image, (across, width))
    return sheet


@pytest.mark.parametrize("quality", [70, 95])
@pytest.mark.parametrize(
    ("share", "colour", "bars"), [(0.05, "white", False), (0.15, "black", False), (0.1, "#143ca0", False), (0.4, "black", True)]
)
def test_a_uniform_border_is_cut_off_a_photograph(share: float, colour: str, bars: bool, quality: int) -> None:
    exact, photographs = 0, photograph_gallery()[::3]
    for one in photographs:
        image = Image.fromarray(decode(one.data).rgb)
        sheet = framed(image, share, colour, bars=bars)
        prepared = prepare(decode(jpeg(sheet, quality=quality)), PHOTOGRAPH, side=128)
        assert "border" in prepared.done
        exact += np.abs(np.subtract(prepared.upright.shape[:2], image.size[::-1])).max() <= 6  # of 192 pixels
    assert exact >= 0.9 * len(photographs)  # where a photograph's own edge has the border's colour, more or less goes


def test_a_border_within_the_bars_of_a_screen_is_cut_off_too() -> None:
    image = Image.fromarray(decode(photograph_gallery()[9].data).rgb)
    both = framed(framed(image, 0.1, "white"), 0.4, "black", bars=True)
    assert prepare(decode(jpeg(both, quality=90)), PHOTOGRAPH).upright.shape[:2] == image.size[::-1]


@pytest.mark.parametrize(
    ("page", "bar", "ink"), [("white", "#f5f5f5", "black"), ("black", "black", "white"), ("#e8f0ff", "#203040", "white")]
)
def test_a_screenshot_is_cut_to_its_photograph(page: str, bar: str, ink: str) -> None:
    exact, photographs = 0, photograph_gallery()[::3]
    for one in photographs:
        image = Image.fromarray(decode(one.data).rgb).resize((390, 500))
        sheet = Image.new("RGB", (390, 844), page)
        draw = ImageDraw.Draw(sheet)
        draw.rectangle((0, 0, 390, 44), fill=bar)
        draw.text((20, 14), "12:41", fill=ink, font=ImageFont.load_default(16))
        draw.rectangle((345, 16, 372, 28), outline=ink, width=2)
        sheet.paste(image, (0, 172))
        upright = prepare(decode(jpeg(sheet, quality=85)), PHOTOGRAPH, side=128).upright
        exact += abs(upright.shape[0] - 500 * 768 / 844) <= 8
    assert exact >= 0.8 * len(photographs)


def test_a_photograph_and_a_garment_on_plain_ground_keep_their_edges() -> None:
    cut = ["border" in prepare(decode(one.data), PHOTOGRAPH).done for one in photograph_gallery()]
    assert sum(cut) <= 1  # of one a strip of even wall may go
    sheet = np.full((300, 240, 3), 250, np.uint8)
    sheet[60:220, 60:180] = (30, 40, 120)
    assert "border" not in prepare(decode(png(sheet)), PHOTOGRAPH).done
    assert "border" not in prepare(decode(png(np.full((40, 40, 3), 90, np.uint8))), PHOTOGRAPH).done
    bordered = decode(png(np.pad(sheet[60:220, 60:180], ((9, 9), (9, 9), (0, 0)), constant_values=255)))
    assert "border" not in prepare(bordered, Recipe(manner="photograph", border="none")).done
