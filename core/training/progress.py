"""Progress of what takes time: bars for a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

from core.training.loop import Callback, LoopSettings, TrainingProgress


def progress_bar(settings: LoopSettings, *, title: str) -> Callback:
    """A tqdm bar over all steps with loss, rate and best score. It appears after the first step, where a resumed run starts."""
    total = settings.epochs * settings.steps_per_epoch
    bars: list[tqdm] = []

    def report(event: str, progress: TrainingProgress) -> None:
        if not bars:
            first = progress.step - 1
            bars.append(tqdm(total=total, initial=first, desc=title, unit="step", mininterval=2.0, dynamic_ncols=True))
        bar = bars[0]
        bar.n = progress.step
        if event == "epoch":
            row = progress.history[-1]
            bar.write(" ".join(f"{k}={v:.4g}" for k, v in row.items()))
        shown = {"loss": f"{progress.loss:.3f}", "rate": f"{progress.rate:.1e}", "best": f"{progress.best_score:.4f}"}
        bar.set_postfix(shown, refresh=False)
        bar.update(0)

    return report


def counting_bar(unit: str) -> Callable[[int, int], None]:
    """A tqdm bar on standard error, set by (done, total); in a file or a pipe a line every ten seconds, and one at the end.

    It appears with the first count, so that what cannot be begun says one sentence alone.
    """
    begun = time.time()
    bars: list[tqdm[None]] = []

    def report(done: int, total: int) -> None:
        if not bars:
            bars.append(tqdm(total=total, unit=unit, file=sys.stderr, mininterval=0.1 if sys.stderr.isatty() else 10))
            bars[0].start_t = begun  # the first one took its time too
        bar = bars[0]
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return report
