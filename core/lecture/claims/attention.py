"""Claims of the lessons on attention and its heads, about a `Reading`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture.attention_steps import Steps
from core.lecture.claims import Said
from core.lecture.roles import Role, RoleStudy
from core.messages import compose

MOVED: Final = 1e-12
"""Smaller changes of a weight or an output are rounding."""
TIED: Final = 1e-9
"""Scores closer than this are equal up to rounding."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One query of one head: the steps, a name for each token, and head and query from 0 on."""

    steps: Steps
    names: list[str]
    head: int
    query: int

    def named(self, tokens: list[int]) -> str:
        """The tokens' names."""
        return ", ".join(self.names[one] for one in tokens)


def _masked(read: Reading) -> Said:
    said: Said = {}
    mask = read.steps.mask
    if not mask.all():
        said["masked"] = compose(
            "The mask rules out {count} of {all} pairs: their score is minus infinity, and their weight exactly 0.",
            count=int((~mask).sum()),
            all=mask.size,
        )
    return said


def scores(read: Reading) -> Said:
    """Keys that are equal in the head, and the mask."""
    said: Said = {}
    keys = read.steps.k[read.head]
    groups = [np.flatnonzero(np.abs(keys - key).max(axis=1) < TIED).tolist() for key in keys]
    twins = [group for place, group in enumerate(groups) if len(group) > 1 and group[0] == place]
    if twins:
        names = "; ".join(map(read.named, twins))
        said["equal keys"] = compose("Equal keys: {names}. Before the mask their columns are equal.", names=names)
    return said | _masked(read)


def softmax(read: Reading) -> Said:
    """Ends of the query's row at low and high temperature, by the keys that it may look at and their largest scores."""
    said: Said = {}
    row, query = read.steps.masked[read.head, read.query], read.names[read.query]
    first, count = np.flatnonzero(row >= row.max() - TIED).tolist(), int(read.steps.mask[read.query].sum())
    if count == 1:
        said["one key"] = compose("“{query}” may look at one key alone, whose weight is 1 at every temperature.", query=query)
    elif len(first) == 1 < count:
        said["one winner"] = compose(
            "Lower the temperature and the row of “{query}” ends on “{key}” (entropy 0); raise it and the {count} keys that it "
            "may look at count alike (entropy ln {count} = {even:.3f}).",
            query=query,
            key=read.named(first),
            count=count,
            even=math.log(count),
        )
    elif 1 < len(first) < count:
        said["several winners"] = compose(
            "Lower the temperature and the row of “{query}” ends on the {ties} keys whose scores are equal, {keys} (entropy "
            "ln {ties} = {low:.3f}); raise it and the {count} keys that it may look at count alike (entropy ln {count} = "
            "{even:.3f}).",
            query=query,
            keys=read.named(first),
            ties=len(first),
            low=math.log(len(first)),
            count=count,
            even=math.log(count),
        )
    elif count:
        said["all alike"] = compose(
            "All {count} scores of “{query}” are equal, and so are its weights at every temperature (entropy ln {count} = "
            "{even:.3f}).",
            query=query,
            count=count,
            even=math.log(count),
        )
    return said | _masked(read)


def heads(read: Reading) -> Said:
    """One head, or several."""
    said: Said = {}
    count = len(read.steps.q)
    if count == 1:
        said["one"] = compose("One head reads all columns of Q, K and V and has one map; W_O then mixes the columns of Z.")
    else:
        said["several"] = compose(
            "Each of the {count} heads has a map of its own and reads its own columns of Q, K and V (columns a head: {width}). "
            "Their outputs stand side by side in Z until W_O mixes them.",
            count=count,
            width=read.steps.key_width,
        )
    return said


CLAIMS: Final[dict[str, Callable[[Reading], Said]]] = {"scores": scores, "softmax": softmax, "heads": heads}


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
            rows=rows,
            outputs=outputs,
            all=len(changed),
        )
    elif role == "k":
        said["key"] = compose(
            "One column of the scores changed, the word's. Each row of weights still sums to 1, so weights changed in {columns} "
            "of {all} columns.",
            columns=columns,
            all=len(changed),
        )
    else:
        said["query"] = compose(
            "One row of the scores changed, the word's, and with it {rows} of {all} rows of weights: all other words look as "
            "before.",
            rows=rows,
            all=len(changed),
        )
    return said
