# The gradients of a whole encoder layer by PyTorch's autograd.
import numpy as np
import torch
from torch.nn import functional as F

INPUTS = {}  # x, and weights, biases, gammas and betas by name
UPSTREAM = None  # the loss's gradient by the output
CAUSAL = False
t = {name: torch.tensor(value, requires_grad=True) for name, value in INPUTS.items()}


# %% N1 = LayerNorm(x + A(x)), N2 = LayerNorm(N1 + F(N1))
def attend(x):
    q, k, v = ((x @ t[f"w_{name}"] + t[f"b_{name}"]).unflatten(-1, (2, -1)).transpose(0, 1) for name in "qkv")
    scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
    if CAUSAL:
        scores = scores.masked_fill(torch.ones(len(x), len(x)).triu(1) > 0, -torch.inf)
    return (scores.softmax(dim=-1) @ v).transpose(0, 1).flatten(1) @ t["w_o"] + t["b_o"]


def feed(x):
    return F.gelu(x @ t["w_1"] + t["b_1"], approximate="tanh") @ t["w_2"] + t["b_2"]


def norm(x, number):
    return F.layer_norm(x, x.shape[1:], t[f"gamma_{number}"][0], t[f"beta_{number}"][0])


n1 = norm(t["x"] + attend(t["x"]), 1)
norm(n1 + feed(n1), 2).backward(torch.tensor(UPSTREAM))
found = {name: leaf.grad.numpy() for name, leaf in t.items()}
