"""Layers that all models share: attention, masks, positional encodings, feed-forward networks, norms, the encoder layer."""

from core.nn.attention import AttentionMaps, MultiHeadAttention, scaled_dot_product_attention
from core.nn.encoder import EncoderLayer
from core.nn.feed_forward import FeedForward
from core.nn.masks import causal_mask, padding_mask, window_mask
from core.nn.norms import BiN
from core.nn.positions import LearnedPositions, SinusoidalPositions, sinusoidal_encoding

__all__ = [
    "AttentionMaps",
    "BiN",
    "EncoderLayer",
    "FeedForward",
    "LearnedPositions",
    "MultiHeadAttention",
    "SinusoidalPositions",
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
    "window_mask",
]
