"""Claims of the page on uses: about a word's longer query, key or value, and about who may look at whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture.claims import Claim
from core.lecture.uses import Array, Role, RoleStudy
from core.messages import Message, compose

MOVED: Final = 1e-12
"""Smaller changes are rounding."""


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """One word's query, key or value times a factor, and what came of it."""

    study: RoleStudy
    role: Role
    factor: float

    @property
    def weights(self) -> Array:
        """(n, n) True where a weight changed."""
        return np.asarray(np.abs(self.study.weights_after - self.study.weights) > MOVED)

    @property
    def outputs(self) -> int:
        """Words whose output changed."""
        return int((np.abs(self.study.mixed_after - self.study.mixed) > MOVED).any(axis=1).sum())


def _of(role: Role) -> Callable[[Scaled], bool]:
    return lambda scaled: scaled.role == role and scaled.factor != 1


def _counts(scaled: Scaled) -> dict[str, int]:
    changed = scaled.weights
    rows, columns = int(changed.any(axis=1).sum()), int(changed.any(axis=0).sum())
    return {"rows": rows, "columns": columns, "outputs": scaled.outputs, "all": len(changed)}


ROLES: Final = (
    Claim[Scaled](
        "once", lambda scaled: scaled.factor == 1, lambda _scaled: compose("Times 1 it is what it was, and nothing moves.")
    ),
    Claim[Scaled](
        "value",
        _of("v"),
        lambda scaled: compose(
            "{rows} of {all} rows of weights changed, and {outputs} of {all} words' outputs.", **_counts(scaled)
        ),
    ),
    Claim[Scaled](
        "key",
        _of("k"),
        lambda scaled: compose(
            "One column of the scores changed, the word's. Each row of weights still sums to 1, so weights changed in {columns} "
            "of {all} columns.",
            **_counts(scaled),
        ),
    ),
    Claim[Scaled](
        "query",
        _of("q"),
        lambda scaled: compose(
            "One row of the scores changed, the word's, and with it {rows} of {all} rows of weights: all other words look as "
            "before.",
            **_counts(scaled),
        ),
    ),
)


def _pairs(name: str, say: Callable[[int, int], Message]) -> Claim[Mapping[str, Array]]:
    return Claim(name, lambda masks: name in masks, lambda masks: say(int((masks[name] == 0).sum()), int(masks[name].size)))


FAMILIES: Final = (
    _pairs("encoder", lambda _shut, pairs: compose("The encoder forbids none of its {all} pairs.", all=pairs)),
    _pairs("decoder", lambda shut, pairs: compose("The decoder forbids {count} of its {all} pairs.", count=shut, all=pairs)),
    _pairs("cross", lambda _shut, pairs: compose("The cross-attention forbids none of its {all} pairs.", all=pairs)),
)
"""About the masks of a family, by name."""
