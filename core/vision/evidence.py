"""Importance of an image's patches for one class by each method, as `core.explain.faithfulness` tests it."""

from collections.abc import Collection
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.device import falls_back
from core.explain.attribution import Report, ScalarFunction, class_probability, unreported
from core.explain.erasing import Hidden, Needed, needed
from core.explain.faithfulness import ExplainedInput
from core.explain.measures import explained_input
from core.explain.occlusion import BATCH, occlusion, without
from core.models.cct import CCT
from core.vision.analysis import PictureAnalysis
from core.vision.classifier import Classifier

MAX_GRADIENTS: Final = 128
"""Of integrated gradients: with four times as many, patches keep their order (rank correlation .996 to 1 on three photographs),
and a photograph takes four times as long."""
Probabilities = NDArray[np.float64]


def patch_numbers(classifier: Classifier) -> Tensor:
    """(colours, side, side): which patch, from 0 and row by row, each pixel belongs to."""
    rows = torch.arange(classifier.config.side) // classifier.config.patch
    return (rows[:, None] * classifier.config.grid + rows[None, :])[None].repeat(classifier.config.colours, 1, 1)


def background(classifier: Classifier, inputs: Tensor) -> Tensor:
    """Content of a hidden patch, in the units the model reads: one level throughout, of each colour.

    To a model of prepared images it is 0, their empty background. In a photograph 0 is a black thing, so that a model of
    photographs gets the picture's mean colour.
    """
    if classifier.manner == "photograph":
        return inputs.mean(dim=(1, 2), keepdim=True).expand_as(inputs)
    return torch.full_like(inputs, -classifier.mean / classifier.std)


def over_tokens(importance: NDArray[np.floating]) -> NDArray[np.float64]:
    """(1 + patches,): importance of patches, with nothing for the class token before them."""
    return np.insert(np.asarray(importance, dtype=np.float64), 0, 0.0)


def _given(analysis: PictureAnalysis, label: int) -> tuple[ScalarFunction, Tensor, Tensor, Tensor]:
    """The class's probability, the model's inputs, the background, and which patch each input belongs to."""
    classifier = analysis.classifier
    function = class_probability(classifier.model, label=label, temperature=classifier.temperature)
    inputs = classifier.normalise(analysis.image[None])[0]
    return function, inputs, background(classifier, inputs), patch_numbers(classifier).to(inputs.device)


@falls_back
def losses_without(analysis: PictureAnalysis, label: int, *, report: Report = unreported) -> NDArray[np.float64]:
    """(patches,): what a class's probability loses without each patch alone, the evidence by occlusion."""
    function, inputs, behind, parts = _given(analysis, label)
    model = analysis.classifier.model
    if not isinstance(model, CCT):
        return occlusion(function, inputs, behind, parts, batch=min(BATCH, analysis.classifier.batch), report=report)
    read = class_probability(model.head, label=label, temperature=analysis.classifier.temperature)
    left = []
    with torch.no_grad():
        whole = float(function(inputs[None]))
        for row, features in enumerate(model.features_without(inputs, behind)):
            report(row / analysis.grid)
            left.append(read(features).double().cpu().numpy())
    return whole - np.concatenate(left)


@falls_back
def explain_picture(analysis: PictureAnalysis, label: int) -> ExplainedInput:
    """Importance of every patch for a class, (patches,), by each method."""
    return explained_input(
        *_given(analysis, label),
        known={
            "attention": analysis.attention()[1:],
            "rollout": analysis.rollout()[1:],
            "relevance": analysis.relevance(label)[1:],
            "occlusion": losses_without(analysis, label),
        },
        max_nodes=MAX_GRADIENTS,
    )


@falls_back
@torch.no_grad()
def hidden_answers(analysis: PictureAnalysis, hidden: Hidden) -> Probabilities:
    """(copies, classes): the probability of each class, that of "none of these" taken out (D37), of copies of the image.

    Args:
        hidden: (copies, patches), the patches of each copy that are replaced by background.
    """
    classifier = analysis.classifier
    inputs = classifier.normalise(analysis.image[None])[0]
    copies = without(inputs, background(classifier, inputs), patch_numbers(classifier).to(inputs.device), hidden)
    return classifier.shares(classifier.answers_of(classifier.model.features(copies)))


def image_without(analysis: PictureAnalysis, numbers: Collection[int]) -> NDArray[np.uint8]:
    """The picture as read, uint8, with the patches of these numbers, from 1, at `background`: the mean rounded to a level."""
    image, size = analysis.image.copy(), analysis.classifier.config.patch
    level = np.round(image.mean(axis=(0, 1))) if analysis.classifier.manner == "photograph" else 0
    for row, column in (divmod(number - 1, analysis.grid) for number in numbers):
        image[row * size : (row + 1) * size, column * size : (column + 1) * size] = level
    return image


@falls_back
def patches_needed(analysis: PictureAnalysis, *, report: Report = unreported) -> Needed:
    """Patches until another class is the likeliest, by occlusion, by the last layer's attention and at random."""
    losses = losses_without(analysis, analysis.likeliest, report=lambda share: report(0.4 * share))
    return needed(
        lambda hidden: hidden_answers(analysis, hidden).argmax(axis=1).tolist(),
        {"occlusion": losses, "attention": analysis.attention()[1:]},
        report=lambda share: report(0.4 + 0.6 * share),
    )
