# The gradients of two heads of self-attention by PyTorch's autograd.
import numpy as np
import torch

INPUTS = {}  # x, and weights and biases by name
UPSTREAM = None  # the loss's gradient by the output
CAUSAL = False
t = {name: torch.tensor(value, requires_grad=True) for name, value in INPUTS.items()}


# %% Concat(head 1, head 2) W_O + b_O
def attend(x):
    q, k, v = ((x @ t[f"w_{name}"] + t[f"b_{name}"]).unflatten(-1, (2, -1)).transpose(0, 1) for name in "qkv")
    scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
    if CAUSAL:
        scores = scores.masked_fill(torch.ones(len(x), len(x)).triu(1) > 0, -torch.inf)
    return (scores.softmax(dim=-1) @ v).transpose(0, 1).flatten(1) @ t["w_o"] + t["b_o"]


attend(t["x"]).backward(torch.tensor(UPSTREAM))
found = {name: leaf.grad.numpy() for name, leaf in t.items()}
