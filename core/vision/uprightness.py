"""Pictures prepared for a model by its own answers: those that lie on a side are set upright, several garments are told apart."""

from __future__ import annotations

from dataclasses import replace

from core.vision.classifier import Classifier
from core.vision.garments import Edges, several_garments
from core.vision.pictures import Picture
from core.vision.preprocessing import PreparedPicture, Recipe, prepare


def prepare_upright(classifier: Classifier, picture: Picture, recipe: Recipe) -> PreparedPicture:
    """Take a picture through all steps; what the recipe leaves to the model is done by the model's answer.

    For the way up it reads the whole picture, as the edges of a box are edges of the picture set upright. What is strange as
    given stays in doubt when it is set upright: upside down, shorts are more like a garment that the model knows. Of several
    garments in a photograph the largest is read (`garments` has all of them), unless the recipe names a crop.

    Raises:
        ValueError: for a box without room in it, or percentages outside 0 to 100.
    """
    side, lies = classifier.config.side, 0
    unturned = None
    if recipe.turn == "auto" and classifier.turn_margin is not None:
        plain = prepare(picture, replace(recipe, crop="whole"), side=side)
        lies = int(classifier.quarter_turns(plain.image[None])[0])
        unturned = plain.image if lies else None
    prepared = prepare(picture, recipe, lies=lies, side=side)
    if recipe.manner != "photograph" or recipe.crop not in ("auto", "box") or prepared.empty:
        return replace(prepared, unturned=unturned)

    def of_box(edges: Edges) -> PreparedPicture:
        left, top, right, bottom = edges
        return prepare(picture, replace(recipe, crop="box", left=left, top=top, right=right, bottom=bottom), lies=lies, side=side)

    def answer(edges: Edges) -> tuple[int, float, bool]:
        answers = classifier.answers(of_box(edges).image[None])
        label = int(answers.probabilities[0].argmax())
        return label, float(answers.probabilities[0, label]), bool(answers.strangeness[0] > classifier.threshold)

    garments = several_garments(prepared.step("turn").image, answer)
    if garments and recipe.crop == "auto":
        prepared = of_box(garments[0].edges)
    return replace(prepared, unturned=unturned, garments=garments)
