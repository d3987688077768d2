"""A widened network against the narrow one it began as."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from core.models.vit import ViT, ViTConfig
from lab.training.vit import widened

NARROW = ViTConfig(width=16, heads=2, layers=2, hidden=12)


def test_it_computes_the_same_and_its_new_units_learn() -> None:
    torch.manual_seed(0)
    narrow, wide = ViT(NARROW).eval(), ViT(replace(NARROW, hidden=40)).eval()
    wide.load_state_dict(widened(narrow.state_dict(), wide.state_dict()))
    images = torch.randn(6, 1, 28, 28)
    torch.testing.assert_close(wide(images), narrow(images), atol=1e-5, rtol=1e-5)
    F.cross_entropy(wide(images), torch.arange(6)).backward()
    for layer in wide.layers:
        assert layer.feed_forward.fc2.weight.grad[:, 12:].abs().min() > 0


@pytest.mark.parametrize("other", [replace(NARROW, hidden=8), replace(NARROW, width=32), replace(NARROW, layers=3)])
def test_what_does_not_fit_is_refused_on_loading(other: ViTConfig) -> None:
    model = ViT(other)
    with pytest.raises(RuntimeError, match="size mismatch|Missing key"):
        model.load_state_dict(widened(ViT(NARROW).state_dict(), model.state_dict()))
