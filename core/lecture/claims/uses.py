"""Claims of the page on uses: about a word's longer query, key or value, and about who may look at whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from core.lecture.claims import Said
from core.lecture.uses import Array, Role, RoleStudy
from core.messages import compose

MOVED: Final = 1e-12
"""Smaller changes are rounding."""


def roles(study: RoleStudy, role: Role, factor: float) -> Said:
    """One word's query, key or value times a factor, and what came of it."""
    said: Said = {}
    changed = np.abs(study.weights_after - study.weights) > MOVED
    mixed = np.abs(study.mixed_after - study.mixed) > MOVED
    rows, columns, outputs = (int(cells.any(axis=axis).sum()) for cells, axis in ((changed, 1), (changed, 0), (mixed, 1)))
    if factor == 1:
        said["once"] = compose("Times 1 it is what it was, and nothing moves.")
    elif role == "v":
        said["value"] = compose(
            "{rows} of {all} rows of weights changed, and {outputs} of {all} words' outputs.",
            rows=rows, outputs=outputs, all=len(changed),
        )  # fmt: skip
    elif role == "k":
        said["key"] = compose(
            "One column of the scores changed, the word's. Each row of weights still sums to 1, so weights changed in {columns} "
            "of {all} columns.",
            columns=columns, all=len(changed),
        )  # fmt: skip
    else:
        said["query"] = compose(
            "One row of the scores changed, the word's, and with it {rows} of {all} rows of weights: all other words look as "
            "before.",
            rows=rows, all=len(changed),
        )  # fmt: skip
    return said


def families(masks: Mapping[str, Array]) -> Said:
    """Masks of a family, by name."""
    said: Said = {}
    if "encoder" in masks:
        said["encoder"] = compose("The encoder forbids none of its {all} pairs.", all=masks["encoder"].size)
    if "decoder" in masks:
        shut = int((masks["decoder"] == 0).sum())
        said["decoder"] = compose("The decoder forbids {count} of its {all} pairs.", count=shut, all=masks["decoder"].size)
    if "cross" in masks:
        said["cross"] = compose("The cross-attention forbids none of its {all} pairs.", all=masks["cross"].size)
    return said
