"""Progress bars of the evaluation commands."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tqdm import tqdm


def counting_bar(unit: str) -> Callable[[int, int], None]:
    """A tqdm bar on standard error, set by (done, total); in a file or a pipe a line every ten seconds, and one at the end.

    It appears with the first count, so that what cannot be begun says one sentence alone.
    """
    begun = time.time()
    bars: list[tqdm[None]] = []

    def show(done: int, total: int) -> None:
        if not bars:
            bars.append(tqdm(total=total, unit=unit, file=sys.stderr, mininterval=0.1 if sys.stderr.isatty() else 10))
            bars[0].start_t = begun  # the first one took its time too
        bar = bars[0]
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show
