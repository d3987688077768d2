# Memory of one layer's attention maps beside that of its feed-forward middle.
import numpy as np

T = 128
D = 40
N = 1  # heads

# %% Bytes in float32.
maps, middle = N * T**2 * 4, T * 4 * D * 4
attention = np.zeros((N, T, T), dtype=np.float32)
hidden = np.zeros((T, 4 * D), dtype=np.float32)
assert (attention.nbytes, hidden.nbytes) == (maps, middle)
found = {"maps": maps, "middle": middle, "equal at T": 4 * D / N, "maps over middle": maps / middle}
