"""Pictures prepared for a model by its own answers: small garments are looked for, lying ones set upright, several told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from core.vision.classifier import Classifier
from core.vision.garments import Edges, regions, several_garments
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe, prepare

WHOLE: Final[Edges] = (0, 0, 100, 100)
HALF: Final = 0.5
"""Share of the picture below which a region may be read by itself."""
STRONGER: Final = 0.4
"""By how much a class must be recognised more strongly in it than any is in the whole picture, a logit."""
LESS_STRANGE: Final = 1.0
"""Or by how much it must be less strange, logarithm of odds. Both were chosen on the 341 photographs of the validation part, as
they are and on larger grounds (docs/results.md)."""


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

    def answer(edges: Edges) -> tuple[int, float, bool]:
        answers = classifier.answers(of_box(classifier, picture, recipe, edges, lies).image[None])
        label = int(answers.probabilities[0].argmax())
        return label, float(answers.probabilities[0, label]), bool(answers.strangeness[0] > classifier.threshold)

    garments = several_garments(prepared.upright, answer)
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


def of_box(classifier: Classifier, picture: Picture, recipe: Recipe, edges: Edges, lies: int = 0) -> PreparedPicture:
    """A part of the picture, prepared; `lies` as of `prepare`."""
    return prepare(picture, replace(recipe, crop=edges), lies=lies, side=classifier.config.side)


def _turned(edges: Edges, quarters: int) -> Edges:
    """The same part of a picture that was turned counterclockwise."""
    left, top, right, bottom = edges
    return edges if not quarters else _turned((top, 100 - right, bottom, 100 - left), quarters - 1)
