"""TLOB's forward pass in numpy alone, written from the document's listing: what the torch model is held against."""

import math
from collections.abc import Mapping

import numpy as np

from core.models.tlob import TLOBConfig
from tests.core.models.numpy_vit import EPSILON, Array, attend, layer_norm, linear, positions, softmax


def mlp(w: Mapping[str, Array], name: str, x: Array) -> Array:
    hidden = linear(w, f"{name}.fc1", x)
    gelu = hidden * 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    return linear(w, f"{name}.fc2", gelu)


def bin_norm(w: Mapping[str, Array], x: Array) -> Array:
    """Section 2.2, in use: x (batch, features, steps)."""
    mean, variance = w["bin_norm.batch_norm.running_mean"][:, None], w["bin_norm.batch_norm.running_var"][:, None]
    batch = (x - mean) / np.sqrt(variance + EPSILON)
    batch = batch * w["bin_norm.batch_norm.weight"][:, None] + w["bin_norm.batch_norm.bias"][:, None]
    instance = (x - x.mean(axis=2, keepdims=True)) / np.sqrt(x.var(axis=2, keepdims=True) + EPSILON)
    instance = instance * w["bin_norm.instance_norm.weight"][:, None] + w["bin_norm.instance_norm.bias"][:, None]
    return 0.5 * batch + 0.5 * instance


def layer(w: Mapping[str, Array], name: str, x: Array, config: TLOBConfig) -> tuple[Array, Array]:
    """Section 5.1's TransformerLayer.forward, line by line; `single` leaves out the second projections (D4)."""
    res = x
    qkv = [linear(w, f"{name}.qkv.{letter}", x) for letter in "qkv"] if config.qkv == "double" else [x, x, x]
    x, att = attend(w, f"{name}.attention", qkv, config.heads)
    if config.qkv == "double":
        x = linear(w, f"{name}.w0", x)
    x = x + res
    x = mlp(w, f"{name}.mlp", layer_norm(w, f"{name}.norm", x))
    return x + res, att


def forward(w: Mapping[str, Array], config: TLOBConfig, x: Array) -> tuple[Array, list[Array]]:
    """Section 4.1: x (batch, steps, features) -> logits (batch, outputs, 3) and each layer's weights."""
    x = bin_norm(w, x.transpose(0, 2, 1)).transpose(0, 2, 1)
    x = linear(w, "embedding", x)
    x = x + (w["positions.encoding"] if config.positions == "learned" else positions(config.steps, config.width))
    maps = []
    for i in range(2 * config.pairs):
        if i % 2 == 0:
            x, att = layer(w, f"layers.{i}", x, config)
        else:
            x = x.transpose(0, 2, 1)
            x, att = layer(w, f"layers.{i}", x, config)
            x = x.transpose(0, 2, 1)
        maps.append(att)
    if config.pooling == "mean":
        pooled = x.mean(axis=1)
    elif config.pooling == "last":
        pooled = x[:, config.steps - 1]
    else:
        pooled = sum(share * x[:, t] for t, share in enumerate(softmax(w["pool_logits"])))
    return np.stack([mlp(w, f"classifiers.{i}", pooled) for i in range(config.outputs)], axis=1), maps
