"""The encoder-decoder Transformer (vit-report sections 2.5, 2.6 and 2.9; Vaswani et al. 2017), post-norm.

source (batch, S) -> E + positions -> encoder layers -> memory H
target (batch, T) -> E + positions -> decoder layers (causal self-attention, cross-attention to H) -> W_out -> logits
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import torch
from torch import Tensor, nn

from core.messages import BadValue
from core.models.config import SymbolsConfig
from core.nn import AttentionMaps, EncoderLayer, FeedForward, MultiHeadAttention, SinusoidalPositions, after_layers, causal_mask

DATE_SYMBOLS: Final = 11
"""The begin sign and the ten symbols of an ISO date: a target of the dates model."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(SymbolsConfig):
    """Everything that shapes the network.

    Attributes:
        vocabulary: V, symbols of source and target together: they share one embedding, as in the report.
        width: d_model. heads: a layer; must divide `width`. hidden: d_ff.
        layers: encoder layers, and as many decoder layers.
        length: longest source and target, in symbols.
        padding: the symbol that fills a short source up; it is masked.
        position_scale: factor on the sinusoidal positions: the report's class multiplies by 0.1, everyone else by 1.
        dropout: inside the feed-forward networks, and on what each sub-layer adds.
    """

    model: ClassVar[str] = "transformer"
    vocabulary: int
    width: int = 96
    heads: int = 4
    layers: int = 2
    hidden: int = 192
    length: int = 64
    padding: int = 0
    position_scale: float = 1.0
    dropout: float = 0.0

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """A source of `length` symbols, and a target of `DATE_SYMBOLS`."""
        return torch.ones(1, length, dtype=torch.long), torch.ones(1, DATE_SYMBOLS, dtype=torch.long)


class DecoderLayer(nn.Module):
    """N1 = LayerNorm(y + causal attention(y)), N2 = LayerNorm(N1 + attention(N1, H, H)), N3 = LayerNorm(N2 + FFN(N2)).

    Source: vit-report section 2.6.
    """

    def __init__(self, width: int, heads: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(width, heads)
        self.norm1 = nn.LayerNorm(width)
        self.cross_attention = MultiHeadAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, hidden, activation="gelu_tanh", dropout=dropout)
        self.norm3 = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, y: Tensor, memory: Tensor, *, memory_mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """One layer.

        Args:
            y: (batch, T, width). memory: the encoder's output (batch, S, width).
            memory_mask: True where the source has a symbol, broadcastable to (batch, heads, T, S).

        Returns:
            (batch, T, width), and the weights of self-attention (batch, heads, T, T) and of cross-attention
            (batch, heads, T, S), None unless asked for.
        """
        causal = causal_mask(y.shape[1], device=y.device)  # (T, T)
        a1, self_weights = self.self_attention(y, mask=causal, return_attention=return_attention)
        y = self.norm1(y + self.dropout(a1))  # N1 (batch, T, width)
        a2, cross_weights = self.cross_attention(y, memory, mask=memory_mask, return_attention=return_attention)
        y = self.norm2(y + self.dropout(a2))  # N2 (batch, T, width)
        y = self.norm3(y + self.dropout(self.feed_forward(y)))  # N3 (batch, T, width)
        return y, self_weights, cross_weights


class Transformer(nn.Module):
    """Encoder, decoder and output layer over one shared embedding.

    >>> model = Transformer(TransformerConfig(vocabulary=10))
    >>> model(torch.ones(2, 7, dtype=torch.long), torch.ones(2, 3, dtype=torch.long)).shape
    torch.Size([2, 3, 10])
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.vocabulary, c.width)
        self.positions = SinusoidalPositions(c.length, c.width, scale=c.position_scale)
        self.encoder = nn.ModuleList(EncoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout) for _ in range(c.layers))
        self.decoder = nn.ModuleList(DecoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout) for _ in range(c.layers))
        self.out = nn.Linear(c.width, c.vocabulary)

    def _embed(self, symbols: Tensor) -> Tensor:
        if symbols.shape[1] > self.config.length:
            raise BadValue(
                "{count} symbols: this Transformer takes at most {most}", count=symbols.shape[1], most=self.config.length
            )
        embedded: Tensor = self.positions(self.embedding(symbols))  # (batch, n) -> (batch, n, width)
        return embedded

    def source_mask(self, source: Tensor) -> Tensor:
        """(batch, 1, 1, S): True where the source has a symbol and not padding."""
        return (source != self.config.padding)[:, None, None, :]  # (batch, S) -> (batch, 1, 1, S), for any head and query

    def encode(self, source: Tensor, *, return_attention: bool = False) -> tuple[Tensor, AttentionMaps]:
        """The memory H (batch, S, width) of a source (batch, S), and the maps "encoder 1" ... (batch, heads, S, S)."""
        x, mask = self._embed(source), self.source_mask(source)  # (batch, S, width), (batch, 1, 1, S)
        return after_layers(self.encoder, x, "encoder", mask=mask, return_attention=return_attention)

    def decode(
        self, target: Tensor, memory: Tensor, *, memory_mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor, AttentionMaps]:
        """Logits (batch, T, vocabulary) of the symbol after each of a target (batch, T).

        The maps are named "decoder 1" (causal self-attention, (batch, heads, T, T)) and "cross 1" ((batch, heads, T, S)) ...
        """
        maps: AttentionMaps = {}
        y = self._embed(target)  # (batch, T, width)
        for index, layer in enumerate(self.decoder, start=1):
            y, causal, cross = layer(y, memory, memory_mask=memory_mask, return_attention=return_attention)
            if causal is not None and cross is not None:
                maps |= {f"decoder {index}": causal, f"cross {index}": cross}
        logits: Tensor = self.out(y)  # (batch, T, width) -> (batch, T, vocabulary)
        return logits, maps

    def forward(self, source: Tensor, target: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits of the symbol after each target position, from the whole source and the target up to that position.

        Args:
            source: (batch, S) symbol numbers, padded with `padding`.
            target: (batch, T), the begin sign first.
            return_attention: also return every map by name; see `encode` and `decode`.

        Returns:
            (batch, T, vocabulary).

        Raises:
            ValueError: for a sequence longer than `length`.
        """
        memory, maps = self.encode(source, return_attention=return_attention)
        logits, more = self.decode(target, memory, memory_mask=self.source_mask(source), return_attention=return_attention)
        return (logits, maps | more) if return_attention else logits
