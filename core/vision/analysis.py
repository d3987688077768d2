"""One image as a classifier reads it: its answer, and by three measures which patches that answer came from.

The three measures say different things (D23). Attention: how much of a patch one layer's head mixes into a token. Rollout: how
much of a patch would reach the token through all layers if mixing were all they did. Relevance: what of it spoke for a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.explain.relevance import attention_gradients, relevance
from core.explain.rollout import fuse_heads, rollout
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes

Look = Literal["attention", "rollout", "relevance"]
LOOKS: Final[tuple[Look, ...]] = ("attention", "rollout", "relevance")
CLASS_TOKEN: Final = 0
"""Number of the class token; patches follow from 1, row by row from the top."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """What one token has of all others.

    Attributes:
        patches: (grid, grid), of each patch. class_token: of the class token.
    """

    patches: NDArray[np.float64]
    class_token: float

    @classmethod
    def of(cls, row: NDArray[np.floating]) -> Shares:
        """A row over all tokens, the class token first."""
        side = round((len(row) - 1) ** 0.5)
        return cls(patches=np.asarray(row[1:], dtype=np.float64).reshape(side, side), class_token=float(row[0]))


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureAnalysis:
    """An image and what a classifier makes of it. Nobody writes to the arrays: they are shared.

    Attributes:
        image: uint8 (28, 28). probabilities: (classes,). strangeness: see `Classifier.strangeness`.
        maps: weights (heads, n, n) by layer name, first layer first.
    """

    classifier: Classifier
    image: Bytes
    probabilities: NDArray[np.float64]
    strangeness: float
    maps: dict[str, NDArray[np.float32]]

    @property
    def ranking(self) -> list[int]:
        """All classes, the most probable first."""
        return [int(one) for one in np.argsort(-self.probabilities, kind="stable")]

    @property
    def called(self) -> int:
        """The most probable class."""
        return self.ranking[0]

    @property
    def garment(self) -> bool:
        """Whether the image is as like a garment as the card's threshold asks."""
        return self.strangeness <= self.classifier.threshold

    @property
    def heads(self) -> int:
        """Of a layer."""
        return self.classifier.config.heads

    @property
    def grid(self) -> int:
        """Patches along a side."""
        return self.classifier.config.grid

    def attention(self, layer: str, head: int | None, token: int = CLASS_TOKEN) -> Shares:
        """What a token looks at in one layer: by one head, or the mean of all where None."""
        weights = self.maps[layer]
        return Shares.of((fuse_heads(weights) if head is None else weights[head])[token])

    def rolled(self, token: int = CLASS_TOKEN) -> Shares:
        """Attention rollout through all layers."""
        return Shares.of(rollout(list(self.maps.values()))[token])

    def relevance(self, label: int) -> Shares:
        """Gradient relevance to a class's logit, at the class token, which the head reads; its own identity left out."""
        model = self.classifier.model
        layers, gradients = attention_gradients(
            lambda x: model(x, return_attention=True), self.classifier.normalise(self.image[None]), label
        )
        row = relevance(layers, gradients)[CLASS_TOKEN]
        row[CLASS_TOKEN] -= 1.0
        return Shares.of(row)

    def glance(self, token: int = CLASS_TOKEN) -> NDArray[np.float64]:
        """(layers, heads, grid, grid): what a token looks at in every head of every layer, patches alone."""
        rows = np.stack([weights[:, token, 1:] for weights in self.maps.values()]).astype(np.float64)
        return rows.reshape(*rows.shape[:2], self.grid, self.grid)


def read(classifier: Classifier, image: Bytes) -> PictureAnalysis:
    """Answer, doubt and all maps of one uint8 image (28, 28).

    Raises:
        ValueError: for another shape.
    """
    answers = classifier.answers(image[None])
    return PictureAnalysis(
        classifier=classifier,
        image=image,
        probabilities=answers.probabilities[0],
        strangeness=float(answers.strangeness[0]),
        maps={name: weights[0] for name, weights in classifier.attention(image[None]).items()},
    )


def image_of(pixels: bytes, side: int) -> Bytes:
    """uint8 (side, side) from its bytes, row by row."""
    return np.frombuffer(pixels, np.uint8).reshape(side, side).copy()
