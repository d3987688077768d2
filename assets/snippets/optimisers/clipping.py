# Clipping a gradient by its norm, with numpy alone.
import numpy as np

G = None
LARGEST = 1.0

# %% The length is capped, the direction kept.
norm = np.linalg.norm(G)
clipped = G * min(1.0, LARGEST / norm) if norm else G
assert np.linalg.norm(clipped) <= LARGEST * (1 + 1e-9)
found = {"norm": norm, "clipped": clipped}

# %% The same for a walk into a long bowl by gradient descent.
theta, norms = np.array([-4.0, 1.5]), []
for _step in range(120):
    g = theta * [1, 20]
    norms.append(np.linalg.norm(g))
    theta = theta - 0.05 * g * min(1.0, LARGEST / norms[-1] if norms[-1] else 1.0)
found["norms of the walk"] = norms[:3]
