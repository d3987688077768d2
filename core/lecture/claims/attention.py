"""Claims of the lessons on attention and its heads, about a `Reading`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.lecture.attention_steps import Steps
from core.lecture.claims import Claim
from core.messages import compose

TIED: Final = 1e-9
"""Scores closer than this are equal up to rounding."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One query of one head: the steps, a name for each token, and head and query from 0 on."""

    steps: Steps
    names: list[str]
    head: int
    query: int

    @property
    def allowed(self) -> int:
        """Keys that the query may look at."""
        return int(self.steps.mask[self.query].sum())

    @property
    def first(self) -> list[int]:
        """The keys with the largest score of those that the query may look at."""
        row = self.steps.masked[self.head, self.query]
        return np.flatnonzero(row >= row.max() - TIED).tolist()

    @property
    def twins(self) -> list[list[int]]:
        """Groups of two or more tokens whose keys are equal in the head."""
        keys = self.steps.k[self.head]
        groups = [np.flatnonzero(np.abs(keys - key).max(axis=1) < TIED).tolist() for key in keys]
        return [group for place, group in enumerate(groups) if len(group) > 1 and group[0] == place]

    def named(self, tokens: list[int]) -> str:
        """The tokens' names."""
        return ", ".join(self.names[one] for one in tokens)


MASKED: Final = Claim[Reading](
    "masked",
    lambda read: not read.steps.mask.all(),
    lambda read: compose(
        "The mask rules out {count} of {all} pairs: their score is minus infinity, and their weight exactly 0.",
        count=int((~read.steps.mask).sum()), all=read.steps.mask.size,
    ),
)  # fmt: skip
SCORES: Final = (
    Claim[Reading](
        "equal keys",
        lambda read: bool(read.twins),
        lambda read: compose(
            "Equal keys: {names}. Before the mask their columns are equal.", names="; ".join(map(read.named, read.twins))
        ),
    ),
    MASKED,
)
SOFTMAX: Final = (
    Claim[Reading](
        "one key",
        lambda read: read.allowed == 1,
        lambda read: compose(
            "“{query}” may look at one key alone, whose weight is 1 at every temperature.", query=read.names[read.query]
        ),
    ),
    Claim[Reading](
        "one winner",
        lambda read: len(read.first) == 1 < read.allowed,
        lambda read: compose(
            "Lower the temperature and the row of “{query}” ends on “{key}” (entropy 0); raise it and the {count} keys that it "
            "may look at count alike (entropy ln {count} = {even:.3f}).",
            query=read.names[read.query], key=read.named(read.first), count=read.allowed, even=math.log(read.allowed),
        ),
    ),
    Claim[Reading](
        "several winners",
        lambda read: 1 < len(read.first) < read.allowed,
        lambda read: compose(
            "Lower the temperature and the row of “{query}” ends on the {ties} keys whose scores are equal, {keys} (entropy "
            "ln {ties} = {low:.3f}); raise it and the {count} keys that it may look at count alike (entropy ln {count} = "
            "{even:.3f}).",
            query=read.names[read.query], keys=read.named(read.first), ties=len(read.first), low=math.log(len(read.first)),
            count=read.allowed, even=math.log(read.allowed),
        ),
    ),
    Claim[Reading](
        "all alike",
        lambda read: len(read.first) == read.allowed > 1,
        lambda read: compose(
            "All {count} scores of “{query}” are equal, and so are its weights at every temperature (entropy ln {count} = "
            "{even:.3f}).",
            query=read.names[read.query], count=read.allowed, even=math.log(read.allowed),
        ),
    ),
    MASKED,
)  # fmt: skip
HEADS: Final = (
    Claim[Reading](
        "one",
        lambda read: len(read.steps.q) == 1,
        lambda _read: compose("One head reads all columns of Q, K and V and has one map; W_O then mixes the columns of Z."),
    ),
    Claim[Reading](
        "several",
        lambda read: len(read.steps.q) > 1,
        lambda read: compose(
            "Each of the {count} heads has a map of its own and reads its own columns of Q, K and V (columns a head: {width}). "
            "Their outputs stand side by side in Z until W_O mixes them.",
            count=len(read.steps.q), width=read.steps.key_width,
        ),
    ),
)  # fmt: skip
CLAIMS: Final = {"project": (), "scores": SCORES, "softmax": SOFTMAX, "sum": (), "heads": HEADS}
