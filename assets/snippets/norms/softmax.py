# Softmax in float32, the precision of the models, with the largest score subtracted and without.
import numpy as np

SCORES = None
x = SCORES.astype(np.float32)

# %% e^x overflows float32 from x = 89 on.
with np.errstate(over="ignore", invalid="ignore"):
    plain = np.exp(x) / np.exp(x).sum()
powers = np.exp(x - x.max())
safe = powers / powers.sum()
print("without subtracting:", plain)
found = {"softmax": safe, "overflows": float(np.isnan(plain).any())}
