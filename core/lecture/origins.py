"""Origins of the numbers in lessons' matrices: of each cell its operands, what is done with them, and the equation in the index.

A matrix is named by its key on the page; its operands are given with it (`Matrix.of`). A test computes every cell anew from
its operands.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.lecture.equations import Equation, equations

Array = NDArray[Any]


@dataclass(frozen=True)
class Operand:
    """A matrix that a cell's number comes from.

    Attributes:
        name: as on the page. key: end of its key on the page, and its name among `Matrix.of`.
        at: which part of it: "i:" the cell's row, ":j" its column, "ij" the same place, "j:" and ":i" crosswise, "" one number.
    """

    name: str
    key: str
    at: str


@dataclass(frozen=True)
class Origin:
    """Origin of a matrix: the way in which matrix.js writes it, the operands, and the equation's id in the index."""

    how: str
    operands: tuple[Operand, ...]
    equation: str

    @property
    def entry(self) -> Equation:
        """Its equation in the index."""
        return next(one for one in equations() if one.id == self.equation)


def _from(how: str, operands: str, equation: str) -> Origin:
    """Operands as text: "X i:, W_Q :j", or "A=weights i:" where the key is not the name."""
    read = []
    for one in operands.split(", "):
        name, _, at = one.partition(" ")
        shown, _, key = name.partition("=")
        read.append(Operand(shown, key or shown, at))
    return Origin(how, tuple(read), equation)


ORIGINS: Final[Mapping[str, Origin]] = {
    "steps_Q": _from("dot", "X i:, W_Q :j", "vit-projections"),
    "steps_K": _from("dot", "X i:, W_K :j", "vit-projections"),
    "steps_V": _from("dot", "X i:, W_V :j", "vit-projections"),
    "steps_raw": _from("dot", "Q i:, K j:", "iiga-scores"),
    "steps_scaled": _from("over", "QKᵀ=raw ij, τ√d_k=root ", "iiga-scores"),
    "steps_masked": _from("mask", "S=scaled ij, mask ij", "vit-mask"),
    "steps_weights": _from("softmax", "S=masked ij, S=masked i:", "iiga-softmax"),
    "steps_head": _from("softmax", "S=masked ij, S=masked i:", "iiga-softmax"),
    "steps_parts": _from("times", "A=row ij, V ij", "iiga-values"),
    "steps_mixed": _from("dot", "A=weights i:, V :j", "iiga-values"),
    "steps_output": _from("dot", "Z=joined i:, W_O :j", "vit-multihead"),
    "permutation_pz": _from("dot", "P=p i:, Z :j", "nb-output"),
    "permutation_after": _from("dot", "A'=map_after i:, V' :j", "nb-output"),
    "permutation_off": _from("minus", "Z'=after ij, PZ=pz ij", "nb-output"),
    "permutation_map": _from("softmax", "S ij, S i:", "nb-softmax"),
    "permutation_map_after": _from("softmax", "S' ij, S' i:", "nb-softmax"),
    "bp_linear_x": _from("dot", "∇y i:, W j:", "vit-ffn-backward"),
    "ctc_gradient": _from("minus", "P=frames ij, P(·|y)=posteriors ij", "ctc-gradient"),
    "bp_linear_W": _from("dot", "x :i, ∇y :j", "vit-ffn-backward"),
}
"""By the matrix's key on the page."""


def origin_of(key: str) -> Origin | None:
    """The origin of the matrix of this key; a number at its end is one of several heads."""
    return ORIGINS.get(re.sub(r"_\d+$", "", key))


def origin_for_page(key: str, of: Mapping[str, Array], language: str) -> dict[str, Any] | None:
    """All that the page tells of a matrix's numbers, ready for JSON; None where their origin is not known.

    Args:
        of: the operands by their keys.
    """
    origin = origin_of(key)
    if origin is None or not of:
        return None
    prefix, entry = key.partition("_")[0], origin.entry
    operands = [
        {"name": one.name, "key": f"{prefix}_{one.key}", "at": one.at, "values": _four_digits(of[one.key])}
        for one in origin.operands
    ]
    return {
        "how": origin.how,
        "operands": operands,
        "code": ", ".join(place.replace(":", ".") for place in entry.code),
        "test": entry.test,
        "against": entry.against[language],
        "document": f"{entry.document} {entry.section}",
        "id": entry.id,
        "equation": entry.latex,
    }


def _four_digits(values: Array) -> Sequence[Sequence[float | None]]:
    return [[float(f"{value:.4g}") if np.isfinite(value) else None for value in row] for row in values.tolist()]
