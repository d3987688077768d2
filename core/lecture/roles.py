"""Roles of queries, keys and values, and words as ids and vectors: two parts of the lesson on attention.

Sources: sequence-modelling "¿Qué representan Q, K y V?"; attention-notebook "What is imput enbedding" and "What is
Self-Attention".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.lecture.tokens import random_numbers
from core.nn import scaled_dot_product_attention

Array = NDArray[np.float64]
Role = Literal["q", "k", "v"]
CAT: Final = ("Your", "cat", "is", "a", "lovely", "cat")
CAT_IDS: Final = (105, 6587, 5476, 3558, 54, 5666)
"""The notebook's sentence and its ids; the second "cat" has another id than the first."""
CAT_WIDTH: Final = 512


def attend(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """softmax(Q K^T / sqrt(d_k)), (n, n), and that times V, (n, d_v)."""
    mixed, weights = scaled_dot_product_attention(torch.tensor(q), torch.tensor(k), torch.tensor(v), return_weights=True)
    assert weights is not None
    return weights.numpy(), mixed.numpy()


@dataclass(frozen=True, kw_only=True)
class RoleStudy:
    """Attention before and after one word's row of Q, K or V is multiplied by a factor.

    Attributes:
        weights, mixed: (n, n) and (n, d) before. weights_after, mixed_after: after.
    """

    weights: Array
    mixed: Array
    weights_after: Array
    mixed_after: Array

    @property
    def largest_changes(self) -> tuple[float, float]:
        """Largest change of a weight, and of an entry of the output."""
        return float(np.abs(self.weights_after - self.weights).max()), float(np.abs(self.mixed_after - self.mixed).max())


def role_study(x: Array, weights: dict[str, Array], *, role: Role, word: int, factor: float) -> RoleStudy:
    """Scale one word's query, key or value, and attend again.

    Args:
        x: (n, width). weights: W_Q, W_K and W_V. word: counted from 0.
    """
    before: dict[Role, Array] = {"q": x @ weights["W_Q"], "k": x @ weights["W_K"], "v": x @ weights["W_V"]}
    after = {name: values.copy() for name, values in before.items()}
    after[role][word] *= factor
    first, second = attend(before["q"], before["k"], before["v"]), attend(after["q"], after["k"], after["v"])
    return RoleStudy(weights=first[0], mixed=first[1], weights_after=second[0], mixed_after=second[1])


def cat_ids(*, as_written: bool) -> tuple[int, ...]:
    """The notebook's ids, or those of its own rule: the same word, the same id."""
    if as_written:
        return CAT_IDS
    first: dict[str, int] = {}
    return tuple(first.setdefault(word, number) for word, number in zip(CAT, CAT_IDS, strict=True))


def embedding(ids: Sequence[int]) -> Array:
    """(words, CAT_WIDTH): a row an id, from N(0, 1) as `nn.Embedding` starts; the same id has the same row."""
    return np.stack([random_numbers(f"id 0 {number}", (CAT_WIDTH,)) for number in ids])
