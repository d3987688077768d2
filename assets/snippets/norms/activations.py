# An activation and its slope at one point, by PyTorch's autograd.
import numpy as np
import torch

NAME = "gelu"  # relu, relu6, gelu, gelu_tanh, sigmoid or tanh
AT = 1.0
SLOPE, CUBIC = (2 / np.pi) ** 0.5, 0.044715

# %% Each written out.
WRITTEN = {
    "relu": lambda x: x.clamp_min(0),
    "relu6": lambda x: x.clamp(0, 6),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / 2**0.5)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(SLOPE * (x + CUBIC * x**3))),
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "tanh": lambda x: (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x)),
}
x = torch.tensor(AT, dtype=torch.float64, requires_grad=True)
y = WRITTEN[NAME](x)
y.backward()
found = {"value": y.item(), "derivative": x.grad.item()}
