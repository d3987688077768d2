"""Pictures that lie on a side: by how much, in doubt, and how they are prepared; the model is one that knows which way is up."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.vision.analysis import analyse
from core.vision.classifier import Answers, Classifier, load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.pictures import Picture, decode, from_pixels
from core.vision.preprocessing import Recipe, prepare
from core.vision.uprightness import prepare_upright
from tests.core.vision import tiny_vit

MARGIN = 2.0
AS_IT_IS = Recipe(manner="photograph", border="none", crop="whole")


class BrightTop(Classifier):
    """Finds an image the stranger the darker its upper half is beside its lower one."""

    def answers(self, images: np.ndarray) -> Answers:
        """Strangeness alone."""
        halves = [half.reshape(len(images), -1).mean(axis=1) for half in (images[:, :14], images[:, 14:])]
        nothing = np.zeros((len(images), 10))
        return Answers(logits=nothing, probabilities=nothing, strangeness=(halves[1] - halves[0]) / 10)


@pytest.fixture
def classifier(tmp_path: Path) -> Classifier:
    tiny_vit.save_tiny(tmp_path, model=tiny_vit.learnt(steps=1))
    checkpoint = checkpoints.load("vit", folder=tmp_path)
    return BrightTop(replace(checkpoint, card=checkpoint.card | {"turning": {"margin": MARGIN}}))


def lit(top: int) -> Picture:
    """60 x 40 pixels, the upper half at one level and the lower at 90."""
    levels = np.full((60, 40), 90, np.uint8)
    levels[:30] = top
    return from_pixels(levels, name="lit")


def turned(picture: Picture, quarters: int) -> Picture:
    return replace(picture, rgb=np.ascontiguousarray(np.rot90(picture.rgb, quarters)))


@pytest.mark.parametrize("quarters", range(4))
def test_a_picture_is_set_upright_from_any_position(classifier: Classifier, quarters: int) -> None:
    upright = prepare(lit(200), AS_IT_IS)
    picture = turned(lit(200), quarters)
    assert classifier.quarter_turns(prepare(picture, AS_IT_IS).image[None]).tolist() == [quarters]
    found = prepare_upright(classifier, picture, AS_IT_IS)
    np.testing.assert_array_equal(found.image, upright.image)
    assert ("turn" in found.done) == (quarters != 0)
    np.testing.assert_array_equal(found.upright, lit(200).rgb)


def test_within_the_margin_it_stays_as_it_lies(classifier: Classifier) -> None:
    """Upside down, 2 x 9 levels apart by tens: 1.8 is under the margin of 2, and 2.4 over it."""
    for more, quarters in ((9, 0), (12, 2)):
        image = np.full((28, 28), 90, np.uint8)
        image[14:] += more
        assert classifier.quarter_turns(image[None]).tolist() == [quarters]


def test_what_is_strange_as_given_stays_in_doubt_when_it_is_set_upright(classifier: Classifier) -> None:
    classifier.threshold = 5.0
    prepared = prepare_upright(classifier, turned(lit(200), 2), AS_IT_IS)
    assert prepared.unturned is not None and float(classifier.strangeness(prepared.image[None])[0]) < 0
    expected = float(classifier.strangeness(prepared.unturned[None])[0])
    found = analyse(classifier, *(one[..., 0].copy() for one in (prepared.image, prepared.unturned)))  # its model reads grey
    assert found.strangeness == expected > 5 and not found.garment
    assert prepare_upright(classifier, lit(200), AS_IT_IS).unturned is None


def test_without_a_margin_and_by_a_visitors_choice_no_picture_is_turned(classifier: Classifier) -> None:
    picture = turned(lit(200), 2)
    found = prepare_upright(classifier, picture, replace(AS_IT_IS, turn="none"))
    np.testing.assert_array_equal(found.upright, picture.rgb)
    classifier.turn_margin, picture = None, turned(lit(200), 1)
    np.testing.assert_array_equal(prepare_upright(classifier, picture, AS_IT_IS).image, prepare(picture, AS_IT_IS).image)


def test_a_box_is_one_of_the_picture_set_upright(classifier: Classifier) -> None:
    recipe = replace(AS_IT_IS, crop=(0, 0, 50, 50))
    expected = prepare(lit(200), recipe)
    assert expected.box == (0, 0, 20, 30)
    np.testing.assert_array_equal(prepare_upright(classifier, turned(lit(200), 3), recipe).image, expected.image)


def on_a_wall(rgb: np.ndarray, quarters: int = 0) -> Picture:
    """A photograph on a wall 2.5 times as wide, off its middle, in 16 % of it or less."""
    height, width, _ = rgb.shape
    side = int(2.5 * max(height, width))
    wall = 200 + np.random.default_rng(0).normal(0, 6, (side, side, 1)) + np.linspace(-15, 15, side)[:, None, None]
    wall = wall.clip(0, 255).astype(np.uint8).repeat(3, axis=-1)
    wall[side // 4 : side // 4 + height, side // 3 : side // 3 + width] = rgb
    return from_pixels(np.ascontiguousarray(np.rot90(wall, quarters)), name="")


def test_a_small_garment_is_looked_for() -> None:
    """The shipped model on fifteen photographs in a sixth of a wall: four in five as many are right as of them whole."""
    cct = load_classifier("cct")
    recipe = Recipe(manner=cct.manner)
    whole, small = 0, 0
    for row in photograph_gallery()[::2]:
        rgb = decode(row.data).rgb
        images = [prepare(from_pixels(rgb, name=""), recipe, side=128).image, prepare_upright(cct, on_a_wall(rgb), recipe).image]
        right = [cct.class_names[label] == row.name for label in cct.probabilities(np.stack(images)).argmax(axis=1)]
        whole, small = whole + right[0], small + right[1]
    assert small >= 0.8 * whole > 8


@pytest.mark.parametrize("quarters", range(4))
def test_a_small_garment_that_lies_is_found_and_set_upright(quarters: int) -> None:
    cct = load_classifier("cct")
    rgb = decode(next(one.data for one in photograph_gallery() if one.kind == "pants")).rgb
    found = prepare_upright(cct, on_a_wall(rgb, quarters), Recipe(manner=cct.manner))
    assert ("turn" in found.done) == (quarters != 0)
    height, width = found.upright.shape[:2]
    left, top, right, bottom = found.box
    across, down = (round(side / 2.5 * share) for side, share in ((width, rgb.shape[1] / max(rgb.shape)), (height, 1.0)))
    assert abs(left - width // 3) < 0.05 * width and abs(top - height // 4) < 0.05 * height
    assert abs(right - left - across) < 0.08 * width and abs(bottom - top - down) < 0.08 * height
