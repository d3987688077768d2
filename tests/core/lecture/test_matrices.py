"""Every operation of the report's Matrix class exists where the table says, and does what a loop over elements does."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.preprocessing import scale

from core.lecture.equations import equations
from core.lecture.matrices import EXAMPLES, MATRIX_OPERATIONS
from core.lecture.matrices import operation as found

A = [[1.0, -2.0, 0.5], [3.0, 0.0, -1.5]]
B = [[0.5, 1.0, 2.0], [-1.0, 4.0, 0.25]]
ROWS, COLUMNS = range(2), range(3)


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


def last(name: str) -> Any:
    return next(one for one in reversed(EXAMPLES[name]) if not isinstance(one, str))


def test_the_index_examples_are_what_numpy_says() -> None:
    a, b = np.array(A), np.array(B)
    assert {one.id for one in equations()} >= EXAMPLES.keys()
    wanted = {
        "vit-matrix-start": np.zeros((2, 3)), "vit-matrix-sum": a + b, "vit-matrix-scale": 2 * a, "vit-matrix-product": a @ b.T,
        "vit-matrix-statistics": a.var(), "vit-normalize": scale(a.ravel()).reshape(2, 3), "vit-matrix-shape": a.reshape(3, 2),
        "vit-matrix-slice": a[:, 1:], "vit-clip": np.array([0.6, 0.8]), "vit-matrix-join": np.vstack([a, a]),
        "vit-matrix-global": a.T,
    }  # fmt: skip
    assert EXAMPLES.keys() - wanted.keys() == {"vit-matrix-random", "nb-embedding"}
    for name, values in wanted.items():
        np.testing.assert_allclose(last(name), values, atol=1e-12)
    uniform, normal = (one for one in EXAMPLES["vit-matrix-random"] if not isinstance(one, str))
    assert uniform.shape == normal.shape == (4,) and ((uniform >= 0) & (uniform < 1)).all() and normal.min() < 0
    mean, total, norm, variance = (one for one in EXAMPLES["vit-matrix-statistics"][2:] if not isinstance(one, str))
    assert [float(one) for one in (mean, total, norm, variance)] == pytest.approx(
        [a.mean(), a.sum(), np.sqrt((a**2).sum()), a.var()]
    )
