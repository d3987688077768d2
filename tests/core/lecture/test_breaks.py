"""Every broken line: its named test passes with the code as it is and fails with the line broken."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from core.lecture import attention_steps, tokens
from core.lecture.breaks import BREAKS, Break, Rebound, broken_function
from core.lecture.sources import function, line_of


def cases(test: Any) -> Iterator[dict[str, Any]]:
    """Arguments of each case of a parametrised test."""
    axes = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names = [one.strip() for one in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
            axes.append([dict(zip(names, row if len(names) > 1 else [row], strict=True)) for row in mark.args[1]])
    for rows in product(*axes):
        yield {name: value for row in rows for name, value in row.items()}


def fixtures(test: Any, rebound: Rebound | None = None) -> dict[str, Any]:
    """Networks that a test takes from its module's fixtures."""
    module = importlib.import_module(test.__module__)
    named = [
        getattr(module, name)
        for name in inspect.signature(test).parameters
        if hasattr(getattr(module, name, None), "__wrapped__")
    ]
    made = {one.__name__: inspect.unwrap(one)() for one in named}
    return {name: one if rebound is None else rebound.network(one) for name, one in made.items()}


def fails(test: Callable[..., None], arguments: dict[str, Any]) -> bool:
    try:
        test(**arguments)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.code)
def test_the_named_test_fails_with_the_line_broken_and_only_then(one: Break) -> None:
    file, _, name = one.test.partition("::")
    test = getattr(importlib.import_module(file.removesuffix(".py").replace("/", ".")), name)
    rebound = Rebound(one)
    broken, networks = rebound.of(test), fixtures(test, rebound)
    assert broken is not test
    case = next((arguments for arguments in cases(test) if fails(broken, arguments | networks)), None)
    assert case is not None, f"{one.test} does not notice {one.code}"
    assert not fails(test, case | fixtures(test))
    assert one.line.text in line_of(one.place, one.old).whole and one.broken != one.line.text


def test_the_code_itself_stays_as_it_is() -> None:
    x, weights = tokens.embed(["a", "b", "c"], 4), attention_steps.random_weights(4)
    before = attention_steps.steps(x, weights).weights
    root = next(one for one in BREAKS if one.code == "root")
    other = Rebound(root).of(attention_steps.steps)(x, weights).weights
    assert abs(other - before).max() > 0.01
    assert (attention_steps.steps(x, weights).weights == before).all()
    assert Rebound(root).of(tokens.embed) is not None and Rebound(root).of(pytest) is pytest


def test_a_break_names_what_its_function_has_once() -> None:
    root = next(one for one in BREAKS if one.code == "root")
    with pytest.raises(ValueError, match="0 times"):
        broken_function(Break(**{**vars(root), "old": "no such text"}))
    with pytest.raises(ValueError, match="no line"):
        line_of(root.place, "no such text")
    with pytest.raises(ValueError, match="no function"):
        function("core.lecture.breaks:BREAKS")
