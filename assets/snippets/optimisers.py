"""Five optimisers from one start, a schedule, and how weights start. Run it in the project's folder."""

import numpy as np

from core import schedules
from core.lecture import initialisation, optimisers

SURFACE = "rosenbrock"
RATE = 0.03
DECAY = 0.1
STEPS = 120
STEP = 300
WARMUP = 100
FLOOR = 0.0001
LARGEST = 1.0
SCHEME = "xavier"
ACTIVATION = "relu"

surface = optimisers.SURFACES[SURFACE]
for name in optimisers.OPTIMISERS:
    walk = optimisers.surface_walk(surface, name, steps=STEPS, rate=lambda step: RATE, decay=DECAY)
    print(f"{name:10} ends at {walk.points[-1].round(4)} with loss {walk.losses[-1]:.4g}{' (stopped)' if walk.diverged else ''}")

print("rate at the step:", schedules.warmup_cosine(STEP, peak=1e-3, warmup=WARMUP, total=1000, floor=FLOOR))
print("clipped:", optimisers.clip_by_norm(np.array([3.0, 2.0]), LARGEST))
print("signal by layer:", initialisation.signal_by_layer(SCHEME, ACTIVATION).round(4))
