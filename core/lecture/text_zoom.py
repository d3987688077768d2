"""A zoom through the model of characters: one character's vector from its symbol to the next one's chances, every step in numpy.

Written out from the weights alone, in float64, so that it is a second computation of what `DecoderOnly` does, not a look into it.
Sources: vit-report sections 2.1 to 2.5; Radford et al. 2019 (the norm comes before each sub-layer).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.lecture.activations import gelu_tanh
from core.market.calibration import softmax
from core.models.decoder_only import DecoderOnly

Array = NDArray[np.float64]
Kind = Literal["embed", "place", "norm1", "attention", "sum1", "norm2", "ffn", "sum2", "norm", "logits", "softmax"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Stop:
    """One stop of the zoom.

    Attributes:
        kind: what is computed. layer: from 1; 0 outside of the layers.
        values: what comes out, of the chosen character: (width,), or (vocabulary,) of the last two.
        terms: of the first number, by the names in the lesson's equation. ahead: chances of the next symbol, read out here.
    """

    kind: Kind
    layer: int
    values: Array
    terms: dict[str, float]
    ahead: Array

    @property
    def size(self) -> float:
        """Root mean square of the values."""
        return float(np.sqrt((self.values**2).mean()))


class _Weights:
    """The model's weights, float64, by their names."""

    def __init__(self, model: DecoderOnly) -> None:
        self.of = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
        self.config = model.config

    def linear(self, name: str, x: Array) -> Array:
        return np.asarray(x @ self.of[f"{name}.weight"].T + self.of[f"{name}.bias"])

    def norm(self, name: str, x: Array) -> Array:
        away = x - x.mean(axis=-1, keepdims=True)
        root = np.sqrt((away**2).mean(axis=-1, keepdims=True) + 1e-5)
        return np.asarray(away / root * self.of[f"{name}.weight"] + self.of[f"{name}.bias"])

    def ahead(self, x: Array) -> Array:
        """Chances of the next symbol where the rest of the network is left out: its last norm and its last matrix alone."""
        return softmax(self.linear("out", self.norm("norm", x)))


def zoom(model: DecoderOnly, numbers: NDArray[np.int64], place: int) -> list[Stop]:
    """All stops of the character at a place; those after it are not read, as no stop depends on them.

    Args:
        numbers: the symbols as the model has them, its sign of the beginning first.
    """
    weights = _Weights(model)
    x = weights.of["embedding.weight"][numbers[: place + 1]]
    angles = np.arange(place + 1)[:, None] / 10_000 ** (np.arange(0, x.shape[1], 2) / x.shape[1])
    places = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(place + 1, -1)[:, : x.shape[1]]
    stops = [
        Stop(kind="embed", layer=0, values=x[-1], terms={"x": x[-1, 0]}, ahead=weights.ahead(x[-1])),
        Stop(
            kind="place", layer=0, values=(x + places)[-1], terms={"a": x[-1, 0], "b": places[-1, 0]},
            ahead=weights.ahead((x + places)[-1]),
        ),
    ]  # fmt: skip
    x = x + places
    for layer in range(1, model.config.layers + 1):
        for stop, after in _layer(weights, layer, x):
            stops.append(stop)
            x = after
    return [*stops, *_end(weights, x[-1])]


def deviation(stops: list[Stop], logits: Array) -> float:
    """Largest difference of the zoom's logits from those that the model gave."""
    return float(np.abs(stops[-2].values - logits).max())


def settled(stops: list[Stop]) -> int:
    """The stop, from 1, from which on the likeliest next symbol, read out there, stays what it is at the end."""
    best = [int(one.ahead.argmax()) for one in stops]
    return 1 + max((at + 1 for at, one in enumerate(best) if one != best[-1]), default=0)


def last_layer(model: DecoderOnly, stops: list[Stop]) -> dict[str, Array]:
    """Vectors of the last layer for the lesson's notebook: X, O, F, and the scale and shift of its second norm."""
    weights, last = _Weights(model), {one.kind: one.values for one in stops if one.layer == model.config.layers}
    name = f"layers.{model.config.layers - 1}.norm2"
    came = last["sum1"] - last["attention"]
    return {
        "X": came, "O": last["attention"], "F": last["ffn"], "GAIN": weights.of[f"{name}.weight"],
        "BIAS": weights.of[f"{name}.bias"], "LOGITS": stops[-2].values, "x1": last["sum1"], "n2": last["norm2"],
        "x2": last["sum2"],
    }  # fmt: skip


def _normed(weights: _Weights, name: str, x: Array) -> tuple[Array, dict[str, float]]:
    """LayerNorm of a row, and the terms of its first number."""
    gain, bias = (float(weights.of[f"{name}.{one}"][0]) for one in ("weight", "bias"))
    terms = {"x": float(x[0]), "mean": float(x.mean()), "variance": float(x.var()), "gain": gain, "bias": bias}
    return weights.norm(name, x), terms


def _layer(weights: _Weights, layer: int, x: Array) -> Iterator[tuple[Stop, Array]]:
    """Stops of a layer, and after each what goes on: (n, width)."""
    name = f"layers.{layer - 1}"

    def stop(kind: Kind, values: Array, terms: dict[str, float], on: Array) -> tuple[Stop, Array]:
        return Stop(kind=kind, layer=layer, values=values, terms=terms, ahead=weights.ahead(on[-1])), on

    values, terms = _normed(weights, f"{name}.norm1", x[-1])
    yield stop("norm1", values, terms, x)
    added, most = _attended(weights, f"{name}.attention", weights.norm(f"{name}.norm1", x))
    yield stop("attention", added[-1], most, x)
    on = x + added
    yield stop("sum1", on[-1], {"a": float(x[-1, 0]), "b": float(added[-1, 0])}, on)
    values, terms = _normed(weights, f"{name}.norm2", on[-1])
    yield stop("norm2", values, terms, on)
    inner = weights.linear(f"{name}.feed_forward.fc1", weights.norm(f"{name}.norm2", on))
    fed = weights.linear(f"{name}.feed_forward.fc2", gelu_tanh(torch.from_numpy(inner)).numpy())
    yield stop("ffn", fed[-1], {"inner": float(inner[-1, 0]), "f": float(fed[-1, 0])}, on)
    yield stop("sum2", on[-1] + fed[-1], {"a": float(on[-1, 0]), "b": float(fed[-1, 0])}, on + fed)


def _attended(weights: _Weights, name: str, x: Array) -> tuple[Array, dict[str, float]]:
    """Attention to add to each row, each looking at itself and what lies before, and terms of the last row's first head."""
    heads = weights.config.heads
    q, k, v = (weights.linear(f"{name}.{one}", x).reshape(len(x), heads, -1).transpose(1, 0, 2) for one in "qkv")
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])  # (heads, n, n)
    shares = softmax(np.where(np.tril(np.ones(scores.shape[1:], dtype=bool)), scores, -np.inf))
    mixed = (shares @ v).transpose(1, 0, 2).reshape(len(x), -1)
    added = weights.linear(f"{name}.out", mixed)
    best = int(shares[0, -1].argmax())
    terms = {"key": best, "score": scores[0, -1, best], "share": shares[0, -1, best], "mixed": mixed[-1, 0], "o": added[-1, 0]}
    return added, {code: float(value) for code, value in terms.items()}


def _end(weights: _Weights, x: Array) -> Iterator[Stop]:
    values, terms = _normed(weights, "norm", x)
    ahead = weights.ahead(x)
    yield Stop(kind="norm", layer=0, values=values, terms=terms, ahead=ahead)
    logits = weights.linear("out", values)
    best = int(logits.argmax())
    told = {"product": float(weights.of["out.weight"][best] @ values), "bias": float(weights.of["out.bias"][best])}
    yield Stop(kind="logits", layer=0, values=logits, terms=told, ahead=ahead)
    shifted = np.exp(logits - logits.max())
    yield Stop(kind="softmax", layer=0, values=ahead, terms={"sum": float(shifted.sum())}, ahead=ahead)
