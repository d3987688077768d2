"""Pictures prepared for a model that also says which way up they lie: those that lie on a side are set upright first."""

from __future__ import annotations

from dataclasses import replace

from core.vision.classifier import Classifier
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe, prepare


def prepare_upright(classifier: Classifier, picture: Picture, recipe: Recipe) -> PreparedPicture:
    """Take a picture through all steps; where the recipe leaves it to the model, set it upright by the model's answer.

    The model reads the whole picture for that, as the edges of a box are edges of the picture set upright. What is strange as
    given stays in doubt when it is set upright: upside down, shorts are more like a garment that the model knows.

    Raises:
        ValueError: for a box without room in it, or percentages outside 0 to 100.
    """
    side = classifier.config.side
    if recipe.turn != "auto" or not classifier.knows_turns:
        return prepare(picture, recipe, side=side)
    plain = prepare(picture, replace(recipe, crop="whole"), side=side)
    lies = int(classifier.quarter_turns(plain.image[None])[0])
    prepared = prepare(picture, recipe, lies=lies, side=side)
    return replace(prepared, unturned=plain.image) if lies else prepared
