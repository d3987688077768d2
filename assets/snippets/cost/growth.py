# Multiply-adds of one layer by formula, and as PyTorch counts them.
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

T = 128
D = 40

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
