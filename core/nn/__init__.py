"""Layers that all models share: attention, masks, positional encodings, feed-forward networks, norms, the encoder layer."""

from core.nn.attention import AttentionMaps, GroupedAttention, KeyValueCache, MultiHeadAttention, scaled_dot_product_attention
from core.nn.encoder import EncoderLayer, after_layers
from core.nn.feed_forward import FeedForward, SwiGLU
from core.nn.masks import causal_mask, padding_mask, window_mask
from core.nn.norms import BiN
from core.nn.positions import LearnedPositions, SinusoidalPositions, rotary_turns, rotated, sinusoidal_encoding
from core.nn.quantised import QuantisedLinear

__all__ = [
    "AttentionMaps",
    "BiN",
    "EncoderLayer",
    "FeedForward",
    "GroupedAttention",
    "KeyValueCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "QuantisedLinear",
    "SinusoidalPositions",
    "SwiGLU",
    "after_layers",
    "causal_mask",
    "padding_mask",
    "rotary_turns",
    "rotated",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
    "window_mask",
]
