# One draw of dropout with numpy alone.
import numpy as np

X = None
KEPT = None  # 1 where the draw keeps an entry
RATE = 0.3

# %% What is kept is divided by the share that is kept, so that the mean stays.
y = np.where(KEPT, X / (1 - RATE), 0.0)
found = {"top left": y[0, 0], "share kept": KEPT.mean()}

# %% The mean of 64 ones after dropout, over many draws, is 1.
draws = np.random.default_rng(0).random((4000, 64)) < 1 - RATE
assert abs((draws / (1 - RATE)).mean() - 1) < 0.03
