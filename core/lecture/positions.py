"""Positional encoding: frequencies, similarity, shifts as rotations, and its size beside that of embeddings.

Sources: attention-notebook "What is positional encoding", iiga-equations section 4, vit-report section 2.1 (D11),
tlob-architecture section 2.4; Vaswani et al. 2017, section 3.5, for the rotation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.checkpoints import CheckpointError, load
from core.models.vit import ViT
from core.nn import sinusoidal_encoding

Array = NDArray[np.float64]


def encoding(length: int, width: int, *, base: float = 10_000.0, scale: float = 1.0, doubled_exponent: bool = False) -> Array:
    """`core.nn.sinusoidal_encoding` as an array (length, width): iiga-equations 4.1 and 4.2, vit-report 2.1 (D11)."""
    found = sinusoidal_encoding(length, width, base=base, scale=scale, doubled_exponent=doubled_exponent)
    return np.asarray(found.numpy(), dtype=np.float64)


def frequencies(width: int, *, base: float = 10_000.0) -> Array:
    """base^(-2i/width) of each pair of channels, radians a position, (ceil(width / 2),).

    The report's listing has 4i (D11): as base^(-4i/width) = (base^2)^(-2i/width), it is the standard form with the base squared.
    """
    return np.asarray(float(base) ** (-np.arange(0, width, 2) / width))


def wavelengths(width: int, *, base: float = 10_000.0) -> Array:
    """Period of each pair of channels in positions: 2 pi / frequency, (ceil(width / 2),)."""
    return 2 * math.pi / frequencies(width, base=base)


@dataclass(frozen=True, kw_only=True)
class EncodingEntry:
    """One pair of entries of the encoding, with the numbers in between.

    Attributes:
        frequency: radians a position. wavelength: positions. angle: radians.
        sine, cosine: PE(pos, 2i) and PE(pos, 2i + 1).
    """

    frequency: float
    wavelength: float
    angle: float
    sine: float
    cosine: float


def entry(pos: float, pair: int, width: int, *, base: float = 10_000.0) -> EncodingEntry:
    """PE(pos, 2i) and PE(pos, 2i + 1) for i = pair (iiga-equations section 4.1)."""
    frequency = float(base) ** (-2 * pair / width)
    angle = pos * frequency
    sine, cosine = wave_pair(angle)
    return EncodingEntry(frequency=frequency, wavelength=2 * math.pi / frequency, angle=angle, sine=sine, cosine=cosine)


def wave_pair(angle: float) -> tuple[float, float]:
    """sin(angle) and cos(angle): a pair of entries of the encoding."""
    return math.sin(angle), math.cos(angle)


def turned_pair(*values: float) -> Array:
    """A (2, 2) block times a pair of entries, (2,): the block's four entries row by row, then the pair."""
    return np.asarray(np.reshape(values[:4], (2, 2)) @ np.asarray(values[4:]))


def still_channels(matrix: Array) -> int:
    """Number of channels whose span is less than 1 % of the whole matrix's span: they hardly tell positions apart."""
    span = float(np.ptp(matrix)) or 1.0
    return int((np.ptp(matrix, axis=0) < 0.01 * span).sum())


def dot_products(matrix: Array) -> Array:
    """PE PE^T, (length, length): the similarity of every two positions."""
    return np.asarray(matrix @ matrix.T)


def dot_product_by_shift(shifts: Sequence[int] | NDArray[Any], width: int, *, base: float = 10_000.0) -> Array:
    """sum_i cos(shift * frequency_i): the dot product of any two positions `shift` apart.

    Holds for an even width, because sin a sin b + cos a cos b = cos(a - b).
    """
    return np.asarray(np.cos(np.asarray(shifts)[:, None] * frequencies(width, base=base)[None, :]).sum(axis=1))


def root_mean_square(matrix: Array) -> float:
    """Square root of the mean of all squares."""
    return float(np.sqrt((matrix**2).mean()))


def distances(matrix: Array) -> Array:
    """Euclidean distance of every two positions, (length, length)."""
    return np.asarray(np.linalg.norm(matrix[:, None, :] - matrix[None, :, :], axis=-1))


def rotation_block(frequency: float, shift: float) -> Array:
    """(2, 2): turns (sin a, cos a) into (sin(a + shift * frequency), cos(a + shift * frequency)), whatever the position."""
    angle = shift * frequency
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def rotation(width: int, shift: float, *, base: float = 10_000.0) -> Array:
    """M with PE(pos + shift) = M PE(pos) for every pos: a rotation a pair of channels, (width, width).

    Raises:
        ValueError: for an odd width, whose last sine has no cosine.
    """
    if width % 2:
        raise ValueError(f"a width of {width} leaves a sine without its cosine: take an even one")
    blocks = (torch.tensor(rotation_block(float(one), shift)) for one in frequencies(width, base=base))
    return torch.block_diag(*blocks).numpy()


def shift_residual(encoded: Array, shift: int, matrix: Array) -> float:
    """Largest size of an entry of PE(pos + shift) - M PE(pos), over every position that has a later one at this distance.

    Raises:
        ValueError: for a shift that leaves no pair of positions.
    """
    if not 0 < shift < len(encoded):
        most = len(encoded) - 1
        raise ValueError(f"a shift of {shift} leaves no pair among {len(encoded)} positions: take one from 1 to {most}")
    return float(np.abs(encoded[shift:] - encoded[:-shift] @ matrix.T).max())


@dataclass(frozen=True, kw_only=True)
class Balance:
    """The size of positions beside that of the content they are added to.

    Attributes:
        content, position: (length,) root mean square of each row.
        ratio: root mean square of all positions over that of all content.
        cosines: (length, length) cosine similarity of the rows of their sum.
    """

    content: Array
    position: Array
    ratio: float
    cosines: Array


def balance(content: Array, positions: Array) -> Balance:
    """Compare content and positions, both (length, width). Source: vit-report sections 1.5 and 2.1."""
    both = torch.tensor(content + positions)
    return Balance(
        content=np.sqrt((content**2).mean(axis=1)),
        position=np.sqrt((positions**2).mean(axis=1)),
        ratio=float(np.sqrt((positions**2).mean() / ((content**2).mean() or 1.0))),
        cosines=torch.cosine_similarity(both[:, None], both[None], dim=-1).numpy(),
    )


@torch.inference_mode()
def vit_content(model: ViT, inputs: Tensor) -> Array:
    """A ViT's content without positions: class token and patches of one image (1, 1, side, side), (1 + patches, width)."""
    return np.asarray((model.tokens(inputs)[0] - model.positions.encoding).double().cpu().numpy())


def learned_positions(name: str) -> Array:
    """(length, width): the positions of a bundled checkpoint, as they were trained.

    Raises:
        CheckpointError: where the checkpoint is missing or damaged, or its positions are not learned.
    """
    weights = load(name).weights
    encoding = next((value for key, value in weights.items() if key.endswith("positions.encoding")), None)
    if encoding is None:
        raise CheckpointError("the positions of the checkpoint {name!r} are not learned", name=name)
    return np.asarray(encoding[0].numpy(), dtype=np.float64)
