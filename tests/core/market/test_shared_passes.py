"""Windows of many markets in one pass of the model: the same numbers as one by one, in few passes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.market.predictor import Predictions, SharedPasses, windows_of
from tests.core.market.feeds_for_tests import wait_until
from tests.core.market.helpers import random_book, real_rows, tiny_predictor

MARKETS = 20
FLOAT32 = 1e-5


class Gate:
    """A function of batches that is held up at its first call; counts the rows of each."""

    def __init__(self, function: Callable[[Tensor], NDArray[np.float32]]) -> None:
        self.function = function
        self.sizes: list[int] = []
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self, inputs: Tensor) -> NDArray[np.float32]:
        self.sizes.append(len(inputs))
        self.entered.set()
        assert self.opened.wait(20)
        return self.function(inputs)


def doubled(inputs: Tensor) -> NDArray[np.float32]:
    return 2 * inputs.numpy()


def together(gate: Gate, passes: SharedPasses, calls: list[Callable[[], None]]) -> None:
    """Run these in a thread each: the first is in the function while the others come."""
    threads = [threading.Thread(target=one) for one in calls]
    threads[0].start()
    assert gate.entered.wait(20)
    for one in threads[1:]:
        one.start()
    wait_until(lambda: len(passes._waiting) == len(calls) - 1)
    gate.opened.set()
    for one in threads:
        one.join(20)


def test_twenty_markets_share_two_passes_and_get_their_own_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = tiny_predictor(tmp_path, real_rows(0))
    entries = list(predictor.markets.values())
    windows = [windows_of(random_book(40, seed).levels, [39], predictor.window) for seed in range(MARKETS)]
    expected = [predictor.predict(one, entries[i % 2]) for i, one in enumerate(windows)]
    gate = Gate(predictor._forward)
    monkeypatch.setattr(predictor, "_passes", SharedPasses(gate))
    found: dict[int, Predictions] = {}

    def call(i: int) -> Callable[[], None]:
        return lambda: found.update({i: predictor.predict(windows[i], entries[i % 2])})

    together(gate, predictor._passes, [call(i) for i in range(MARKETS)])
    assert gate.sizes == [1, MARKETS - 1]
    for i, one in enumerate(expected):
        np.testing.assert_allclose(found[i].probabilities, one.probabilities, atol=FLOAT32)
        np.testing.assert_array_equal(found[i].momentum, one.momentum)


def test_a_pass_is_no_longer_than_allowed_and_everybody_is_answered() -> None:
    gate = Gate(doubled)
    passes = SharedPasses(gate, most=8)
    answers: dict[int, NDArray[np.float32]] = {}

    def call(i: int) -> Callable[[], None]:
        return lambda: answers.update({i: passes(torch.full((3, 2), float(i)))})

    together(gate, passes, [call(i) for i in range(7)])
    assert gate.sizes == [3, 6, 6, 6]
    assert all((answers[i] == 2 * i).all() and answers[i].shape == (3, 2) for i in range(7))


def test_a_caller_alone_passes_at_once_whatever_its_size() -> None:
    passes = SharedPasses(doubled, most=8)
    assert (passes(torch.ones(20, 1)) == 2).all()
    assert (passes(torch.ones(1, 1)) == 2).all()


def test_a_failed_pass_fails_its_callers_and_no_later_one() -> None:
    broken = [True]

    def function(inputs: Tensor) -> NDArray[np.float32]:
        if broken[0]:
            raise RuntimeError("out of memory")
        return doubled(inputs)

    gate = Gate(function)
    passes = SharedPasses(gate)
    failed: list[str] = []

    def call() -> None:
        with pytest.raises(RuntimeError, match="out of memory") as error:
            passes(torch.ones(1, 1))
        failed.append(str(error.value))

    together(gate, passes, [call] * 4)
    assert len(failed) == 4
    broken[0] = False
    assert (passes(torch.ones(1, 1)) == 2).all()


@pytest.mark.parametrize("columns", [40, 52])
def test_any_number_of_columns_passes(columns: int) -> None:
    assert SharedPasses(doubled)(torch.ones(2, 3, columns)).shape == (2, 3, columns)
