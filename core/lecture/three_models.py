"""One mechanism in three trained models: what a head looks at in an order book, a photograph of a garment and a film of a hand.

The softmax has a temperature here, A = softmax(q k^T / (tau sqrt(d_k))), with tau = 1 in all three models. The weights to the
power 1/tau, divided by their sum, are the same, but float32 rounds some of a trained model's weights to 0: so it is computed from
queries and keys. Sources: tlob-architecture 3.2, vit-report 2.2, iiga-equations 5; Hinton et al. 2015, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from core import checkpoints
from core.explain.queries_keys import queries_and_keys
from core.explain.summaries import effective_keys, even_entropy, row_entropy
from core.market.calibration import softmax
from core.market.predictor import load_predictor, windows_of
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.market.windows import window_ends
from core.nn import AttentionMaps
from core.signs.recogniser import load_recogniser
from core.signs.samples import clip_samples
from core.signs.video import read_video
from core.vision.analysis import CLASS_TOKEN
from core.vision.classifier import load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.own_classes import as_read
from core.vision.pictures import decode

Array = NDArray[np.float64]
Thing = Literal["book", "garment", "hand"]
CHECKPOINTS: Final[dict[Thing, str]] = {"book": "tlob", "garment": "cct", "hand": "iiga_digits"}
LAYERS: Final[dict[Thing, tuple[str, str]]] = {
    "book": ("time-to-time 1", "time-to-time 2"),
    "garment": ("layer 1", "layer 2"),
    "hand": ("inter 1", "inter 2"),
}
"""Name of the first and of the last map that looks at every token of the thing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Head:
    """Queries and keys (n, d_k) of one head over one thing, and the weights (n, n) that the model made of them."""

    q: Array
    k: Array
    weights: Array

    def scores(self, tau: float = 1.0) -> Array:
        """(n, n): q k^T / (tau sqrt(d_k))."""
        return np.asarray(self.q @ self.k.T / (tau * np.sqrt(self.q.shape[1])))

    def at(self, tau: float) -> Array:
        """(n, n) weights at a temperature, each row summing to 1."""
        return softmax(self.scores(tau))


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelLook:
    """One model's attention over one thing.

    Attributes:
        heads: of the first and of the last layer. query: the token whose row is read: the newest time step and the class token,
            from which the answer is read, and the frame of which the model is surest that it is no blank.
        name: of the recording, of the kind of garment, of the film.
        places: (n,) seconds before the newest row, or into the film; numbers of the tokens.
        seen: (n,) mid-prices, the photograph (side, side, 3), or the frames (n, side, side, 3). patch: of a photograph, pixels.
    """

    thing: Thing
    checkpoint: str
    name: str
    heads: tuple[tuple[Head, ...], tuple[Head, ...]]
    query: int
    places: Array
    seen: NDArray[Any]
    patch: int = 0

    def head(self, last: bool, number: int) -> Head:
        """The layer's head of this number, from 1; the last one where it has fewer."""
        heads = self.heads[int(last)]
        return heads[min(number, len(heads)) - 1]


@dataclass(frozen=True, kw_only=True)
class RowSpread:
    """Spread of a row of weights: its entropy, nats, over so many tokens, and its largest weight."""

    thing: Thing
    entropy: float
    count: int
    largest: float

    @property
    def effective(self) -> float:
        """Number of tokens over which even weights have this entropy."""
        return effective_keys(self.entropy)

    @property
    def share(self) -> float:
        """`effective` as a share of the tokens."""
        return self.effective / self.count

    @property
    def relative(self) -> float:
        """Entropy as a share of that of even weights: 0 for one token alone, 1 for even weights, whatever the row's length."""
        return self.entropy / self.even

    @property
    def even(self) -> float:
        """Entropy of even weights, nats."""
        return even_entropy(self.count)


def spread(look: ModelLook, row: Array) -> RowSpread:
    """Of a row of weights (n,)."""
    return RowSpread(thing=look.thing, entropy=float(row_entropy(row)), count=len(row), largest=float(row.max()))


def looks(folder: Path = checkpoints.FOLDER) -> tuple[ModelLook, ModelLook, ModelLook]:
    """The three models on bundled things: book, garment, hand; a second or two.

    Raises:
        CheckpointError: where a checkpoint is missing or damaged.
    """
    return _book(folder), _garment(folder), _hand(folder)


def deviation(looks: tuple[ModelLook, ...]) -> float:
    """Largest difference of the weights at temperature 1 from the models' own, over all heads."""
    return max(float(np.abs(one.at(1.0) - one.weights).max()) for look in looks for layer in look.heads for one in layer)


def _heads(thing: Thing, model: nn.Module, run: Callable[[], AttentionMaps]) -> tuple[tuple[Head, ...], tuple[Head, ...]]:
    kept: dict[str, Any] = {}

    def maps() -> AttentionMaps:
        kept.update(run())
        return kept

    vectors = queries_and_keys(model, maps)
    first, last = LAYERS[thing]
    return _of_layer(vectors, kept, first), _of_layer(vectors, kept, last)


def _of_layer(vectors: Mapping[str, Any], maps: Mapping[str, Any], name: str) -> tuple[Head, ...]:
    parts = (*vectors[name], maps[name].detach().cpu().numpy())
    q, k, weights = (np.asarray(one[0], dtype=np.float64) for one in parts)
    return tuple(Head(q=q[head], k=k[head], weights=weights[head]) for head in range(len(weights)))


def _book(folder: Path) -> ModelLook:
    """The first bundled recording's window in which the mid moves most often."""
    predictor, recording = load_predictor(CHECKPOINTS["book"], folder=folder), next(one for one in recordings() if one.bundled)
    rows, count = read_market(recording.paths), predictor.window
    moves = np.append(0, np.cumsum(np.diff(rows.levels[:, 0] + rows.levels[:, 2]) != 0))
    ends = window_ends(rows.timestamps, count)
    window = windows_of(rows.levels, ends[[(moves[ends] - moves[ends - count + 1]).argmax()]], count)
    inputs = predictor.inputs(window, predictor.market(f"{recording.venue} {recording.market}"))
    return ModelLook(
        thing="book",
        checkpoint=CHECKPOINTS["book"],
        name=f"{recording.venue} {recording.market}",
        heads=_heads("book", predictor.model, lambda: predictor.model(inputs, return_attention=True)[1]),
        query=count - 1,
        places=np.arange(1.0 - count, 1.0) / 4,
        seen=(window[0, :, 0] + window[0, :, 2]) / 2,
    )


def _garment(folder: Path) -> ModelLook:
    """The first bundled photograph of a dress."""
    classifier = load_classifier(CHECKPOINTS["garment"], folder=folder)
    photograph = next(one for one in photograph_gallery() if one.kind == "dress")
    image, model = as_read(classifier, decode(photograph.data, name=photograph.file)), classifier.model
    x = classifier.normalise(image[None])
    heads = _heads("garment", model, lambda: model.encode(model.tokens(x), return_attention=True)[1])
    return ModelLook(
        thing="garment",
        checkpoint=CHECKPOINTS["garment"],
        name=str(photograph.name),
        heads=heads,
        query=CLASS_TOKEN,
        places=np.arange(float(len(heads[0][0].q))),
        seen=image,
        patch=classifier.config.patch,
    )


def _hand(folder: Path) -> ModelLook:
    """The first bundled film of digits."""
    recogniser, clip = load_recogniser(CHECKPOINTS["hand"], folder=folder), clip_samples()[0]
    film = read_video(clip.path.read_bytes(), size=recogniser.image_size, fps=recogniser.fps)
    encoded = recogniser.encode(recogniser.inputs(film.frames)).detach()
    labels = recogniser.log_probabilities(film.frames)[:, 1:].max(axis=1)
    return ModelLook(
        thing="hand",
        checkpoint=CHECKPOINTS["hand"],
        name="".join(clip.glosses),
        heads=_heads("hand", recogniser.model, lambda: recogniser.model.attend(encoded, return_attention=True)[1]),
        query=int(labels.argmax()),
        places=np.asarray(film.seconds, dtype=np.float64),
        seen=film.frames,
    )
