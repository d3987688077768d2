# The gradients of y = x W + b, written and by PyTorch's autograd.
import numpy as np
import torch

X = None
W = None
B = None
UPSTREAM = None  # the loss's gradient by the output

# %% A product's gradient by one factor is the output's gradient times the other factor.
found = {"x": UPSTREAM @ W.T, "W": X.T @ UPSTREAM, "b": UPSTREAM.sum(axis=0, keepdims=True)}

# %% Autograd agrees.
leaves = [torch.tensor(one, requires_grad=True) for one in (X, W, B)]
(leaves[0] @ leaves[1] + leaves[2]).backward(torch.tensor(UPSTREAM))
assert all(np.allclose(written, leaf.grad) for written, leaf in zip(found.values(), leaves))
