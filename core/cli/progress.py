"""Progress bars of the evaluation commands."""

from __future__ import annotations

import sys
from collections.abc import Callable


def counting_bar(unit: str) -> Callable[[int, int], None]:
    """A tqdm bar on standard error, set by (done, total); none where standard error is no terminal."""
    from tqdm import tqdm

    bar = tqdm(unit=unit, file=sys.stderr, disable=None)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show
