"""Layers of a scene: maps of attention, or the queries and keys that they are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from attention_light.message import MessageParts

EXACT, ROUNDED = 1e-3, 2e-2
"""Distance from 1 that the sum of a row may have, of shares in float32 or float64 and of coarser numbers."""


NEAR: Final = 1e-3
"""Change of a weight that is allowed by what its queries and keys are rounded to."""


class SceneError(ValueError):
    """Parts of a scene that do not fit together; the message says what would."""


@dataclass(frozen=True, kw_only=True)
class _Named:
    """Parts that every layer has.

    Attributes:
        name: as the model names it.
        kind: the kind of the stage's tokens that are looked at; the first kind of the stage where empty.
        of: the kind of the tokens that look, where it is another one.
        formula: id of an entry of the app's index of equations that says what the weights are.
        step: which time the same module computed, from 1, where one scene grows over the steps of `generate()`.
    """

    name: str
    kind: str = ""
    of: str = ""
    formula: str = ""
    step: int = 1


@dataclass(frozen=True, kw_only=True)
class LayerMaps(_Named):
    """Maps of one layer.

    Attributes:
        weights: (heads, queries, keys), none below 0, each row summing to 1, or wholly 0 for a query that may look at nothing.
    """

    weights: NDArray[np.floating]

    @property
    def shape(self) -> tuple[int, ...]:
        """Heads, queries and keys."""
        return self.weights.shape

    @property
    def size(self) -> int:
        """Bytes that it takes on its way."""
        return 2 * self.weights.size

    def of_heads(self, heads: Sequence[int]) -> Self:
        """The layer with these heads alone, by their numbers from 0."""
        return replace(self, weights=self.weights[list(heads)])

    def maps(self) -> Iterator[NDArray[np.floating]]:
        """Each head's map."""
        return iter(self.weights)

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The weights."""
        return {"weights": add(np.asarray(self.weights, dtype=np.float16))}

    def check(self) -> None:
        """Raise `SceneError` where the weights are no shares."""
        weights = np.asarray(self.weights)
        sums = weights.sum(axis=-1, dtype=np.float64)
        if not np.isfinite(sums).all():
            raise SceneError(f"the layer {self.name} has weights that are no numbers: {np.count_nonzero(~np.isfinite(weights))}")
        near = EXACT if weights.dtype in (np.float32, np.float64) else ROUNDED
        off = np.abs(sums - 1)
        off[(sums == 0) & (sums.max(axis=-1, keepdims=True) > 0)] = 0
        if off.max(initial=0) > near:
            worst = float(sums.flat[off.argmax()])
            raise SceneError(
                f"the layer {self.name} has a row of weights that sums to {worst:.4g}: weights of attention are shares, and each "
                "row of them sums to 1 (scores need a softmax; a model in training mode drops some out: call model.eval())"
            )
        if weights.min(initial=0) < -near:
            raise SceneError(f"the layer {self.name} has a weight of {weights.min():.4g}: shares of attention are not below 0")


@dataclass(frozen=True, kw_only=True)
class LayerVectors(_Named):
    """Queries and keys of one layer, from which whoever shows it computes the row that is asked for; for many tokens.

    Attributes:
        queries: (heads, n, d). keys: (heads or a divisor of them, m, d).
        scale: of the scores; d to the power -1/2 where None.
        causal: whether query i sees the keys up to i alone.
        bias: (1 or heads, n, m), added to the scores, minus infinity where nothing is seen.
    """

    queries: NDArray[np.floating]
    keys: NDArray[np.floating]
    scale: float | None = None
    causal: bool = False
    bias: NDArray[np.floating] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Heads, queries and keys."""
        return (*self.queries.shape[:2], self.keys.shape[-2])

    @property
    def size(self) -> int:
        """Bytes that it takes on its way, in float16."""
        return 2 * (self.queries.size + self.keys.size + (0 if self.bias is None else self.bias.size)) + 4 * len(self.queries[0])

    def of_heads(self, heads: Sequence[int]) -> Self:
        """The layer with these heads alone, by their numbers from 0, each with keys of its own."""
        share = len(self.queries) // len(self.keys)
        bias = self.bias if self.bias is None or len(self.bias) == 1 else self.bias[list(heads)]
        return replace(self, queries=self.queries[list(heads)], keys=self.keys[[one // share for one in heads]], bias=bias)

    def check(self) -> None:
        """Raise `SceneError` where queries and keys do not fit each other."""
        fit = self.queries.ndim == 3 == self.keys.ndim and self.queries.shape[-1] == self.keys.shape[-1]
        if not fit or self.queries.shape[0] % self.keys.shape[0]:
            raise SceneError(
                f"the layer {self.name} has queries of shape {self.queries.shape} and keys of shape {self.keys.shape}: "
                "(heads, n, d) and (heads or a divisor, m, d) fit each other"
            )
        if not (np.isfinite(self.queries).all() and np.isfinite(self.keys).all()):
            raise SceneError(f"the layer {self.name} has queries or keys that are no numbers")

    @property
    def weights(self) -> NDArray[np.float32]:
        """The maps, (heads, n, m), float32: softmax(q k^T scale + bias); computed anew whenever it is asked for."""
        return np.stack(list(self.maps()))

    def maps(self) -> Iterator[NDArray[np.float32]]:
        """Each head's map, (n, m)."""
        scaled = self.scaled()
        for head in range(len(scaled)):
            yield self.rows(head, scaled[head], self.keys[head // (len(scaled) // len(self.keys))], slice(None))[0]

    def scaled(self) -> NDArray[np.float32]:
        """Queries times the scale, float32."""
        scale = self.queries.shape[-1] ** -0.5 if self.scale is None else self.scale
        return np.asarray(self.queries, dtype=np.float32) * np.float32(scale)

    def rows(
        self, head: int, queries: NDArray[np.floating], keys: NDArray[np.floating], at: slice
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Rows `at` of a head's map, of scaled queries and of keys, with the logarithms of their divisors."""
        scores = queries[at].astype(np.float32) @ keys.astype(np.float32).T
        if self.bias is not None:
            scores += self.bias[head % len(self.bias)][at]
        if self.causal:
            n, m = self.shape[1:]
            scores[~np.tri(n, m, dtype=bool)[at]] = -np.inf
        most = np.maximum(scores.max(axis=-1), np.finfo(np.float32).min)
        scores -= most[:, None]
        np.exp(scores, out=scores)
        sums = scores.sum(axis=-1)
        scores /= np.maximum(sums, np.finfo(np.float32).tiny)[:, None]
        return scores, most + np.log(sums, out=np.full_like(sums, np.inf), where=sums > 0)

    @cached_property
    def rounded(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Scaled queries and keys as they travel, in float16 where no row changes by more than `NEAR`, else in float32.

        The mean key is taken off: that adds one number to all scores of a row, which its softmax does not see, and what is left
        is small where a few channels are large in every key.
        """
        queries = self.scaled()
        keys = np.asarray(self.keys, dtype=np.float32)
        keys = keys - keys.mean(axis=1, keepdims=True)
        some = slice(None, None, max(1, self.shape[1] // 32))
        with np.errstate(over="ignore", invalid="ignore"):
            small = queries.astype(np.float16), keys.astype(np.float16)
            for head in range(len(queries)):
                one = head // (len(queries) // len(keys))
                exact = self.rows(head, queries[head], keys[one], some)[0]
                if not np.abs(self.rows(head, small[0][head], small[1][one], some)[0] - exact).max() <= NEAR:
                    return queries, keys
        return small

    def described(self, add: MessageParts) -> dict[str, Any]:
        """Queries and keys, from which a row of weights is exp(q k + bias - norm)."""
        queries, keys = self.rounded
        share = len(queries) // len(keys)
        norms = [self.rows(head, queries[head], keys[head // share], slice(None))[1] for head in range(len(queries))]
        return {
            "queries": add(queries),
            "keys": add(keys),
            "norms": add(np.stack(norms)),
            "causal": self.causal,
            "bias": None if self.bias is None else add(np.asarray(self.bias, dtype=np.float16)),
        }


Layer = LayerMaps | LayerVectors
