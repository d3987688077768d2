# Multiply-adds and memory of one layer by formula, and as PyTorch and numpy count them.
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

T = 128
D = 40
N = 1  # heads

# %% By formula.
projections, scores, feed_forward = 4 * T * D**2, 2 * T**2 * D, 8 * T * D**2
found = {"projections": projections, "scores": scores, "feed-forward": feed_forward, "crossings": [2 * D, 6 * D]}

# %% Counted: two operations are one multiply-add.
with FlopCounterMode(display=False) as counter, torch.no_grad():
    x, square = torch.zeros(T, D), torch.zeros(D, D)
    q, k, v = x @ square, x @ square, x @ square
    (q @ k.T).softmax(dim=-1) @ v @ square
    x @ torch.zeros(D, 4 * D) @ torch.zeros(4 * D, D)
found["counted"] = counter.get_total_flops() // 2
assert found["counted"] == projections + scores + feed_forward

# %% Bytes in float32: each head has a map, the feed-forward middle is 4 D wide.
found["maps"] = np.zeros((N, T, T), dtype=np.float32).nbytes
found["middle"] = np.zeros((T, 4 * D), dtype=np.float32).nbytes
assert found["maps"] == 4 * N * T**2 and found["middle"] == 4 * T * 4 * D
