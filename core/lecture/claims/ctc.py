"""Claims of the lesson on CTC: about the paths of a target, now and with one frame more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from core.lecture.claims import Claim
from core.messages import compose


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Valid paths of a target now, and with one frame more; the frames that it needs at least."""

    now: int
    then: int
    needed: int


PATHS: Final = (
    Claim[Paths](
        "none",
        lambda one: one.then == 0,
        lambda one: compose(
            "The target needs {needed} frames: one more is still too few, and there is no path.", needed=one.needed
        ),
    ),
    Claim[Paths](
        "first",
        lambda one: one.now == 0 < one.then,
        lambda one: compose(
            "With one frame more there are the {needed} that the target needs: just enough for {then}.",
            needed=one.needed, then=one.then,
        ),
    ),
    Claim[Paths](
        "same",
        lambda one: 0 < one.now == one.then,
        lambda one: compose("There is one state alone, and every frame waits in it: {now} → {then}.", now=one.now, then=one.then),
    ),
    Claim[Paths](
        "more",
        lambda one: 0 < one.now < one.then,
        lambda one: compose(
            "A path can wait in each of its states, so there are more ways to fill the frames: {now} → {then}.",
            now=one.now, then=one.then,
        ),
    ),
)  # fmt: skip
