"""Benchmarks of the networks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from core import checkpoints
from core.bench.ratio import Pair, Work
from core.market.predictor import load_predictor
from core.models.tlob import BTC, TLOB
from core.models.vit import ViT, ViTConfig


def inferring(function: Callable[[], object]) -> Work:
    """The function as a prediction calls it, without gradients."""

    def run() -> object:
        with torch.inference_mode():
            return function()

    return run


def listing() -> Work:
    """One window through the document's listing, one pass."""
    listing, window = TLOB(BTC).eval(), torch.randn(1, BTC.steps, BTC.features)
    return inferring(lambda: listing(window))


def shipped() -> tuple[nn.Module, Tensor]:
    """The network that predicts, and a made-up window."""
    predictor = load_predictor()
    window = torch.randn(1, predictor.window, predictor.config.features, device=predictor.device)
    return predictor.model, window


def one_window() -> Pair:
    """The shipped TLOB beside the listing."""
    model, window = shipped()
    return Pair(candidate=inferring(lambda: model(window)), reference=listing())


def with_maps() -> Pair:
    """The same with the weights of every layer."""
    model, window = shipped()
    return Pair(candidate=inferring(lambda: model(window, return_attention=True)), reference=listing())


def encoder(config: ViTConfig) -> nn.Module:
    """PyTorch's encoder of the ViT's size, which takes its own fused path in inference."""
    layer = nn.TransformerEncoderLayer(
        config.width, config.heads, config.hidden, dropout=config.dropout, activation="gelu", batch_first=True
    )
    return nn.TransformerEncoder(layer, config.layers)


def one_image() -> Pair:
    """The shipped ViT's size beside PyTorch's encoder, which has no patches to embed and no head."""
    config: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    model, theirs = ViT(config).eval(), encoder(config).eval()
    image = torch.randn(1, 1, config.side, config.side)
    tokens = torch.randn(1, 1 + (config.side // config.patch) ** 2, config.width)
    return Pair(candidate=inferring(lambda: model(image)), reference=inferring(lambda: theirs(tokens)))
