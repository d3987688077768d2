"""Queries and keys of one attention head over many inputs, together on one plane.

The plane is that of the two largest principal components of queries and keys taken together; what it leaves out is said as a
share of their variance. As in AttentionViz (Yeh et al. 2023), queries may first be scaled by some c and keys by 1/c, and the keys
shifted: q.k keeps its value under the first, and a shift adds the same number to every score of a query, which the softmax does
not see. So the weights stay as they are, and the two clouds come to lie over each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.nn import AttentionMaps, MultiHeadAttention

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadVectors:
    """Queries and keys of a layer, those of all inputs after one another.

    Attributes:
        q, k: (heads, N, d_k). inputs: (N,) which input a row is of. positions: (N,) its place in the input.
        labels: (N,) its class, an index into names that the model knows.
    """

    q: NDArray[np.float32]
    k: NDArray[np.float32]
    inputs: NDArray[np.int64]
    positions: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JointSample:
    """The vectors of every layer over a sample.

    Attributes:
        layers: by the name of the layer's map. classes: names of the labels, English. inputs: their number.
    """

    layers: dict[str, HeadVectors]
    classes: tuple[str, ...]
    inputs: int


@dataclass(frozen=True, kw_only=True)
class JointView:
    """Queries and keys of one head on a plane.

    Attributes:
        q, k: (N, 2). shares: (2,) of the variance of queries and keys together along each axis. width: d_k.
        scale: c, by which queries were multiplied and keys divided; 1 where they were left as they are.
    """

    q: Array
    k: Array
    shares: Array
    width: int
    scale: float

    @property
    def loss(self) -> float:
        """Share of the variance that the plane does not show."""
        return max(0.0, 1.0 - float(self.shares.sum()))


@contextmanager
def captured(model: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """While it is open, every pass through `model` adds each attention's queries and keys, (batch, heads, n, d_k), in order."""
    vectors: list[tuple[Tensor, Tensor]] = []

    def keep(attention: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        assert isinstance(attention, MultiHeadAttention)
        query = given[0] if given else named["query"]
        key = given[1] if len(given) > 1 else named.get("key")
        vectors.append(
            (
                attention.split_heads(attention.q(query)),
                attention.split_heads(attention.k(query if key is None else key)),
            )
        )

    handles = [
        module.register_forward_pre_hook(keep, with_kwargs=True)
        for module in model.modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        yield vectors
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def queries_and_keys(
    model: nn.Module, run: Callable[[], AttentionMaps]
) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Queries and keys by the name of their map, (batch, heads, n, d_k) each.

    Args:
        run: passes a batch through the model once and returns its maps.

    Raises:
        ValueError: where the pass has other attentions than maps.
    """
    with captured(model) as vectors:
        maps = run()
    if len(vectors) != len(maps):
        raise ValueError(f"{len(vectors)} attentions gave {len(maps)} maps: one for each is needed")
    return {  # a mirrored model reads a book and its mirror image in one batch, whose first half has the maps
        name: (q[: len(weights)].float().cpu().numpy(), k[: len(weights)].float().cpu().numpy())
        for (name, weights), (q, k) in zip(maps.items(), vectors, strict=True)
    }


def collect(
    parts: Sequence[tuple[dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]], NDArray[np.int64]]],
    classes: Sequence[str],
) -> JointSample:
    """One sample of several batches.

    Args:
        parts: of each batch, what `queries_and_keys` returned, and the label of each input (batch,) or of each of its
            positions (batch, n).
    """
    layers: dict[str, HeadVectors] = {}
    count = sum(len(labels) for _vectors, labels in parts)
    for name in parts[0][0]:
        rows: list[tuple[Any, ...]] = []
        first = 0
        for vectors, labels in parts:
            q, k = vectors[name]
            batch, _heads, n, _width = q.shape
            each = np.broadcast_to(labels if labels.ndim == 2 else labels[:, None], (batch, n))
            numbers = np.repeat(np.arange(first, first + batch), n)
            rows.append((_flat(q), _flat(k), numbers, np.tile(np.arange(n), batch), each.reshape(-1)))
            first += batch
        columns = list(zip(*rows, strict=True))
        layers[name] = HeadVectors(
            q=np.concatenate(columns[0], axis=1),
            k=np.concatenate(columns[1], axis=1),
            inputs=np.concatenate(columns[2]),
            positions=np.concatenate(columns[3]),
            labels=np.concatenate(columns[4]),
        )
    return JointSample(layers=layers, classes=tuple(classes), inputs=count)


def _flat(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """(batch, heads, n, d_k) -> (heads, batch * n, d_k)."""
    return x.transpose(1, 0, 2, 3).reshape(x.shape[1], -1, x.shape[3])


def align(q: Array, k: Array) -> tuple[Array, Array, float]:
    """Queries times c, and keys over c and shifted to the queries' mean, with the c that gives both clouds one size.

    The weights that softmax makes of their products stay the same. c is 1 where a cloud is a point.
    """
    sizes = [float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())) for x in (q, k)]
    c = float(np.sqrt(sizes[1] / sizes[0])) if min(sizes) > 0 else 1.0
    scaled_q, scaled_k = q * c, k / c
    return scaled_q, scaled_k - scaled_k.mean(axis=0) + scaled_q.mean(axis=0), c


def joint_view(q: NDArray[np.floating], k: NDArray[np.floating], *, aligned: bool = True) -> JointView:
    """The two largest principal components of queries and keys together.

    Args:
        q, k: (N, d_k) and (M, d_k). aligned: `align` them first.

    Raises:
        ValueError: for fewer than 2 rows together, or fewer than 2 columns.
    """
    if len(q) + len(k) < 2 or q.shape[1] < 2:
        raise ValueError(f"{len(q)} queries and {len(k)} keys of width {q.shape[1]} span no plane")
    first, second, scale = np.asarray(q, np.float64), np.asarray(k, np.float64), 1.0
    if aligned:
        first, second, scale = align(first, second)
    together = np.concatenate([first, second])
    together = together - together.mean(axis=0)
    _left, sizes, axes = np.linalg.svd(together, full_matrices=False)
    axes = axes[:2] * np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])[:, None]  # a sign that does not jump
    points = together @ axes.T  # (N + M, 2)
    total = float((sizes**2).sum())
    shares = sizes[:2] ** 2 / total if total else np.zeros(2)
    return JointView(q=points[: len(q)], k=points[len(q) :], shares=shares, width=q.shape[1], scale=scale)
