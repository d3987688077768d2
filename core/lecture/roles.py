"""Roles of queries, keys and values (sequence-modelling "¿Qué representan Q, K y V?")."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.nn import scaled_dot_product_attention

Array = NDArray[np.float64]
Role = Literal["q", "k", "v"]


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
