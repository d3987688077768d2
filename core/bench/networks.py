"""Benchmarks of the networks and of the decoder of signs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core import checkpoints
from core.bench.ratio import Pair, Work
from core.market.predictor import load_predictor
from core.models.for_prediction import for_prediction
from core.models.tlob import BTC, TLOB
from core.models.vit import ViT, ViTConfig
from core.signs.decoding import beam_search


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


def shipped(batch: int) -> tuple[nn.Module, Tensor]:
    """The network that predicts, and a batch of made-up windows."""
    predictor = load_predictor()
    windows = torch.randn(batch, predictor.window, predictor.config.features, device=predictor.device)
    return for_prediction(predictor.model), windows


def one_window() -> Pair:
    """The shipped TLOB beside the listing."""
    model, window = shipped(1)
    return Pair(candidate=inferring(lambda: model(window)), reference=listing())


def with_maps() -> Pair:
    """The same with the weights of every layer."""
    model, window = shipped(1)
    return Pair(candidate=inferring(lambda: model(window, return_attention=True)), reference=listing())


def encoder(config: ViTConfig) -> nn.Module:
    """PyTorch's encoder of the ViT's size, which takes its own fused path in inference."""
    layer = nn.TransformerEncoderLayer(
        config.width, config.heads, config.hidden, dropout=config.dropout, activation="gelu", batch_first=True
    )
    return nn.TransformerEncoder(layer, config.layers)


def vit_forward(batch: int) -> Pair:
    """The shipped ViT's size beside PyTorch's encoder, which has no patches to embed and no head."""
    config: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    model, theirs = ViT(config).eval(), encoder(config).eval()
    images = torch.randn(batch, 1, config.side, config.side)
    tokens = torch.randn(batch, 1 + (config.side // config.patch) ** 2, config.width)
    return Pair(candidate=inferring(lambda: model(images)), reference=inferring(lambda: theirs(tokens)))


def vit_training(batch: int = 64) -> Pair:
    """Forward and backward of both."""
    config: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    model, theirs = ViT(config).train(), encoder(config).train()
    images = torch.randn(batch, 1, config.side, config.side)
    tokens = torch.randn(batch, 1 + (config.side // config.patch) ** 2, config.width)

    def step(network: nn.Module, x: Tensor) -> Work:
        def run() -> object:
            network.zero_grad()
            network(x).square().mean().backward()
            return None

        return run

    return Pair(candidate=step(model, images), reference=step(theirs, tokens))


def beam() -> Pair:
    """The decoder of signs beside its plain twin."""
    scores: NDArray[np.float32] = (
        torch.randn(141, 1232, generator=torch.Generator().manual_seed(0)).mul(3).log_softmax(-1).numpy()
    )
    return Pair(candidate=lambda: beam_search(scores), reference=lambda: plain_beam_search(scores))


def plain_beam_search(log_probabilities: NDArray[np.floating], *, width: int = 16, labels_a_frame: int = 20) -> tuple[int, ...]:
    """CTC prefix beam search (Graves 2006; Hannun et al. 2014) in plain Python, one label at a time."""
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
    for frame in np.asarray(log_probabilities, dtype=np.float64):
        prefixes: dict[tuple[int, ...], list[float]] = {}
        labels = [int(one) for one in np.argsort(-frame)[: labels_a_frame + 1] if one][:labels_a_frame]
        for prefix, (blank, label) in beams.items():
            either = np.logaddexp(blank, label)
            at = prefixes.setdefault(prefix, [-np.inf, -np.inf])
            at[0] = np.logaddexp(at[0], either + frame[0])
            if prefix:
                at[1] = np.logaddexp(at[1], label + frame[prefix[-1]])
            for one in labels:
                longer = prefixes.setdefault((*prefix, one), [-np.inf, -np.inf])
                before = blank if prefix and prefix[-1] == one else either
                longer[1] = np.logaddexp(longer[1], before + frame[one])
        best = sorted(prefixes.items(), key=lambda item: -float(np.logaddexp(item[1][0], item[1][1])))[:width]
        beams = {prefix: (blank, label) for prefix, (blank, label) in best}
    return next(iter(beams))
