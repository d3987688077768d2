"""Claims: sentences about a part's figure, each said only where its predicate holds of the part's numbers (D34).

A lesson's claims stand in the module of its name, by part. The page computes the part's numbers, draws them, and says what `told`
gives. `tests/core/lecture/claims` walks every part through the extremes of its dials and computes both predicate and numbers in
another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.messages import Message

Numbers = TypeVar("Numbers")


@dataclass(frozen=True)
class Claim(Generic[Numbers]):
    """A sentence about a part's numbers, and when it is true.

    Attributes:
        name: its own among the part's claims. holds: whether it is true of the numbers. say: the sentence, its numbers filled in.
    """

    name: str
    holds: Callable[[Numbers], bool]
    say: Callable[[Numbers], Message]


def told(claims: Iterable[Claim[Numbers]], numbers: Numbers) -> list[Message]:
    """The sentences that are true of the numbers, in the order of the claims."""
    return [claim.say(numbers) for claim in claims if claim.holds(numbers)]
