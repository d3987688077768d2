"""The encoder layer of the ViT and of the encoder-decoder Transformer (vit-report sections 1.6 and 2.5)."""

from typing import Any

from torch import Tensor, nn

from core.nn.attention import AttentionMaps, MultiHeadAttention
from core.nn.feed_forward import Activation, FeedForward


class EncoderLayer(nn.Module):
    """N1 = LayerNorm(x + attention(x, x, x)), N2 = LayerNorm(N1 + FFN(N1)).

    Args:
        width: channels of a token. heads: must divide `width`. hidden: middle width of the feed-forward network.
        dropout: inside the feed-forward network, and on what each sublayer adds.
        pre_norm: x + Sublayer(LayerNorm(x)) instead (iiga-equations section 7), for comparison.
        activation: of the feed-forward network. eps: of both norms.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        *,
        dropout: float = 0.0,
        pre_norm: bool = False,
        activation: Activation = "gelu_tanh",
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = MultiHeadAttention(width, heads)
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.feed_forward = FeedForward(width, hidden, activation=activation, dropout=dropout)
        self.norm2 = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.attention.q, self.attention.k, self.attention.v, self.attention.out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        nn.init.normal_(self.feed_forward.fc2.weight, std=0.5 * hidden**-0.5)  # half of the usual size (vit-report section 2.3)
        nn.init.zeros_(self.feed_forward.fc2.bias)

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, return_attention: bool = False, first: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """(batch, n, width) -> the same shape, and the weights (batch, heads, n, n) where asked for.

        The mask is True where a query may look, broadcastable to (batch, heads, n, n). With `first`, only so many first tokens
        come out, and the weights have as many rows and the mask must too: each of these tokens still looks at all.
        """
        keys = self.norm1(x) if self.pre_norm else x
        attended, weights = self.attention(
            keys if first is None else keys[:, :first], keys, mask=mask, return_attention=return_attention
        )
        x = x[:, :first] + self.dropout(attended)
        if self.pre_norm:
            return x + self.dropout(self.feed_forward(self.norm2(x))), weights
        x = self.norm1(x)
        return self.norm2(x + self.dropout(self.feed_forward(x))), weights


def after_layers(layers: nn.ModuleList, x: Tensor, named: str = "layer", **given: Any) -> tuple[Tensor, AttentionMaps]:
    """(batch, n, width) after layers that are given the same, and the weights "layer 1" ..., none unless asked for."""
    maps: AttentionMaps = {}
    for number, layer in enumerate(layers, start=1):
        x, weights, *_ = layer(x, **given)
        if weights is not None:
            maps[f"{named} {number}"] = weights
    return x, maps
