"""Folded convolutions say what the trained ones say."""

import torch
from torch import nn

from core.models.iiga import IIGA, IIGAConfig, folded_iiga

SMALL = IIGAConfig(
    vocabulary=5, width=16, heads=2, layers=1, image_size=32, width_multiplier=0.25, image_channels=32, stem_stride=1
)


@torch.no_grad()
def test_folded_pictures_equal_the_trained_ones() -> None:
    torch.manual_seed(0)
    model = IIGA(SMALL).double()
    model(torch.rand(2, 9, 32, 32, 3, dtype=torch.float64))  # running means that are not the first ones
    for value in model.parameters():
        value.add_(torch.randn_like(value), alpha=0.05)
    model.eval()
    clip = torch.rand(1, 7, 32, 32, 3, dtype=torch.float64)
    expected = model.encode(clip)
    assert sum(isinstance(one, nn.BatchNorm2d) for one in model.modules()) == 52
    torch.testing.assert_close(folded_iiga(model).encode(clip), expected, rtol=0, atol=1e-10)
    assert not any(isinstance(one, nn.BatchNorm2d) for one in model.modules())
