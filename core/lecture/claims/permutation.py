"""Claims of the lesson on order and permutation: about a `Shuffle`, and about one for each setting of the table (D21)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from core.lecture.claims import Claim
from core.lecture.permutation import EXACT, Shuffle
from core.messages import Message, compose


def _in_order(shuffle: Shuffle) -> bool:
    return bool((shuffle.p == np.eye(len(shuffle.p))).all())


def _changed_words(shuffle: Shuffle) -> int:
    return int((np.abs(shuffle.off).max(axis=1) > EXACT).sum())


IN_ORDER: Final = Claim[Shuffle](
    "in order", _in_order, lambda _found: compose("The words stand in their first order: P is the identity and shuffles nothing.")
)
WHY: Final = (
    Claim[Shuffle](
        "positions",
        lambda found: found.positions and not found.equivariant,
        lambda _found: compose("Positions belong to places, so a word that moves becomes another vector."),
    ),
    Claim[Shuffle](
        "mask",
        lambda found: found.causal == "fixed" and not found.equivariant,
        lambda _found: compose("The mask stays where it is, so a word that moves sees other words."),
    ),
)
ROWS: Final = (
    IN_ORDER,
    Claim[Shuffle](
        "equal",
        lambda found: found.equivariant,
        lambda _found: compose("Z' equals PZ to rounding: each word keeps its output and only takes it to its new row."),
    ),
    Claim[Shuffle](
        "other",
        lambda found: not found.equivariant,
        lambda found: compose(
            "Z' is not PZ. Words with another output: {count} of {all}; the largest difference is {most:.3g}.",
            all=len(found.p), count=_changed_words(found), most=found.rows,
        ),
    ),
    *WHY,
)  # fmt: skip
MAPS: Final = (
    IN_ORDER,
    Claim[Shuffle](
        "equal",
        lambda found: found.maps < EXACT,
        lambda _found: compose("A' equals PAPᵀ to rounding: who looks at whom has not changed, only where it is written."),
    ),
    Claim[Shuffle](
        "other",
        lambda found: found.maps >= EXACT,
        lambda found: compose("A' is not PAPᵀ: weights differ by up to {most:.3g}.", most=found.maps),
    ),
    *WHY,
)
POOL: Final = (
    IN_ORDER,
    Claim[Shuffle](
        "equal",
        lambda found: found.invariant,
        lambda _found: compose("The mean over rows is the same bar for bar: from it alone nobody can tell the two orders apart."),
    ),
    Claim[Shuffle](
        "other",
        lambda found: not found.invariant,
        lambda found: compose("The mean over rows moves by up to {most:.3g}: it depends on the order.", most=found.pool),
    ),
    *WHY,
)


def _broken(shuffle: Shuffle) -> Message:
    if shuffle.equivariant:
        return compose("nothing")
    return compose("equivariance alone") if shuffle.invariant else compose("both properties")


TABLE: Final = (
    Claim[Sequence[Shuffle]](
        "in order", lambda table: _in_order(table[0]), lambda table: IN_ORDER.say(table[0])
    ),
    Claim[Sequence[Shuffle]](
        "broken",
        lambda table: not _in_order(table[0]),
        lambda table: compose(
            "For this order, positions break: {positions}. A causal mask that stays where it is breaks: {mask}.",
            positions=_broken(table[1]), mask=_broken(table[2]),
        ),
    ),
    Claim[Sequence[Shuffle]](
        "along",
        lambda table: table[3].equivariant and table[3].invariant,
        lambda _table: compose("A mask that is shuffled along (PMPᵀ) forbids the same pairs of words, and both properties hold."),
    ),
)  # fmt: skip
"""About the results of `compare_settings`."""
