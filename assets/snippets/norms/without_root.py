# LayerNorm with its square root, and the notebook's formula without it, with numpy alone.
import numpy as np

X = None  # four features of an item
EPSILON = 1e-05
SCALE = 1.0  # all features times this

# %% The root makes the result the same whatever the scale; without it, the result shrinks as the features grow.
x = SCALE * X
centred = x - x.mean()
with_root = centred / np.sqrt(x.var() + EPSILON)
without = centred / (x.var() + EPSILON)
assert np.isclose(with_root.std(), np.sqrt(x.var() / (x.var() + EPSILON)))
found = {"with the root": with_root, "without": without, "spread with": with_root.std(), "spread without": without.std()}
