"""The function that does each operation of the vit-report's `Matrix` class (section 3), mostly one of PyTorch's.

The report writes them in C++; a test compares each with a loop over elements.
"""

from __future__ import annotations

from typing import Final

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
