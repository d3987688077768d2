"""Claims of the page on trained attention: about how widely three models look at one temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from core.lecture.claims import Said
from core.lecture.three_models import RowSpread, Thing
from core.messages import Message, compose

NAMES: Final[Mapping[Thing, Message]] = {
    "book": compose("the order book's row"), "garment": compose("the garment's row"), "hand": compose("the hand's row"),
}  # fmt: skip
SHARP: Final = 0.99
"""Weight from which on a row looks at one token; share of the tokens from which on it is even."""


def three(spreads: Sequence[RowSpread]) -> Said:
    """Spread of one row of each model."""
    said: Said = {}
    low, high = min(spreads, key=lambda one: one.relative), max(spreads, key=lambda one: one.relative)
    if (largest := min(one.largest for one in spreads)) > SHARP:
        said["one"] = compose(
            "So cold a softmax picks one token: each of the three rows has {share:.1f} % of its weight or more on a single one.",
            share=100 * largest,
        )  # fmt: skip
    elif (share := min(one.share for one in spreads)) > SHARP:
        said["even"] = compose(
            "So warm a softmax picks nothing: each of the three rows is spread as if evenly over {share:.1f} % of its tokens or "
            "more.",
            share=100 * share,
        )  # fmt: skip
    else:
        said["compared"] = compose(
            "By entropy as a share of that of even weights, {low} is the narrowest at this temperature ({least:.1f} %: as if "
            "evenly over {few:.1f} of {of_low} tokens) and {high} the widest ({greatest:.1f} %: over {many:.1f} of {of_high}).",
            low=NAMES[low.thing], least=100 * low.relative, few=low.effective, of_low=low.count, high=NAMES[high.thing],
            greatest=100 * high.relative, many=high.effective, of_high=high.count,
        )  # fmt: skip
    return said
