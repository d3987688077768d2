"""A decoder-only Transformer over characters, pre-norm, as in GPT-2 (Radford et al. 2019): encoder layers under a causal mask.

symbols (batch, n) -> E + positions -> layers (causal self-attention, feed-forward) -> LayerNorm -> W_out -> logits of the next
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, overload

import torch
from torch import Tensor, nn

from core.messages import BadValue
from core.models.config import SymbolsConfig
from core.nn import AttentionMaps, EncoderLayer, SinusoidalPositions, causal_mask


@dataclass(frozen=True, kw_only=True)
class DecoderOnlyConfig(SymbolsConfig):
    """Everything that shapes the network.

    Attributes:
        vocabulary: V, symbols. width: d_model. heads: a layer; must divide `width`. hidden: d_ff. layers: their number.
        length: longest sequence, in symbols.
        dropout: inside the feed-forward networks, and on what each sub-layer adds.
    """

    model: ClassVar[str] = "decoder-only"
    vocabulary: int
    width: int = 96
    heads: int = 4
    layers: int = 3
    hidden: int = 384
    length: int = 128
    dropout: float = 0.1

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """A sequence of `length` symbols."""
        return (torch.zeros(1, length, dtype=torch.long),)


class DecoderOnly(nn.Module):
    """The whole network.

    >>> model = DecoderOnly(DecoderOnlyConfig(vocabulary=10))
    >>> model(torch.ones(2, 7, dtype=torch.long)).shape
    torch.Size([2, 7, 10])
    """

    def __init__(self, config: DecoderOnlyConfig) -> None:
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.vocabulary, c.width)
        self.positions = SinusoidalPositions(c.length, c.width)
        self.layers = nn.ModuleList(
            EncoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout, pre_norm=True) for _ in range(c.layers)
        )
        self.norm = nn.LayerNorm(c.width)
        self.out = nn.Linear(c.width, c.vocabulary)

    @overload
    def forward(self, symbols: Tensor, *, return_attention: Literal[False] = ...) -> Tensor: ...

    @overload
    def forward(self, symbols: Tensor, *, return_attention: Literal[True]) -> tuple[Tensor, AttentionMaps]: ...

    def forward(self, symbols: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits (batch, n, vocabulary) of the symbol after each of `symbols` (batch, n), from those up to it alone.

        Args:
            return_attention: also return the weights "layer 1" ..., (batch, heads, n, n) each, 0 above the diagonal.

        Raises:
            ValueError: for a sequence longer than `length`.
        """
        if symbols.shape[1] > self.config.length:
            raise BadValue("{count} symbols: this model takes at most {most}", count=symbols.shape[1], most=self.config.length)
        x = self.positions(self.embedding(symbols))  # (batch, n) -> (batch, n, width)
        mask = causal_mask(symbols.shape[1], device=symbols.device)  # (n, n)
        maps: AttentionMaps = {}
        for number, layer in enumerate(self.layers, start=1):
            x, weights = layer(x, mask=mask, return_attention=return_attention)
            if weights is not None:
                maps[f"layer {number}"] = weights
        logits: Tensor = self.out(self.norm(x))  # (batch, n, width) -> (batch, n, vocabulary)
        return (logits, maps) if return_attention else logits
