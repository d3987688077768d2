"""The bar of a command that scores something."""

from __future__ import annotations

import sys
from collections.abc import Callable


def counting_bar(unit: str) -> Callable[[int, int], None]:
    """A tqdm bar on standard error, moved by how many are done of how many; none where that is no terminal."""
    from tqdm import tqdm

    bar = tqdm(unit=unit, file=sys.stderr, disable=None)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show
