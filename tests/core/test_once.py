"""Threads that ask at the same time are given one and the same value."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.once import once

THREADS = 8


def test_threads_that_ask_first_at_once_share_one_value() -> None:
    made, entered = list[str](), threading.Event()

    @once
    def value(name: str) -> object:
        made.append(name)
        entered.wait(0.2)  # the others ask meanwhile
        return object()

    with ThreadPoolExecutor(THREADS) as pool:
        values = list(pool.map(value, ["a"] * THREADS))
    assert made == ["a"] and len({id(one) for one in values}) == 1
    assert value("b") is not values[0] and value("a") is values[0]
    value.cache_clear()  # type: ignore[attr-defined]
    assert value("a") is not values[0]


def test_what_failed_is_tried_again() -> None:
    answers = iter([ValueError("no"), 1])

    @once
    def value() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    with pytest.raises(ValueError, match="no"):
        value()
    assert value() == 1 and value() == 1
