"""Results that are computed once while they are kept."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from pages.shared.kept_results import kept


def test_the_latest_results_are_kept_and_one_that_was_stopped_is_not() -> None:
    computed: list[str] = []
    stopped = [True]

    @kept(2)
    def ask(key: str) -> int:
        if stopped:
            raise InterruptedError
        computed.append(key)
        return len(computed)

    with pytest.raises(InterruptedError):
        ask("a")
    stopped.clear()
    assert [ask("a"), ask("b"), ask("a"), ask("c"), ask("a"), ask("b")] == [1, 2, 1, 3, 1, 4]  # "b" went for "c"
    assert computed == ["a", "b", "c", "b"] and ask.find("c") is None and ask.find("b") == 4


class Model:
    def __init__(self, name: str) -> None:
        self.name = name


def test_arguments_are_told_apart_by_their_content_and_progress_makes_no_difference() -> None:
    computed: list[str] = []

    @kept(8, {Model: lambda model: model.name})
    def ask(model: Model, image: np.ndarray, *, told: Callable[[float], None] | None = None) -> int:
        computed.append(model.name)
        return len(computed)

    zeros = np.zeros((2, 2))
    assert (
        ask(Model("a"), zeros)
        == ask(Model("a"), zeros.copy(), told=lambda _share: None)
        == ask(model=Model("a"), image=zeros, told=lambda _share: None)
        == 1
    )
    others = [(Model("b"), zeros), (Model("a"), zeros + 1), (Model("a"), zeros.reshape(4)), (Model("a"), zeros.astype(int))]
    assert [ask(*one) for one in others] == [2, 3, 4, 5]


@pytest.mark.parametrize("watched", [False, True])
def test_who_asks_meanwhile_waits_unless_it_is_told_how_far_it_is(watched: bool) -> None:
    computing, done, computed = threading.Event(), threading.Event(), list[int]()

    @kept(2)
    def ask(key: str, *, told: Callable[[float], None] | None = None) -> int:
        computed.append(1)
        computing.set()
        assert done.wait(20)
        return len(computed)

    told = (lambda share: None) if watched else None
    viewers = [threading.Thread(target=ask, args=("a",), kwargs={"told": told}, daemon=True) for _ in range(2)]
    viewers[0].start()
    assert computing.wait(20)
    computing.clear()
    viewers[1].start()
    assert computing.wait(20 if watched else 0.2) is watched
    done.set()
    for viewer in viewers:
        viewer.join(20)
    assert len(computed) == 1 + watched
