"""Claims about one frame more, against paths that are all written out and collapsed."""

from __future__ import annotations

from itertools import groupby, pairwise, product
from typing import Any

from core.lecture.claims import ctc as claims
from core.signs import ctc
from tests.core.lecture.claims.walk import Walk, states


def paths(target: tuple[int, ...], frames: int, *, skip: bool) -> int:
    """Paths over blank and labels that collapse to the target; without the skip a blank stands between any two labels."""
    every = product(range(max(target, default=0) + 1), repeat=frames)
    merged = ([label for label, _run in groupby(path)] for path in every)
    return sum(tuple(filter(None, one)) == target and (skip or not any(a and b for a, b in pairwise(one))) for one in merged)


def test_paths_with_one_frame_more() -> None:
    walk = Walk(claims.paths)
    for state in states(target=[(1, 2), (), (1,), (1, 1), (1, 1, 2)], frames=[5, 1, 2, 3, 6], skip=[True, False]):
        target, frames, skip = state["target"], state["frames"], state["skip"]
        now, then = (paths(target, count, skip=skip) for count in (frames, frames + 1))
        needed = next(count for count in range(1, 9) if paths(target, count, skip=skip))
        truth: dict[str, dict[str, Any]]
        if not then:
            truth = {"none": {"needed": needed}}
        elif not now:
            truth = {"first": {"needed": needed, "then": then}}
        else:
            truth = {"same" if now == then else "more": {"now": now, "then": then}}
        counted = (ctc.count_paths(target, count, skip=skip) for count in (frames, frames + 1))
        given = dict(zip(("now", "then"), counted, strict=True))
        walk.check((given["now"], given["then"], ctc.frames_needed(target, skip=skip)), truth, state)
    walk.end()
