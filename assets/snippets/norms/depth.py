# Gradient of the last of a stack of encoder layers, post-norm and pre-norm, in PyTorch.
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

LAYERS = 8
SEED = 1
WIDTH, HEADS, TOKENS = 32, 4, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _name in "qkvo")
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _number in "12")
        self.fc1, self.fc2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        for linear in self.attention:  # drawn and drawn again below, as the app does: the draws must be the same
            nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(self.fc2.weight)

    def attend(self, x):
        q, k, v = (linear(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for linear in self.attention[:3])
        return self.attention[3](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, x, pre):
        feed = lambda z: self.fc2(F.gelu(self.fc1(z), approximate="tanh"))  # noqa: E731
        x = x + self.attend(self.norms[0](x)) if pre else self.norms[0](x + self.attend(x))
        return x + feed(self.norms[1](x)) if pre else self.norms[1](x + feed(x))


# %% The loss is the mean square of a random read-out of the last layer.
found = {}
for pre in (False, True):
    torch.manual_seed(SEED)
    stack = [Layer() for _number in range(LAYERS)]
    for linear in (one for layer in stack for one in layer.modules() if isinstance(one, nn.Linear)):
        nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(linear.bias)
    x, read = torch.randn(8, TOKENS, WIDTH), torch.randn(WIDTH, 10) / WIDTH**0.5
    for layer in stack:
        x = layer(x, pre)
    ((F.layer_norm(x, (WIDTH,)) if pre else x) @ read).square().mean().backward()
    found["pre-norm" if pre else "post-norm"] = float(torch.stack([p.grad.norm() for p in stack[-1].parameters()]).norm())
