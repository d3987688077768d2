"""Self-attention under a permutation of its tokens (D21).

Source: attention-notebook "Mathematical Definition of Self-Attention and Permutation Invariance", sections 1 to 3, which
proves equivariance, Z' = P Z, and calls it invariance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.lecture.attention_steps import Steps, build_mask, steps
from core.lecture.positions import encoding
from core.messages import compose

Array = NDArray[np.float64]
Causal = Literal["none", "fixed", "permuted"]
SENTENCE: Final = compose("the dog bites the man")
"""The words that the page opens with."""
EXACT: Final = 1e-10
"""Deviations under this are rounding in float64."""


def permutation_matrix(order: Sequence[int]) -> Array:
    """P with (P X)_i = X_order[i]: one 1 in each row and column (attention-notebook, the matrix P).

    Raises:
        ValueError: for an order that is no permutation of 0 .. n-1.
    """
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"{list(order)} is no order of {len(order)} tokens: name each of 0 to {len(order) - 1} once")
    return np.asarray(np.eye(len(order))[list(order)])


def permute_map(weights: Array, p: Array) -> Array:
    """P A P^T: the attention map of the shuffled tokens, (..., n, n) (attention-notebook, "Property of the Softmax")."""
    return np.asarray(p @ weights @ p.T)


def pooled(z: Array) -> Array:
    """Mean of all rows, (width,), which a permutation does not change, as 1^T P = 1^T."""
    return np.asarray(z.mean(axis=0))


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """One layer on tokens in their order and permuted.

    Attributes:
        p: the permutation matrix. before, after: all steps for X and for PX; Z and Z' are their `joined`, before any W_O.
        moved: (n, width) P Z, which Z' equals under equivariance. off: (n, width) Z' - P Z.
        rows, maps, pool: largest deviations of Z' from P Z, of A' from P A P^T, of the means over rows.
    """

    p: Array
    before: Steps
    after: Steps
    moved: Array
    off: Array
    rows: float
    maps: float
    pool: float

    @property
    def largest(self) -> float:
        """Largest size of an entry of P Z and Z'."""
        return float(max(np.abs(self.moved).max(), np.abs(self.after.joined).max()))

    @property
    def operands(self) -> dict[str, Array]:
        """Matrices from which others come, by their names in `core.lecture.origins`; maps, scores and values of head 1."""
        before, after = self.before, self.after
        rows = {"p": self.p, "Z": before.joined, "after": after.joined, "pz": self.moved}
        return rows | {"S": before.masked[0], "S'": after.masked[0], "map_after": after.weights[0], "V'": after.v[0]}

    @property
    def equivariant(self) -> bool:
        """Tells whether Z' = P Z up to rounding."""
        return self.rows < EXACT

    @property
    def invariant(self) -> bool:
        """Tells whether the means over rows are equal up to rounding."""
        return self.pool < EXACT


def shuffle(
    x: Array, weights: dict[str, Array], order: Sequence[int], *, heads: int = 1, positions: bool = False, causal: Causal = "none"
) -> Shuffle:
    """Attend over X and over PX, and compare.

    Args:
        x: (n, width) tokens without positions. weights: as `attention_steps.steps`.
        order: row i of PX is row order[i] of X.
        positions: add the sinusoidal encoding by place: the first token gets the first row, whichever token it is.
        causal: "fixed" masks by place in both; "permuted" permutes the mask with the tokens, P M P^T.

    Raises:
        ValueError: for an order that is no permutation.
    """
    p = permutation_matrix(order)
    places = encoding(*x.shape) if positions else np.zeros_like(x)
    mask = build_mask("none" if causal == "none" else "causal", len(x))
    other = permute_map(mask.astype(float), p) > 0.5 if causal == "permuted" else mask
    before = steps(x + places, weights, heads=heads, mask=mask)
    after = steps(p @ x + places, weights, heads=heads, mask=other)
    moved = p @ before.joined
    return Shuffle(
        p=p,
        before=before,
        after=after,
        moved=moved,
        off=after.joined - moved,
        rows=float(np.abs(after.joined - moved).max()),
        maps=float(np.abs(after.weights - permute_map(before.weights, p)).max()),
        pool=float(np.abs(pooled(after.joined) - pooled(before.joined)).max()),
    )


SETTINGS: Final[tuple[tuple[bool, Causal], ...]] = (
    (False, "none"),
    (True, "none"),
    (False, "fixed"),
    (False, "permuted"),
    (True, "permuted"),
)
"""Positions and mask of each row of the page's table."""


def compare_settings(x: Array, weights: dict[str, Array], order: Sequence[int], *, heads: int = 1) -> list[Shuffle]:
    """One `shuffle` for each of `SETTINGS`, in their order (D21)."""
    return [shuffle(x, weights, order, heads=heads, positions=positions, causal=causal) for positions, causal in SETTINGS]


def read_order(text: str | None, length: int) -> list[int] | None:
    """An order counted from 1 ("3 1 2", "3,1,2"); None where the text is not an order of `length` tokens."""
    parts = (text or "").replace(",", " ").split()
    if not all(part.isdecimal() and len(part) <= len(str(length)) for part in parts):
        return None  # also keeps `int` from thousands of digits, at which it raises
    order = [int(part) - 1 for part in parts]
    return order if sorted(order) == list(range(length)) else None


def write_order(order: Sequence[int]) -> str:
    """An order counted from 0 as text counted from 1: "3,1,2"."""
    return ",".join(str(index + 1) for index in order)


def random_order(length: int, seed: int) -> list[int]:
    """A random order that differs from the identity where the length allows it."""
    rng = np.random.default_rng(seed)
    while length > 1:
        order = [int(i) for i in rng.permutation(length)]
        if order != list(range(length)):
            return order
    return list(range(length))
