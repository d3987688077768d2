"""DeepLOB against the published layers, its parameter count by hand, and where its numbers come from."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from core.models import MODELS
from core.models.deeplob import DeepLOB, DeepLOBConfig
from core.models.parameters import count


def by_layers(model: DeepLOB, x: torch.Tensor) -> torch.Tensor:
    """Figure 3 of the paper, layer by layer, from the model's own weights."""
    weights = iter(model.state_dict().values())

    def convolved(x: torch.Tensor, across: int = 1) -> torch.Tensor:
        w = next(weights)
        steps = w.shape[2]
        padded = F.pad(x, (0, 0, (steps - 1) // 2, steps // 2))  # as Keras pads "same", in which the paper's code is written
        return F.leaky_relu(F.conv2d(padded, w, next(weights), stride=(1, across)), 0.01)

    y = x[:, None]
    for across in (2, 2, 10):
        y = convolved(convolved(convolved(y, across)))
    a, b = convolved(convolved(y)), convolved(convolved(y))
    c = convolved(F.max_pool2d(y, (3, 1), 1, (1, 0)))
    z = torch.cat([a, b, c], dim=1)[..., 0].transpose(1, 2)
    w_x, w_h, b_x, b_h = (next(weights) for _ in range(4))
    h = c_t = x.new_zeros(len(x), 64)
    for step in z.unbind(1):
        i, f, g, o = (step @ w_x.T + b_x + h @ w_h.T + b_h).chunk(4, dim=1)
        c_t = f.sigmoid() * c_t + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c_t.tanh()
    return h @ next(weights).T + next(weights)


@torch.no_grad()
def test_it_is_the_published_stack_of_layers() -> None:
    torch.manual_seed(0)
    model = DeepLOB(DeepLOBConfig(steps=20)).eval()
    x = torch.randn(3, 20, 40)
    torch.testing.assert_close(model(x), by_layers(model, x), atol=1e-6, rtol=1e-5)


def test_its_parameters_are_those_counted_by_hand_and_about_the_papers() -> None:
    blocks = sum(16 * (channels * across + 1) + 2 * 16 * (16 * 4 + 1) for channels, across in ((1, 2), (16, 2), (16, 10)))
    inception = 3 * 32 * (16 + 1) + 32 * (32 * 3 + 1) + 32 * (32 * 5 + 1)
    lstm = 4 * 64 * (96 + 64 + 2)
    assert count(DeepLOB(DeepLOBConfig())) == blocks + inception + lstm + 3 * (64 + 1) == 60_947


def test_several_outputs_share_all_but_the_last_layer() -> None:
    torch.manual_seed(1)
    model = DeepLOB(DeepLOBConfig(steps=16, outputs=8)).eval()
    x = torch.randn(2, 16, 40)
    logits, maps = model(x, return_attention=True)
    assert logits.shape == (2, 8, 3) and maps == {}
    logits.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


def test_windows_and_configurations_that_do_not_fit_are_refused() -> None:
    assert MODELS["deeplob"] == (DeepLOB, DeepLOBConfig)
    with pytest.raises(ValueError, match="40 book columns"):
        DeepLOBConfig(features=44)
    with pytest.raises(ValueError, match="windows of 128 steps x 40 features, not \\(64, 40\\)"):
        DeepLOB(DeepLOBConfig())(torch.zeros(1, 64, 40))
