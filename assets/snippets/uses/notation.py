# The shapes behind the symbols, with numpy alone.
import numpy as np

D = 1280  # width of a token
N = 8  # heads
T = 12  # tokens

# %% A token's D numbers are shared among N heads of d_k each.
x = np.zeros((T, D))
heads = x.reshape(T, N, D // N).transpose(1, 0, 2)
scores = heads @ heads.transpose(0, 2, 1)
print("tokens", x.shape, "heads", heads.shape, "scores", scores.shape)
assert scores.shape == (N, T, T) and N * heads.shape[-1] == D
found = {"d_k": heads.shape[-1]}
