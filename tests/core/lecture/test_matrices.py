"""Every operation of the report's Matrix class exists where the table says, and does what a loop over elements does."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, get_args

import numpy as np
import pytest
import torch
from sklearn.preprocessing import scale

from core.lecture import matrices
from core.lecture.matrices import MATRIX_OPERATIONS

A = [[1.0, -2.0, 0.5], [3.0, 0.0, -1.5]]
B = [[0.5, 1.0, 2.0], [-1.0, 4.0, 0.25]]
ROWS, COLUMNS = range(2), range(3)


def found(name: str) -> Any:
    module, _dot, attribute = MATRIX_OPERATIONS[name].rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("name", MATRIX_OPERATIONS)
def test_it_is_there(name: str) -> None:
    assert callable(found(name))


@pytest.mark.parametrize(("name", "arguments", "element"), [
    ("operator+", (B,), lambda i, j: A[i][j] + B[i][j]),
    ("operator-", (B,), lambda i, j: A[i][j] - B[i][j]),
    ("operator* (scalar)", (2.5,), lambda i, j: A[i][j] * 2.5),
    ("operator/ (scalar)", (2.5,), lambda i, j: A[i][j] / 2.5),
    ("relu", (), lambda i, j: max(0.0, A[i][j])),
    ("relu_derivative", (), lambda i, j: 1.0 if A[i][j] > 0 else 0.0),
    ("sigmoid", (), lambda i, j: 1 / (1 + math.exp(-A[i][j]))),
    ("tanh_activation", (), lambda i, j: math.tanh(A[i][j])),
    ("tanh_derivative", (), lambda i, j: 1 - math.tanh(A[i][j]) ** 2),
    ("softmax", (), lambda i, j: math.exp(A[i][j]) / sum(math.exp(one) for one in A[i])),
    ("gelu", (), lambda i, j: 0.5 * A[i][j] * (1 + math.tanh(math.sqrt(2 / math.pi) * (A[i][j] + 0.044715 * A[i][j] ** 3)))),
    ("layer_norm", (), lambda i, j: (A[i][j] - mean(A[i])) / math.sqrt(variance(A[i]) + 1e-5)),
    ("normalize", (), lambda i, j: (A[i][j] - mean(A[0] + A[1])) / math.sqrt(variance(A[0] + A[1]))),
])  # fmt: skip
def test_an_element_at_a_time(name: str, arguments: tuple[Any, ...], element: Any) -> None:
    tensors = [torch.tensor(one, dtype=torch.float64) if isinstance(one, list) else one for one in arguments]
    y = found(name)(torch.tensor(A, dtype=torch.float64), *tensors)
    expected = torch.tensor([[element(i, j) for j in COLUMNS] for i in ROWS], dtype=torch.float64)
    torch.testing.assert_close(y, expected)


def mean(row: list[float]) -> float:
    return sum(row) / len(row)


def variance(row: list[float]) -> float:
    return sum((one - mean(row)) ** 2 for one in row) / len(row)


def test_structure_and_statistics() -> None:
    a, b = torch.tensor(A), torch.tensor(B)
    product = [[sum(A[i][k] * B[j][k] for k in COLUMNS) for j in ROWS] for i in ROWS]
    assert found("operator* (matrix)")(a, found("transpose")(b)).tolist() == product
    assert found("reshape")(a, (3, 2)).tolist() == [[1.0, -2.0], [0.5, 3.0], [0.0, -1.5]]
    assert found("slice")(a, 1, 1, 2).tolist() == [[-2.0, 0.5], [0.0, -1.5]]
    assert found("set_slice")(a, torch.zeros(2, 1), 1, 0, 1).tolist() == [[0.0, -2.0, 0.5], [0.0, 0.0, -1.5]]
    assert found("concatenate")([a, b], 0).tolist() == A + B and found("concatenate")([a, b], 1)[0].tolist() == A[0] + B[0]
    assert found("mean(axis)")(a, 0).tolist() == [mean([A[0][j], A[1][j]]) for j in COLUMNS]
    assert found("std_dev(axis)")(a, 1, correction=0).tolist() == pytest.approx([math.sqrt(variance(row)) for row in A])
    assert float(found("mean_value")(a)) == pytest.approx(mean(A[0] + A[1]))
    assert float(found("variance")(a, correction=0)) == pytest.approx(variance(A[0] + A[1]))
    assert float(found("sum")(a)) == sum(A[0] + A[1])
    assert float(found("norm")(a)) == pytest.approx(math.sqrt(sum(one**2 for one in A[0] + A[1])))
    assert found("zeros")(1, 2).tolist() == [[0, 0]] and found("ones")(1, 2).tolist() == [[1, 1]]
    assert found("eye")(2).tolist() == [[1, 0], [0, 1]]
    assert found("Matrix(rows, cols)")(2, 1).tolist() == [[0], [0]] and found("Matrix(data)")(A).tolist() == A


@pytest.mark.parametrize("seed", [0, 1])
def test_the_pages_matrices_are_what_numpy_says(seed: int) -> None:
    shapes = {"row": (1, 4), "product": (4, 3), "scaled": (1, 1)}
    made = {"product": np.matmul, "difference": np.subtract, "scaled": np.multiply}
    for operation in get_args(matrices.Operation):
        a, b = matrices.operands(operation, first=1.5, seed=seed)
        assert a.shape == (3, 4) and a[0, 0] == 1.5 and (a != 1.5).sum() >= 8 and b.shape == shapes.get(operation, (3, 4))
        np.testing.assert_allclose(matrices.compute(operation, a, b), made.get(operation, np.add)(a, b))
    x = a[:3]
    wanted = {"transpose": x.T, "slice": x[[1, 2]][:, [1, 2]], "concatenate": np.hstack([x, x]), "eye": x}
    for shape in get_args(matrices.Shape):
        np.testing.assert_array_equal(matrices.reshaped(shape, x), wanted.get(shape, x.ravel().reshape(2, 6)))


def test_the_pages_statistics_are_sklearns_and_a_loops() -> None:
    low, high = matrices.example(level=0.0), matrices.example(level=2.0)
    assert high.shape == (4, 5) and (np.round(high, 1) == high).all()
    np.testing.assert_allclose(high - low, 2.0 * np.repeat([[0], [1], [2], [3]], 5, axis=1), atol=1e-9)  # a level a row
    sizes = np.mean([matrices.example(level=0.0, seed=seed).std(axis=0) for seed in range(200)], axis=0)
    np.testing.assert_allclose(sizes / sizes[1], [0.5, 1, 1, 2, 3], rtol=0.1)  # and a size a column
    np.testing.assert_allclose(matrices.standardised(high, "rows"), scale(high, axis=1), atol=1e-4)
    np.testing.assert_allclose(matrices.standardised(high, "columns"), scale(high, axis=0), atol=1e-4)
    np.testing.assert_allclose(matrices.standardised(high, "whole"), scale(high.ravel()).reshape(4, 5), atol=1e-4)
    entries = [value for row in high for value in row]
    mean = math.fsum(entries) / 20
    variance = math.fsum((one - mean) ** 2 for one in entries) / 20
    wanted = {"mean": mean, "sum": math.fsum(entries), "norm": math.hypot(*entries), "variance": variance}
    assert matrices.summary(high) == pytest.approx(wanted)
