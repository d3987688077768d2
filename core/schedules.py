"""Learning-rate schedules, each as a function of the step (vit-report section 2.8, iiga-equations section 13.2).

Used by the training loop and by the lecture.
"""

import math


def exponential(step: int, *, peak: float, factor: float, every: int) -> float:
    """peak * factor^floor(step / every) (vit-report section 2.8, `get_lr`)."""
    return peak * factor ** (step // every)


def cosine(step: int, *, peak: float, total: int) -> float:
    """peak/2 * (1 + cos(pi * step / total)): from the peak at step 0 to zero at the last (vit-report section 2.8)."""
    return peak / 2 * (1 + math.cos(math.pi * min(step, total) / total))


def warmup_cosine(step: int, *, peak: float, warmup: int, total: int, floor: float = 0.0) -> float:
    """Linear warm-up to the peak over `warmup` steps, then a cosine down to `floor`.

    vit-report section 2.8 has floor 0, iiga-equations section 13.2 has lr_min.
    """
    if step < warmup:
        return peak * step / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (peak - floor) / 2 * (1 + math.cos(math.pi * progress))
