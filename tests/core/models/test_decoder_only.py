"""The decoder-only model against PyTorch's own layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from core.models.decoder_only import DecoderOnly, DecoderOnlyConfig


def torch_layer(ours: Any, config: DecoderOnlyConfig) -> nn.TransformerEncoderLayer:
    """PyTorch's own layer with our weights."""
    theirs = nn.TransformerEncoderLayer(
        config.width, config.heads, config.hidden, dropout=0.0, norm_first=True, batch_first=True,
        activation=lambda x: nn.functional.gelu(x, approximate="tanh"),
    ).double().eval()  # fmt: skip
    a, f = ours.attention, ours.feed_forward
    theirs.self_attn.in_proj_weight.copy_(torch.cat([a.q.weight, a.k.weight, a.v.weight]))
    theirs.self_attn.in_proj_bias.copy_(torch.cat([a.q.bias, a.k.bias, a.v.bias]))
    pairs = ((theirs.self_attn.out_proj, a.out), (theirs.linear1, f.fc1), (theirs.linear2, f.fc2))
    for one, other in (*pairs, (theirs.norm1, ours.norm1), (theirs.norm2, ours.norm2)):
        one.load_state_dict(other.state_dict())
    return theirs


@torch.no_grad()
def test_its_logits_are_those_of_pytorchs_layers() -> None:
    torch.manual_seed(7)
    config = DecoderOnlyConfig(vocabulary=18, width=16, heads=2, layers=2, hidden=16, length=64)
    model, numbers = DecoderOnly(config).double().eval(), torch.arange(11)[None] % 18
    x, later = model.positions(model.embedding(numbers)), torch.ones(11, 11, dtype=torch.bool).triu(1)
    for ours in model.layers:
        x = torch_layer(ours, config)(x, src_mask=later)
    torch.testing.assert_close(model(numbers), model.out(model.norm(x)), rtol=1e-5, atol=1e-6)  # positions are float32
