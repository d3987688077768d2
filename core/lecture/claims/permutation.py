"""Claims of the lesson on order and permutation: about a `Shuffle`, and about one for each setting of the table (D21)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.lecture.claims import Said
from core.lecture.permutation import EXACT, Shuffle
from core.messages import Message, compose


def _in_order(shuffle: Shuffle) -> Said:
    said: Said = {}
    if (shuffle.p == np.eye(len(shuffle.p))).all():
        said["in order"] = compose("The words stand in their first order: P is the identity and shuffles nothing.")
    return said


def _why(shuffle: Shuffle) -> Said:
    said: Said = {}
    if shuffle.positions and not shuffle.equivariant:
        said["positions"] = compose("Positions belong to places, so a word that moves becomes another vector.")
    if shuffle.causal == "fixed" and not shuffle.equivariant:
        said["mask"] = compose("The mask stays where it is, so a word that moves sees other words.")
    return said


def rows(shuffle: Shuffle) -> Said:
    """Outputs of the shuffled words beside the shuffled outputs."""
    said = _in_order(shuffle)
    if shuffle.equivariant:
        said["equal"] = compose("Z' equals PZ to rounding: each word has the same output, in its new row.")
    else:
        said["other"] = compose(
            "Z' is not PZ. Words with another output: {count} of {all}; the largest difference is {most:.3g}.",
            all=len(shuffle.p),
            count=int((np.abs(shuffle.off).max(axis=1) > EXACT).sum()),
            most=shuffle.rows,
        )
    return said | _why(shuffle)


def maps(shuffle: Shuffle) -> Said:
    """Maps of the shuffled words beside the shuffled maps."""
    said = _in_order(shuffle)
    if shuffle.maps < EXACT:
        said["equal"] = compose("A' equals PAPᵀ to rounding: each weight is the same, in another row and column.")
    else:
        said["other"] = compose("A' is not PAPᵀ: weights differ by up to {most:.3g}.", most=shuffle.maps)
    return said | _why(shuffle)


def pool(shuffle: Shuffle) -> Said:
    """The means over rows."""
    said = _in_order(shuffle)
    if shuffle.invariant:
        said["equal"] = compose("The mean over rows is the same for both orders.")
    else:
        said["other"] = compose("The mean over rows moves by up to {most:.3g}: it depends on the order.", most=shuffle.pool)
    return said | _why(shuffle)


def _broken(shuffle: Shuffle) -> Message:
    if shuffle.equivariant:
        return compose("nothing")
    return compose("equivariance alone") if shuffle.invariant else compose("both properties")


def table(compared: Sequence[Shuffle]) -> Said:
    """The results of `compare_settings`."""
    said = _in_order(compared[0])
    if not said:
        said["broken"] = compose(
            "For this order, positions break: {positions}. A causal mask that stays where it is breaks: {mask}.",
            positions=_broken(compared[1]),
            mask=_broken(compared[2]),
        )
    if compared[3].equivariant and compared[3].invariant:
        said["along"] = compose("A mask that is shuffled along (PMPᵀ) forbids the same pairs of words, and both properties hold.")
    return said
