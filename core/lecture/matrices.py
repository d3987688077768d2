"""The vit-report's `Matrix` class (section 3): the function for each operation, mostly PyTorch's, and a small example of each.

The report writes them in C++; a test compares each with a loop over elements.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

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

Piece = str | NDArray[np.float64]
"""LaTeX, or a matrix; a row has one dimension, a number none."""
A: Final = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.5]])
B: Final = np.array([[0.5, 1.0, 2.0], [-1.0, 4.0, 0.25]])
GRADIENT: Final = np.array([3.0, 4.0])


def operation(name: str) -> Callable[..., Any]:
    """The function of an operation of `MATRIX_OPERATIONS`."""
    module, _dot, attribute = MATRIX_OPERATIONS[name].rpartition(".")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


def _made(name: str, *arguments: Any, **more: Any) -> NDArray[np.float64]:
    """An operation's result of numpy's arrays."""
    given = [torch.tensor(one) if isinstance(one, np.ndarray) else one for one in arguments]
    return np.asarray(operation(name)(*given, **more), dtype=np.float64)


_JOINED: Final = [torch.tensor(A), torch.tensor(A)]
_DRAWS: Final = {name: torch.Generator().manual_seed(0) for name in ("uniform_random", "normal_random")}

EXAMPLES: Final[Mapping[str, tuple[Piece, ...]]] = {
    "nb-embedding": (
        r"\text{Your cat is a lovely cat} \to (105,\, 6587,\, 5476,\, 3558,\, 54,\, 5666) \to X \in \mathbb{R}^{6 \times 512}",
    ),
    "vit-matrix-start": (r"\mathrm{Matrix}(2, 3) =", _made("Matrix(rows, cols)", 2, 3)),
    "vit-matrix-sum": (A, "+", B, "=", _made("operator+", A, B)),
    "vit-matrix-scale": (r"2\,", A, "=", _made("operator* (scalar)", A, 2.0)),
    "vit-matrix-product": (A, B.T, "=", _made("operator* (matrix)", A, B.T)),
    "vit-matrix-statistics": (
        "A =", A, r":\; \mathrm{mean} =", _made("mean_value", A), r",\; \mathrm{sum} =", _made("sum", A),
        r",\; \mathrm{norm} =", _made("norm", A), r",\; \mathrm{variance} =", _made("variance", A, correction=0),
    ),
    "vit-normalize": (A, r"\to", _made("normalize", A)),
    "vit-matrix-shape": (A, r"^\top =", _made("transpose", A), r",\quad \mathrm{reshape}(3, 2) =", _made("reshape", A, (3, 2))),
    "vit-matrix-slice": (A, r"_{:,\, 2:3} =", _made("slice", A, 1, 1, 2)),
    "vit-clip": (r"\text{max\_norm} = 1:\quad", GRADIENT, r"\to", operation("clip_gradients")(GRADIENT, 1.0)),
    "vit-matrix-join": ("[A; A] =", _made("concatenate", _JOINED, 0)),
    "vit-matrix-global": (_made("eye", 3), A.T, "=", _made("operator* (matrix)", np.eye(3), A.T)),
    "vit-matrix-random": (
        r"\mathcal{U}(0, 1):\;", _made("uniform_random", 4, generator=_DRAWS["uniform_random"]),
        r",\quad \mathcal{N}(0, 1):\;", _made("normal_random", 4, generator=_DRAWS["normal_random"]),
    ),
}  # fmt: skip
"""A small worked example by the equation's id in the index, its pieces in order."""
