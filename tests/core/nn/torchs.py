"""PyTorch's own layers with the weights of ours."""

import torch
from torch import Tensor, nn

from core.nn import EncoderLayer, MultiHeadAttention


def attention(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's layer in use, with our weights."""
    twin = nn.MultiheadAttention(ours.out.out_features, ours.heads, batch_first=True)
    twin.load_state_dict(attention_weights(ours))
    return twin.eval()


def attention_weights(ours: MultiHeadAttention) -> dict[str, Tensor]:
    """Our weights by PyTorch's names."""
    projections = (ours.q, ours.k, ours.v)
    joined = {f"in_proj_{name}": torch.cat([getattr(one, name) for one in projections]) for name in ("weight", "bias")}
    return joined | {f"out_proj.{name}": value for name, value in ours.out.named_parameters()}


def encoder_weights(ours: EncoderLayer) -> dict[str, Tensor]:
    """Weights of a layer by the names of `nn.TransformerEncoderLayer`."""
    parts = {"linear1": ours.feed_forward.fc1, "linear2": ours.feed_forward.fc2, "norm1": ours.norm1, "norm2": ours.norm2}
    weights = {f"self_attn.{name}": value for name, value in attention_weights(ours.attention).items()}
    return weights | {f"{part}.{name}": value for part, layer in parts.items() for name, value in layer.named_parameters()}
