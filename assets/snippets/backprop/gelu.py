# The gradient of GELU's tanh form, written and by PyTorch's autograd.
import numpy as np
import torch

X = None
UPSTREAM = None  # the loss's gradient by the output
SLOPE = np.sqrt(2 / np.pi)

# %% The derivative of 0.5 x (1 + tanh(...)), and the report's form of it, which belongs to the exact GELU.
t = np.tanh(SLOPE * (X + 0.044715 * X**3))
derivative = 0.5 * (1 + t) + 0.5 * X * (1 - t**2) * SLOPE * (1 + 0.134145 * X**2)
x = torch.tensor(X, requires_grad=True)
density = torch.distributions.Normal(0.0, 1.0)
report = density.cdf(x.detach()) + x.detach() * density.log_prob(x.detach()).exp()

# %% Autograd agrees with the first.
torch.nn.functional.gelu(x, approximate="tanh").backward(torch.tensor(UPSTREAM))
assert np.allclose(UPSTREAM * derivative, x.grad)
found = {"x": UPSTREAM * derivative, "report's form is off by": np.abs(UPSTREAM * (report.numpy() - derivative)).max()}
