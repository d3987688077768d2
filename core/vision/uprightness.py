"""Pictures prepared for a model by its own answers: small garments are looked for, lying ones set upright, several told apart."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from PIL import Image

from core.package_files import MissingModels
from core.vision import finder
from core.vision.classifier import Classifier
from core.vision.garments import Edges, regions, several_garments
from core.vision.pictures import Bytes, Picture, from_pixels
from core.vision.preprocessing import PreparedPicture, Recipe, prepare
from core.vision.sight import sight_reader

WHOLE: Final[Edges] = (0, 0, 100, 100)
HALF: Final = 0.5
"""Share of the picture below which a region may be read by itself."""
STRONGER: Final = 0.4
"""By how much a class must be recognised more strongly in it than any is in the whole picture, a logit."""
LESS_STRANGE: Final = 1.0
"""Or by how much it must be less strange, logarithm of odds. Both were chosen on the 341 photographs of the validation part, as
they are and on larger grounds (docs/results.md)."""

SURE: Final = 0.97
"""Probability, "none" among the answers, with which a thing that was found must be of a class. Of the 341 photographs of the
validation part none is read otherwise, of 369 of groceries none becomes a garment (docs/results.md)."""
POINTED: Final = (0.15, 0.2, 0.25, 0.3, 0.35)
"""Sides of the squares around a place that was pointed at, shares of the picture's longer side."""
FOUND_SIDE, LOOKED_SIDE = 448, 224
"""Pixels of the longer side of what such things are cut from, and of what is looked at to find them."""


def prepare_upright(classifier: Classifier, picture: Picture, recipe: Recipe) -> PreparedPicture:
    """Take a picture through all steps; what the recipe leaves to the model is done by the model's answer.

    In a photograph whose garment fills less than `HALF` of it that part alone is read, unless the recipe names a crop; of
    several garments the largest (`garments` has all of them). What is strange as given stays in doubt when it is set upright:
    upside down, shorts are more like a garment that the model knows.

    Raises:
        ValueError: for a box without room in it, or percentages outside 0 to 100.
    """
    side = classifier.config.side
    by_itself = recipe.turn == "auto" and classifier.turn_margin is not None
    given = prepare(picture, replace(recipe, crop="whole"), side=side)
    edges = small_garment(classifier, picture, given, recipe) if recipe.crop == "auto" else WHOLE
    if edges == WHOLE and recipe.crop == "auto":
        edges = found_garment(classifier, given, recipe)
    lies, unturned = 0, None
    if by_itself:
        seen = given if edges == WHOLE else of_box(classifier, picture, recipe, edges)
        lies = int(classifier.quarter_turns(seen.image[None])[0])
        unturned = seen.image if lies else None
    edges = _turned(edges, -lies % 4)
    if edges != WHOLE:
        prepared = of_box(classifier, picture, recipe, edges, lies)
    elif recipe.manner == "photograph" and recipe.crop == "auto" and not lies:
        prepared = given  # nothing is left to do: a second preparation would be the same
    else:
        prepared = prepare(picture, recipe, lies=lies, side=side)
    if recipe.manner != "photograph" or recipe.crop == "whole" or prepared.empty:
        return replace(prepared, unturned=unturned)

    def scored(edges: Edges) -> tuple[int, float, bool]:
        answers = classifier.answers(of_box(classifier, picture, recipe, edges, lies).image[None])
        label = int(answers.probabilities[0].argmax())
        return label, float(answers.probabilities[0, label]), bool(answers.strangeness[0] > classifier.threshold)

    garments = several_garments(prepared.upright, scored)
    if garments and recipe.crop == "auto":
        prepared = of_box(classifier, picture, recipe, garments[0].edges, lies)
    return replace(prepared, unturned=unturned, garments=garments)


def small_garment(classifier: Classifier, picture: Picture, given: PreparedPicture, recipe: Recipe) -> Edges:
    """The part of a photograph that is read in its place: a region in which a class is recognised more strongly; else the whole.

    Args:
        given: the whole of it, prepared as it lies.
    """
    if recipe.manner != "photograph" or given.empty:
        return WHOLE
    boxes = [one for one in regions(given.upright) if (one[2] - one[0]) * (one[3] - one[1]) < 10_000 * HALF]
    if not boxes:
        return WHOLE
    answers = classifier.answers(np.stack([given.image, *(of_box(classifier, picture, recipe, one).image for one in boxes)]))
    strength, strangeness = answers.logits.max(axis=1), answers.strangeness
    better = (strength[1:] > strength[0] + STRONGER) | (strangeness[1:] < strangeness[0] - LESS_STRANGE)
    return boxes[int(np.where(better, strength[1:], -np.inf).argmax())] if better.any() else WHOLE


def found_garment(classifier: Classifier, given: PreparedPicture, recipe: Recipe) -> Edges:
    """The thing in a photograph that is read in its place: the surest of those that the network that sees anything parts.

    The whole, where it is a class with `SURE` itself, none of them is and less strange than the whole by `LESS_STRANGE`, or that
    network is not set up.
    """
    if recipe.manner != "photograph" or given.empty:
        return WHOLE
    whole = classifier.answers(given.image[None])
    if classifier.shares(whole).max() >= SURE:
        return WHOLE  # half of the photographs: what is found in them changed no answer (docs/results.md)
    try:
        reader = sight_reader()
    except MissingModels:
        return WHOLE
    picture = looked_at(given.upright)
    things = finder.boxes(reader.read(picture, side=LOOKED_SIDE))
    if not things:
        return WHOLE
    found, share, strangeness = surest(classifier, picture, things, recipe)
    return found if share >= SURE and strangeness < whole.strangeness[0] - LESS_STRANGE else WHOLE


def pointed_garment(classifier: Classifier, prepared: PreparedPicture, patch: int, recipe: Recipe) -> Edges:
    """The part of a photograph around a patch of what was read, in which a class is surest.

    Args:
        prepared: the photograph. patch: of the square that was read, from 0, row by row.
    """
    height, width = prepared.upright.shape[:2]
    left, top, right, bottom = prepared.box
    grid, longer = classifier.config.grid, max(height, width)
    row, column = divmod(patch, grid)
    x, y = (
        (begin + end) / 2 + max(right - left, bottom - top) * ((at + 0.5) / grid - 0.5)
        for begin, end, at in ((left, right, column), (top, bottom, row))
    )
    squares = [around((x, y), side * longer, (width, height)) for side in POINTED]
    return surest(classifier, looked_at(prepared.upright), squares, recipe)[0]


def around(middle: tuple[float, float], side: float, size: tuple[int, int]) -> Edges:
    """The square around a place of a picture, as far as it lies in it; all in pixels, the edges in percent."""
    low = [max(0, round(100 * (at - side / 2) / whole)) for at, whole in zip(middle, size, strict=True)]
    high = [min(100, round(100 * (at + side / 2) / whole)) for at, whole in zip(middle, size, strict=True)]
    left, top = (min(one, 99) for one in low)
    return left, top, max(high[0], left + 1), max(high[1], top + 1)


def looked_at(upright: Bytes) -> Picture:
    """A picture (height, width, 3), small enough for things to be cut from quickly."""
    image = Image.fromarray(upright)
    image.thumbnail((FOUND_SIDE, FOUND_SIDE), Image.Resampling.BOX)
    return from_pixels(np.asarray(image), name="")


def surest(classifier: Classifier, picture: Picture, boxes: Sequence[Edges], recipe: Recipe) -> tuple[Edges, float, float]:
    """The box that is of a class with most probability, this probability, and the box's strangeness."""
    as_it_lies = replace(recipe, turn="none", border="none")
    answers = classifier.answers(np.stack([of_box(classifier, picture, as_it_lies, one).image for one in boxes]))
    shares = classifier.shares(answers).max(axis=1)
    best = int(shares.argmax())
    return boxes[best], float(shares[best]), float(answers.strangeness[best])


def of_box(classifier: Classifier, picture: Picture, recipe: Recipe, edges: Edges, lies: int = 0) -> PreparedPicture:
    """A part of the picture, prepared; `lies` as of `prepare`."""
    return prepare(picture, replace(recipe, crop=edges), lies=lies, side=classifier.config.side)


def _turned(edges: Edges, quarters: int) -> Edges:
    """The same part of a picture that was turned counterclockwise."""
    left, top, right, bottom = edges
    return edges if not quarters else _turned((top, 100 - right, bottom, 100 - left), quarters - 1)
