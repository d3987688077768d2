# The gradients of LayerNorm, written and by PyTorch's autograd.
import numpy as np
import torch

X = None
GAMMA = None
BETA = None
UPSTREAM = None  # the loss's gradient by the output

# %% Mean and variance depend on every entry: two terms are taken off.
root = np.sqrt(X.var(axis=1, keepdims=True) + 1e-5)
xhat = (X - X.mean(axis=1, keepdims=True)) / root
g = GAMMA * UPSTREAM
by_x = (g - g.mean(axis=1, keepdims=True) - xhat * (g * xhat).mean(axis=1, keepdims=True)) / root
found = {
    "x": by_x,
    "gamma": (UPSTREAM * xhat).sum(axis=0, keepdims=True),
    "beta": UPSTREAM.sum(axis=0, keepdims=True),
}

# %% Autograd agrees.
leaves = [torch.tensor(one, requires_grad=True) for one in (X, GAMMA, BETA)]
x, gamma, beta = leaves
torch.nn.functional.layer_norm(x, x.shape[1:], gamma[0], beta[0]).backward(torch.tensor(UPSTREAM))
assert all(np.allclose(written, leaf.grad) for written, leaf in zip(found.values(), leaves))
