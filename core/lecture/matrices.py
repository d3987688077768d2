"""The vit-report's `Matrix` class (section 3): the function for each operation, mostly PyTorch's, and small examples.

The report writes them in C++; a test compares each with a loop over elements.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from core.lecture import norms
from core.lecture.tokens import random_numbers

MATRIX_OPERATIONS: Final[dict[str, str]] = {
    "Matrix(rows, cols)": "torch.zeros",
    "Matrix(data)": "torch.tensor",
    "operator+": "torch.add",
    "operator-": "torch.sub",
    "operator* (matrix)": "torch.matmul",
    "operator* (scalar)": "torch.mul",
    "operator/ (scalar)": "torch.div",
    "relu": "core.lecture.activations.relu",
    "relu_derivative": "core.lecture.activations.relu_derivative",
    "sigmoid": "core.lecture.activations.sigmoid",
    "sigmoid_derivative": "core.lecture.activations.sigmoid_derivative",
    "tanh_activation": "core.lecture.activations.tanh",
    "tanh_derivative": "core.lecture.activations.tanh_derivative",
    "softmax": "core.lecture.activations.softmax",
    "softmax_derivative": "core.lecture.gradients.softmax_gradient",
    "gelu": "core.lecture.activations.gelu_tanh",
    "gelu_derivative": "core.lecture.activations.gelu_derivative",
    "layer_norm": "core.lecture.norms.layer_norm",
    "layer_norm_derivative": "core.lecture.gradients.layer_norm_gradient",
    "normalize": "core.lecture.norms.normalise_matrix",
    "mean(axis)": "torch.mean",
    "std_dev(axis)": "torch.std",
    "mean_value": "torch.mean",
    "sum": "torch.sum",
    "norm": "torch.linalg.norm",
    "variance": "torch.var",
    "dropout": "core.lecture.norms.dropout",
    "transpose": "torch.t",
    "reshape": "torch.reshape",
    "slice": "torch.narrow",
    "set_slice": "torch.slice_scatter",
    "clip_gradients": "core.lecture.optimisers.clip_by_norm",
    "concatenate": "torch.cat",
    "zeros": "torch.zeros",
    "ones": "torch.ones",
    "eye": "torch.eye",
    "uniform_random": "torch.rand",
    "normal_random": "torch.randn",
    "randomize": "torch.nn.init.uniform_",
}
"""Operation of section 3 (and `randomize` of section 4) -> dotted name of the function."""


Array = NDArray[np.float64]
Operation = Literal["sum", "row", "difference", "product", "scaled"]
Statistic = Literal["rows", "columns", "whole"]
Shape = Literal["transpose", "reshape", "slice", "concatenate", "eye"]


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
