"""One image as a classifier sees it: its answer, and by three measures which patches that answer came from.

The three measures say different things (D23). Attention: how much of a patch one layer's head mixes into a token. Rollout: how
much of a patch would reach the token through all layers if mixing were all they did. Relevance: how much of it spoke for a class.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attention_light.rollout import fuse_heads, rollout
from core.device import Placement, falls_back
from core.explain.relevance import attention_gradients, relevance
from core.models.vit import ViT
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes

SURE: Final = 0.8
"""Probability below which the next class is named beside the likeliest."""
CLASS_TOKEN: Final = 0
"""Number of the class token; patches follow from 1, row by row from the top."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureAnalysis:
    """An image with a classifier's answer and attention maps. The arrays are shared: do not write to them.

    Attributes:
        image: uint8, what the model reads: (side, side), or (side, side, 3) in colour.
        probabilities: (classes,), if it shows one of them. strangeness: see `Classifier.strangeness`.
        maps: weights (heads, n, n) by layer name, first layer first.
    """

    classifier: Classifier
    image: Bytes
    probabilities: NDArray[np.float64]
    strangeness: float
    maps: dict[str, NDArray[np.float32]]

    @property
    def placement(self) -> Placement[ViT]:
        """The network that answered, and its device."""
        return self.classifier.placement

    @property
    def ranking(self) -> list[int]:
        """All classes, the most probable first."""
        return [int(label) for label in np.argsort(-self.probabilities, kind="stable")]

    @property
    def likeliest(self) -> int:
        """The most probable class."""
        return self.ranking[0]

    @property
    def named(self) -> list[int]:
        """The class that a person is told, and the next one where a garment is of the first with less than `SURE`."""
        return self.ranking[: 2 if self.garment and self.shares[self.likeliest] < SURE else 1]

    @property
    def none(self) -> float:
        """The probability that it shows none of the classes."""
        return float(self.classifier.none(np.array([self.strangeness]))[0])

    @property
    def shares(self) -> NDArray[np.float64]:
        """(classes,): the probability of each class, that of "none of these" taken out: what a person is told (D37)."""
        return self.probabilities * (1 - self.none)

    @property
    def garment(self) -> bool:
        """Tells whether the image is as like the training images as the card's threshold asks."""
        return self.strangeness <= self.classifier.threshold

    @property
    def grid(self) -> int:
        """Patches along a side."""
        return self.classifier.config.grid

    def attention(self) -> NDArray[np.float64]:
        """(1 + patches,): the class token's row of the last layer's map, the mean of its heads."""
        return fuse_heads(list(self.maps.values())[-1])[CLASS_TOKEN]

    def rollout(self) -> NDArray[np.float64]:
        """(1 + patches,): the class token's row of the attention rollout through all layers."""
        return rollout(list(self.maps.values()))[CLASS_TOKEN]

    @falls_back
    def relevance(self, label: int) -> NDArray[np.float64]:
        """(1 + patches,): gradient relevance to a class's logit at the class token, without its own identity."""
        model = self.classifier.model
        layers, gradients = attention_gradients(
            lambda x: model(x, return_attention=True), self.classifier.normalise(self.image[None]), label
        )
        row = relevance(layers, gradients)[CLASS_TOKEN]
        row[CLASS_TOKEN] -= 1.0
        return np.asarray(row)


def analyse(classifier: Classifier, image: Bytes, unturned: Bytes | None = None) -> PictureAnalysis:
    """Answer, strangeness and all maps of one uint8 image (side, side), or (side, side, 3) for a model of colour.

    Args:
        unturned: the image before it was set upright; what is strange in either position is strange.

    Raises:
        ValueError: for another shape.
    """
    answers = classifier.answer(image, unturned)
    return PictureAnalysis(
        classifier=classifier,
        image=image,
        probabilities=answers.probabilities[0],
        strangeness=float(answers.strangeness[0]),
        maps={name: weights[0] for name, weights in classifier.attention(image[None]).items()},
    )
