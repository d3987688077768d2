"""Small matrices through the operations of the report's `Matrix` class (vit-report sections 3.1, 3.2, 3.4, 3.6 and 3.7)."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.lecture import norms
from core.lecture.tokens import random_numbers

Array = NDArray[np.float64]
Operation = Literal["sum", "row", "difference", "product", "scaled"]
OPERATIONS: Final[tuple[Operation, ...]] = ("sum", "row", "difference", "product", "scaled")
Statistic = Literal["rows", "columns", "whole"]
STATISTICS: Final[tuple[Statistic, ...]] = ("rows", "columns", "whole")
Shape = Literal["transpose", "reshape", "slice", "concatenate", "eye"]
SHAPES: Final[tuple[Shape, ...]] = ("transpose", "reshape", "slice", "concatenate", "eye")


def operands(operation: Operation, *, first: float, seed: int = 0) -> tuple[Array, Array]:
    """A (3, 4) with `first` on top left, and B as the operation takes it: (3, 4), a row (1, 4), (4, 3), or one number (1, 1)."""
    a = random_numbers(f"matrix A {seed}", (3, 4), digits=1)
    a[0, 0] = first
    shape = {"row": (1, 4), "product": (4, 3), "scaled": (1, 1)}.get(operation, (3, 4))
    return a, random_numbers(f"matrix B {seed} {operation}", shape, digits=1)


def compute(operation: Operation, a: Array, b: Array) -> Array:
    """C of the operation; a row is added to every row (vit-report section 3.2)."""
    left, right = torch.tensor(a), torch.tensor(b)
    if operation == "product":
        made = left @ right
    elif operation == "difference":
        made = left - right
    else:
        made = left * right if operation == "scaled" else left + right
    return np.asarray(made.numpy())


def example(*, level: float, seed: int = 0) -> Array:
    """(4, 5) whose rows differ in level and whose columns differ in size."""
    drawn = random_numbers(f"statistics {seed}", (4, 5), digits=1)
    return np.asarray(np.round(drawn * np.array([0.5, 1, 1, 2, 3]) + level * np.arange(4)[:, None], 1) + 0.0)


def standardised(x: Array, over: Statistic) -> Array:
    """`layer_norm` (rows), by columns, or `normalize` (the whole matrix) (vit-report section 3.4)."""
    values = torch.tensor(x)
    if over == "whole":
        return np.asarray(norms.normalise_matrix(values).numpy())
    return np.asarray(norms.standardise(values, (1,) if over == "rows" else (0,)).numpy())


def reshaped(shape: Shape, x: Array) -> Array:
    """A (3, 4) matrix transposed, reshaped to (2, 6), its rows 2 and 3 and columns 2 and 3, joined with itself, times 1."""
    values = torch.tensor(x)
    made = {
        "transpose": lambda: values.T,
        "reshape": lambda: values.reshape(2, 6),
        "slice": lambda: values[1:3, 1:3],
        "concatenate": lambda: torch.cat([values, values], dim=1),
        "eye": lambda: torch.eye(3, dtype=torch.float64) @ values,
    }[shape]()
    return np.array(made.numpy())


def summary(x: Array) -> dict[str, float]:
    """Mean, sum, norm and variance of all entries (vit-report section 3.4)."""
    return {"mean": float(x.mean()), "sum": float(x.sum()), "norm": float(np.linalg.norm(x)), "variance": float(x.var())}
