"""Multi-head attention with every intermediate result; weights and outputs come from core.nn.attention.

Sources: iiga-equations section 5, vit-report sections 2.2 and 4, sequence-modelling "Atención Escalar de Producto" and
"Single-head vs Multi-head Attention", attention-notebook "What is Self-Attention".
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.explain.summaries import row_entropy
from core.lecture.moved import Moved, compare
from core.lecture.tokens import random_numbers
from core.nn import causal_mask, padding_mask, scaled_dot_product_attention, window_mask

Array = NDArray[np.float64]
Mask = Literal["none", "causal", "window", "padding"]
Role = Literal["q", "k", "v"]
MATRICES: Final = ("W_Q", "W_K", "W_V", "W_O")


def random_weights(width: int, *, seed: int = 0) -> dict[str, Array]:
    """W_Q, W_K, W_V and W_O, (width, width) each from N(0, 1 / width): untrained."""
    return {name: random_numbers(f"{name} {seed} {width}", (width, width), std=1 / math.sqrt(width)) for name in MATRICES}


def project(x: Array, weights: Array) -> Array:
    """X W, (tokens, width): the queries, keys or values of all heads (iiga-equations 5.1; biases are 0 here)."""
    return np.asarray(x @ weights)


def split_heads(x: Array, heads: int) -> Array:
    """(tokens, heads * d_k) -> (heads, tokens, d_k): head 1 takes the first d_k columns (iiga-equations 5.2).

    Raises:
        ValueError: where the number of heads does not divide the columns.
    """
    if x.shape[1] % heads:
        raise ValueError(f"{x.shape[1]} columns cannot be shared by {heads} heads: take a number that divides them")
    return np.ascontiguousarray(x.reshape(len(x), heads, -1).transpose(1, 0, 2))


def concatenate_heads(z: Array) -> Array:
    """(heads, tokens, d_k) -> (tokens, heads * d_k): head_1 | head_2 | ... (iiga-equations 5.6)."""
    return np.ascontiguousarray(z.transpose(1, 0, 2).reshape(z.shape[1], -1))


def raw_scores(q: Array, k: Array) -> Array:
    """Q K^T, (..., queries, keys), unscaled."""
    return np.asarray(q @ np.swapaxes(k, -1, -2))


def scaled_scores(q: Array, k: Array, *, temperature: float = 1.0) -> Array:
    """Q K^T / (temperature sqrt(d_k)) (iiga-equations 5.3). The documents have temperature 1."""
    return raw_scores(q, k) / (temperature * math.sqrt(q.shape[-1]))


def scaled_score(raw: float, temperature: float, key_width: float) -> float:
    """One entry of `scaled_scores`, from that of `raw_scores`."""
    return raw / (temperature * math.sqrt(key_width))


def build_mask(kind: Mask, length: int, *, window: int = 1, kept: int | None = None) -> NDArray[np.bool_]:
    """(queries, keys), True where a query may attend.

    Args:
        window: keys to either side that a query of a window mask sees.
        kept: tokens before the padding, for a padding mask; all of them where None.
    """
    allowed = torch.ones(length, length, dtype=torch.bool)
    if kind == "causal":
        allowed &= causal_mask(length)
    if kind == "window":
        allowed &= window_mask(length, window)
    if kind == "padding":
        allowed &= padding_mask(torch.tensor([length if kept is None else kept]), length)[0, 0]
    return np.asarray(allowed.numpy())


def even_weights(allowed: NDArray[np.bool_]) -> Array:
    """Weights of a query that looks at every key that it may look at alike, (keys,); zeros where there is none."""
    return np.asarray(allowed / max(1, int(allowed.sum())))


def even_entropies(mask: NDArray[np.bool_]) -> Array:
    """Entropy of `even_weights` of each query, (queries,), nats."""
    return np.log(np.maximum(mask.sum(axis=1), 1))


@dataclass(frozen=True, kw_only=True)
class Steps:
    """All intermediate results from tokens to outputs, for n tokens and h heads.

    Attributes:
        x: (n, width) tokens. q, k, v: (h, n, d_k) a head.
        raw: (h, n, n) Q K^T. scaled: that over temperature * sqrt(d_k). masked: -inf where a query may not attend.
        mask: (n, n). weights: (h, n, n) the softmax. mixed: (h, n, d_k) weights times values.
        joined: (n, width) the heads side by side. output: (n, width) that times W_O.
        entropy: (h, n) of each query's weights, nats. temperature: by which the scores were also divided.
    """

    x: Array
    q: Array
    k: Array
    v: Array
    raw: Array
    scaled: Array
    masked: Array
    mask: NDArray[np.bool_]
    weights: Array
    mixed: Array
    joined: Array
    output: Array
    entropy: Array
    temperature: float

    @property
    def key_width(self) -> int:
        """d_k: columns of one head."""
        return int(self.q.shape[-1])

    def weighted_values(self, head: int, query: int) -> Array:
        """A_ij v_j for every key j, (n, d_k), whose sum is the query's output (iiga-equations 5.5)."""
        return np.asarray(self.weights[head, query][:, None] * self.v[head])

    def operands(self, head: int, query: int) -> dict[str, Array]:
        """Matrices of a head from which others come, by their names in `core.lecture.origins`; `row`: the query's weights."""
        named = {"Q": self.q, "K": self.k, "V": self.v, "raw": self.raw, "scaled": self.scaled, "masked": self.masked}
        row = np.repeat(self.weights[head, query][:, None], self.key_width, axis=1)
        root = np.array([[self.temperature * math.sqrt(self.key_width)]])
        whole = {"weights": self.weights[head], "mask": self.mask.astype(float), "row": row, "root": root}
        return {name: values[head] for name, values in named.items()} | whole


def steps(
    x: Array, weights: dict[str, Array], *, heads: int = 1, mask: NDArray[np.bool_] | None = None, temperature: float = 1.0
) -> Steps:
    """Concat(head_1 .. head_h) W_O, step by step (iiga-equations 5.1 to 5.7).

    Args:
        x: (tokens, width). weights: W_Q, W_K, W_V, W_O, (width, width) each.
        mask: True where a query may attend. temperature: above 1 evens the weights out, below 1 sharpens them.

    Raises:
        ValueError: for a temperature that is not positive, or heads that do not divide the width.
    """
    if temperature <= 0:
        raise ValueError(f"a temperature of {temperature} has no softmax: it must be above 0")
    q, k, v = (split_heads(project(x, weights[name]), heads) for name in MATRICES[:3])
    allowed = np.ones((len(x), len(x)), dtype=bool) if mask is None else mask
    scaled = scaled_scores(q, k, temperature=temperature)
    mixed, attention = scaled_dot_product_attention(
        torch.tensor(q / temperature), torch.tensor(k), torch.tensor(v), mask=torch.tensor(allowed), return_weights=True
    )
    assert attention is not None
    joined = concatenate_heads(mixed.numpy())
    return Steps(
        x=x,
        q=q,
        k=k,
        v=v,
        raw=raw_scores(q, k),
        scaled=scaled,
        masked=np.where(allowed, scaled, -np.inf),
        mask=allowed,
        weights=attention.numpy(),
        mixed=mixed.numpy(),
        joined=joined,
        output=joined @ weights["W_O"],
        entropy=row_entropy(attention.numpy()),
        temperature=temperature,
    )


def role_study(x: Array, weights: dict[str, Array], *, role: Role, word: int, factor: float) -> tuple[Moved, Moved]:
    """Attention weights (n, n) and what they mix (n, width), before and after one word's query, key or value is multiplied.

    Source: sequence-modelling "¿Qué representan Q, K y V?". The word is counted from 0.
    """
    before = steps(x, weights)
    rows = {"q": before.q, "k": before.k, "v": before.v}
    rows[role] = rows[role].copy()
    rows[role][0, word] *= factor
    mask = torch.tensor(before.mask)  # as in `steps`, so that what does not move is the same to the last bit
    mixed, after = scaled_dot_product_attention(*map(torch.tensor, rows.values()), mask=mask, return_weights=True)
    assert after is not None
    return compare(before.weights[0], after[0].numpy()), compare(before.mixed[0], mixed[0].numpy())


@torch.inference_mode()
def deviation_from_torch(steps: Steps, weights: dict[str, Array]) -> float:
    """Largest difference of our output from that of `torch.nn.MultiheadAttention` with the same weights and mask.

    PyTorch's layer has no temperature, so its W_Q is divided by it. A query without a key, where PyTorch gives NaN, is left out.
    """
    width, heads = steps.x.shape[1], steps.q.shape[0]
    twin = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True).double().eval()
    projections = [weights["W_Q"] / steps.temperature, weights["W_K"], weights["W_V"]]
    twin.in_proj_weight.copy_(torch.tensor(np.concatenate([one.T for one in projections])))
    twin.out_proj.weight.copy_(torch.tensor(weights["W_O"].T))
    x = torch.tensor(steps.x)[None]
    wanted = twin(x, x, x, attn_mask=torch.tensor(~steps.mask))[0][0].numpy()
    looking = steps.mask.any(axis=1)
    return float(np.abs(steps.output - wanted)[looking].max())
