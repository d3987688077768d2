# Four learning-rate schedules at one step, with numpy alone; rates in thousandths.
import numpy as np

STEP = 300
WARMUP = 100
FLOOR = 0.1  # lr_min as a share of the peak
FACTOR = 0.8
EVERY = 100
PEAK, TOTAL = 1.0, 1000


# %% A line up, half a cosine down.
def warmup_cosine(step, floor):
    if step < WARMUP:
        return PEAK * step / WARMUP
    progress = (step - WARMUP) / (TOTAL - WARMUP)
    return floor + (PEAK - floor) / 2 * (1 + np.cos(np.pi * progress))


found = {
    "exponential": PEAK * FACTOR ** (STEP // EVERY),
    "cosine": PEAK / 2 * (1 + np.cos(np.pi * STEP / TOTAL)),
    "report": warmup_cosine(STEP, 0.0),
    "iiga": warmup_cosine(STEP, FLOOR * PEAK),
}
