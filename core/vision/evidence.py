"""Importance of an image's patches for one class by each method, as `core.explain.faithfulness` tests it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.explain.attribution import ScalarFunction, class_probability
from core.explain.faithfulness import Evidence
from core.explain.measures import evidence_of
from core.explain.occlusion import occlusion, without
from core.explain.progress import Told, untold
from core.vision.analysis import PictureAnalysis, TokenShares, analyse
from core.vision.bundled_images import bundled_images
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes

MAX_GRADIENTS: Final = 128
"""Of integrated gradients: with four times as many, patches keep their order (rank correlation .996 to 1 on three photographs),
and a photograph takes four times as long."""
Hidden = NDArray[np.bool_]
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


def shares_of(importance: NDArray[np.floating]) -> TokenShares:
    """(patches,) importance laid out in the picture's rows and columns; nothing for the class token."""
    side = round(len(importance) ** 0.5)
    return TokenShares(patches=np.asarray(importance, dtype=np.float64).reshape(side, side), class_token=0.0)


def _given(analysis: PictureAnalysis, label: int) -> tuple[ScalarFunction, Tensor, Tensor, Tensor]:
    """The class's probability, the model's inputs, the background, and which patch each input belongs to."""
    classifier = analysis.classifier
    function = class_probability(classifier.model, label=label, temperature=classifier.temperature)
    inputs = classifier.normalise(analysis.image[None])[0]
    return function, inputs, background(classifier, inputs), patch_numbers(classifier).to(inputs.device)


def losses_without(analysis: PictureAnalysis, label: int, *, told: Told = untold) -> NDArray[np.float64]:
    """(patches,): what a class's probability loses without each patch alone, the evidence by occlusion."""
    return occlusion(*_given(analysis, label), told=told)


def evidence(analysis: PictureAnalysis, label: int, *, told: Told = untold) -> Evidence:
    """Importance of every patch for a class, (patches,), by each method."""
    last = list(analysis.maps)[-1]
    return evidence_of(
        *_given(analysis, label),
        attention=analysis.attention(last, None).patches.reshape(-1),
        rollout=analysis.rollout().patches.reshape(-1),
        relevance=analysis.relevance(label).patches.reshape(-1),
        max_nodes=MAX_GRADIENTS,
        told=told,
    )


def mask_of(numbers: Iterable[int], patches: int) -> Hidden:
    """(patches,): True at the patches of these numbers, counted from 1 as on the pages."""
    hidden = np.zeros(patches, dtype=bool)
    hidden[[number - 1 for number in numbers]] = True
    return hidden


def hidden_answer(analysis: PictureAnalysis, hidden: Hidden) -> Probabilities:
    """(classes,) calibrated probabilities of the image with some patches (patches,) replaced by background."""
    return hidden_answers(analysis, hidden[None])[0]


def hidden_answers(analysis: PictureAnalysis, hidden: Hidden) -> Probabilities:
    """(copies, classes) calibrated probabilities of copies of the image, each with some patches (copies, patches) replaced."""
    classifier = analysis.classifier
    inputs = classifier.normalise(analysis.image[None])[0]
    shown = without(inputs, background(classifier, inputs), patch_numbers(classifier).to(inputs.device), hidden)
    with torch.no_grad():
        logits = classifier.model(shown)
    return np.asarray((logits / classifier.temperature).softmax(dim=-1).double().cpu().numpy())


def painted(analysis: PictureAnalysis, hidden: Hidden | None) -> Bytes:
    """The image as the model reads it with some patches (patches,) hidden; as it is where None."""
    if hidden is None:
        return analysis.image
    classifier = analysis.classifier
    inputs = classifier.normalise(analysis.image[None])[0]
    shown = without(inputs, background(classifier, inputs), patch_numbers(classifier).to(inputs.device), hidden[None])[0]
    levels = (shown * classifier.std + classifier.mean).mul(255).round().clamp(0, 255).byte().permute(1, 2, 0).cpu().numpy()
    return np.ascontiguousarray(levels if levels.shape[-1] == 3 else levels[..., 0])


def ground_colour(analysis: PictureAnalysis) -> tuple[int, int, int]:
    """Red, green and blue of what the model reads in place of a hidden patch."""
    if analysis.classifier.manner != "photograph":
        return 0, 0, 0
    red, green, blue = analysis.image.reshape(-1, 3).mean(axis=0).round().astype(int).tolist()
    return red, green, blue


def sample(classifier: Classifier) -> Iterator[Evidence]:
    """Evidence of every bundled picture for its most probable class."""
    for image in bundled_images(classifier)[0]:
        analysis = analyse(classifier, image)
        yield evidence(analysis, analysis.likeliest)
