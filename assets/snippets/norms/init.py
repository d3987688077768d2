# The size of a signal through many layers, by the way their weights are drawn, in PyTorch.
import numpy as np
import torch

SCHEME = "xavier"  # xavier, he, report_qkv, report_out, report_second or normal
ACTIVATION = "relu"
LAYERS = 12
WIDTH, SAMPLES = 128, 64
BOUND = {"xavier": (6 / (2 * WIDTH)) ** 0.5, "report_qkv": 0.5 * (2 / WIDTH) ** 0.5, "report_out": 0.8 * (2 / WIDTH) ** 0.5}
STD = {"he": (2 / WIDTH) ** 0.5, "report_second": 0.5 * WIDTH**-0.5, "normal": 1.0}
ACTIVATIONS = {
    "relu": torch.relu, "relu6": torch.nn.functional.relu6, "gelu": torch.nn.functional.gelu, "sigmoid": torch.sigmoid,
    "tanh": torch.tanh, "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}  # fmt: skip
draw = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}

# %% Root mean square of the input and after each layer.
x = torch.randn(SAMPLES, WIDTH, **draw)
sizes = [x.square().mean().sqrt().item()]
for _layer in range(LAYERS):
    if SCHEME in BOUND:
        w = (torch.rand(WIDTH, WIDTH, **draw) * 2 - 1) * BOUND[SCHEME]
    else:
        w = torch.randn(WIDTH, WIDTH, **draw) * STD[SCHEME]
    x = ACTIVATIONS[ACTIVATION](x @ w)
    sizes.append(x.square().mean().sqrt().item())
std = BOUND[SCHEME] / 3**0.5 if SCHEME in BOUND else STD[SCHEME]
found = {"std of a weight": std, "first": sizes[0], "last over first": sizes[-1] / sizes[0]}
