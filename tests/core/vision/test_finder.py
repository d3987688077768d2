"""The finder's boxes on made readings, and a garment in a scene of something else."""

import numpy as np
import pytest
from PIL import Image

from core.vision import finder, seen_samples, uprightness
from core.vision.classifier import Classifier, load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.pictures import Picture, decode, from_pixels
from core.vision.preprocessing import Recipe, prepare
from core.vision.sight import SeenPicture
from core.vision.sight_files import SIGHT_FILES
from tests.core.vision.made_pictures import made_reading

RECIPE = Recipe(manner="photograph")
AT, SIDE = 60, 240
"""Of the pasted garment: pixels from the left and the top, and its longer side."""


def reading(salience: np.ndarray, groups: np.ndarray) -> SeenPicture:
    """A reading of 224 pixels whose patches have a direction of their own for each group."""
    tokens = np.zeros((257, 384), np.float32)
    tokens[1:][np.arange(256), groups.ravel()] = 1
    return made_reading(salience, tokens)


def test_a_thing_that_stands_out_and_one_that_is_alike_are_boxes() -> None:
    salience, groups = np.full((224, 224), 0.1, np.float32), np.zeros((16, 16), np.int64)
    salience[112:168, 56:112] = 0.9  # rows 50 to 75 %, columns 25 to 50 %
    groups[2:6, 9:13] = 1  # rows 12.5 to 37.5 %, columns 56.25 to 81.25 %
    assert set(finder.boxes(reading(salience, groups))) == {(23, 48, 52, 77), (55, 11, 83, 39)}


def test_groups_are_those_that_tokens_were_made_of() -> None:
    draw = np.random.default_rng(2)
    made = draw.integers(finder.GROUPS, size=300)
    tokens = (np.eye(finder.GROUPS, 32)[made] + draw.normal(scale=0.05, size=(300, 32))).astype(np.float32)
    found = finder.alike(tokens, np.arange(300) < 250)
    assert (found[250:] == -1).all()
    assert len(set(zip(made[:250].tolist(), found[:250].tolist(), strict=True))) == finder.GROUPS  # one to one


@pytest.fixture(scope="module")
def cct() -> Classifier:
    return load_classifier("cct")


def scene(ground: str, item: int) -> Picture:
    """A bundled garment, small, at the upper left of a photograph of something else."""
    whole = Image.fromarray(seen_samples.sample(ground).rgb).resize((800, 800))
    garment = Image.fromarray(decode(photograph_gallery()[item].data).rgb)
    garment.thumbnail((SIDE, SIDE))
    whole.paste(garment, (AT, AT))
    return from_pixels(np.asarray(whole), name="scene")


def named(cct: Classifier, picture: Picture, edges: tuple[int, int, int, int]) -> str:
    answers = cct.answers(uprightness.of_box(cct, picture, RECIPE, edges).image[None])
    assert answers.strangeness[0] < cct.threshold
    return cct.class_names[int(answers.probabilities[0].argmax())]


@pytest.mark.parametrize("item", [10, 13])
def test_a_garment_that_is_pointed_at_is_read(cct: Classifier, item: int) -> None:
    picture = scene("cup", item)
    prepared = prepare(picture, RECIPE, side=cct.config.side)
    assert cct.strangeness(prepared.image[None])[0] > cct.threshold, "the whole is no garment"
    grid = cct.config.grid
    patch = (AT + SIDE // 2) * grid // 800 * (grid + 1)  # on the diagonal
    assert named(cct, picture, uprightness.pointed_garment(cct, prepared, patch, RECIPE)) == photograph_gallery()[item].name


@pytest.mark.parametrize("patch", [0, 7, 56, 63])
def test_a_corner_may_be_pointed_at(cct: Classifier, patch: int) -> None:
    prepared = prepare(scene("cup", 10), RECIPE, side=cct.config.side)
    left, top, right, bottom = uprightness.pointed_garment(cct, prepared, patch, RECIPE)
    row, column = divmod(patch, 8)
    assert left <= 12.5 * column + 6.25 <= right and top <= 12.5 * row + 6.25 <= bottom


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_a_small_garment_in_something_else_is_found(cct: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = scene("cat", 19)
    given = prepare(picture, RECIPE, side=cct.config.side)
    monkeypatch.setattr(uprightness, "SURE", 0.5)  # far from the garment's own
    edges = uprightness.found_garment(cct, given, RECIPE)
    assert named(cct, picture, edges) == "Shoes" and edges[2] < 60 and edges[3] < 60
    monkeypatch.setattr(uprightness, "SURE", 1.0)
    assert uprightness.found_garment(cct, given, RECIPE) == uprightness.WHOLE
