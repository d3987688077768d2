# The gradients of the feed-forward network, written and by PyTorch's autograd.
import numpy as np
import torch

INPUTS = {}  # x, and weights and biases by name
UPSTREAM = None  # the loss's gradient by the output
t = {name: torch.tensor(value, requires_grad=True) for name, value in INPUTS.items()}
SLOPE = (2 / np.pi) ** 0.5

# %% GELU(x W_1 + b_1) W_2 + b_2, and back through it.
z1 = INPUTS["x"] @ INPUTS["w_1"] + INPUTS["b_1"]
bend = np.tanh(SLOPE * (z1 + 0.044715 * z1**3))
gelu = 0.5 * z1 * (1 + bend)
derivative = 0.5 * (1 + bend) + 0.5 * z1 * (1 - bend**2) * SLOPE * (1 + 0.134145 * z1**2)
dz1 = UPSTREAM @ INPUTS["w_2"].T * derivative
found = {
    "x": dz1 @ INPUTS["w_1"].T, "w_1": INPUTS["x"].T @ dz1, "b_1": dz1.sum(axis=0, keepdims=True),
    "w_2": gelu.T @ UPSTREAM, "b_2": UPSTREAM.sum(axis=0, keepdims=True),
}  # fmt: skip

# %% Autograd agrees.
middle = torch.nn.functional.gelu(t["x"] @ t["w_1"] + t["b_1"], approximate="tanh")
(middle @ t["w_2"] + t["b_2"]).backward(torch.tensor(UPSTREAM))
assert all(np.allclose(found[name], leaf.grad) for name, leaf in t.items())
