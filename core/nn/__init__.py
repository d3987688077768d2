"""Layers that all models share: attention, masks, positional encodings, feed-forward networks, norms, the encoder layer."""

from core.nn.attention import AttentionMaps as AttentionMaps
from core.nn.attention import GroupedAttention as GroupedAttention
from core.nn.attention import KeyValueCache as KeyValueCache
from core.nn.attention import MultiHeadAttention as MultiHeadAttention
from core.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
from core.nn.encoder import EncoderLayer as EncoderLayer
from core.nn.encoder import after_layers as after_layers
from core.nn.feed_forward import FeedForward as FeedForward
from core.nn.feed_forward import SwiGLU as SwiGLU
from core.nn.masks import causal_mask as causal_mask
from core.nn.masks import padding_mask as padding_mask
from core.nn.masks import window_mask as window_mask
from core.nn.norms import BiN as BiN
from core.nn.positions import LearnedPositions as LearnedPositions
from core.nn.positions import SinusoidalPositions as SinusoidalPositions
from core.nn.positions import rotary_turns as rotary_turns
from core.nn.positions import rotated as rotated
from core.nn.positions import sinusoidal_encoding as sinusoidal_encoding
from core.nn.quantised import QuantisedLinear as QuantisedLinear
