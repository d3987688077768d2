"""Walks a part through the extremes of its dials and holds each claim against numbers that the test computes in its own way."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest

from core.lecture.claims import Said
from core.messages import Message
from pages.shared.language import LANGUAGES, translate_to

Truth = Mapping[str, Mapping[str, Any]]
"""For each claim that is true: the numbers in its sentence."""

NUMBER = re.compile(r"-?\d[\d.,]*(?:e[+-]?\d+)?")


def states(**dials: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The state that the part opens in, which has each dial's first value, and every two dials at every two of their values."""
    opening = {name: values[0] for name, values in dials.items()}
    seen: list[dict[str, Any]] = [opening]
    yield opening
    for one, other in combinations(dials, 2) if len(dials) > 1 else [(next(iter(dials)),) * 2]:
        for first, second in product(dials[one], dials[other]):
            state = opening | {one: first, other: second}
            if state not in seen:
                seen.append(state)
                yield state


def numbers_in(text: str, language: str) -> list[str]:
    """The numbers of a sentence as English writes them, sorted."""
    swapped = text.translate({ord("."): ",", ord(","): "."}) if language == "es" else text
    return sorted(one.rstrip(".,") for one in NUMBER.findall(swapped))


class Walk:
    """What has been said so far of one part."""

    def __init__(self, claims: Callable[..., Said]) -> None:
        self.claims = claims
        self.said: set[str] = set()

    def check(self, numbers: Any, truth: Truth, state: object) -> None:
        """Exactly the true claims are said, with the true numbers, and in both languages the same ones."""
        said = self.claims(*numbers) if isinstance(numbers, tuple) else self.claims(numbers)
        assert said.keys() == truth.keys(), state
        for name, message in said.items():
            for gap, value in truth[name].items():
                given = message.values[gap]
                assert str(given) == value if isinstance(value, str) else given == pytest.approx(value, rel=1e-5, abs=1e-7), (
                    state, name, gap, given, value,
                )  # fmt: skip
            self._in_each_language(message, state)
        self.said |= said.keys()

    def _in_each_language(self, message: Message, state: object) -> None:
        texts = {code: translate_to(code, message) for code in LANGUAGES}
        assert texts["en"] == str(message) and texts["es"] != texts["en"], (state, texts)
        assert numbers_in(texts["es"], "es") == numbers_in(texts["en"], "en"), (state, texts)

    def end(self) -> None:
        """Every claim was true in some state."""
        assert self.said == names_of(self.claims)


def names_of(claims: Callable[..., Said]) -> set[str]:
    """The names of all that a function may say, with those of the functions that it calls for more."""
    code = inspect.getsource(claims)
    within = [claims.__globals__[name] for name in re.findall(r"[|=] (_\w+)\(", code)]
    return set(re.findall(r'claims\["([^"]+)"\] =', code)).union(*(names_of(one) for one in within))
