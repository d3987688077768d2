# The model's scores from its counts, with numpy alone.
import numpy as np

FORMATS = {}  # held-out format -> share of exact answers
LOSS = []  # training loss by measurement
EXACT = []  # validation exact match by measurement

# %% The best measurement is the one that was kept.
for name, share in FORMATS.items():
    print(f"{name:32} {share:.1%}")
found = {"best validation": max(EXACT), "worst format": min(FORMATS.values(), default=0.0), "last loss": LOSS[-1]}
assert LOSS[0] > LOSS[-1], "training lowered the loss"
