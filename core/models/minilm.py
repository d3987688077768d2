"""MiniLM, a Transformer encoder over pieces of words in BERT's form: post-norm, learned positions.

Sources: Devlin et al. 2019; Wang et al. 2020.

ids (batch, n) -> LayerNorm(word + position + segment) -> layers (attention, feed-forward) -> vectors (batch, n, width)
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from core.messages import BadValue
from core.models.config import SymbolsConfig
from core.nn import AttentionMaps, EncoderLayer, after_layers


@dataclass(frozen=True, kw_only=True)
class MiniLMConfig(SymbolsConfig):
    """Everything that shapes the network; the defaults are all-MiniLM-L6-v2's.

    Attributes:
        vocabulary: V, pieces of words. width: D. heads: a layer. hidden: d_ff. layers: their number. length: longest sequence.
    """

    model: ClassVar[str] = "minilm"
    vocabulary: int = 30522
    width: int = 384
    heads: int = 12
    layers: int = 6
    hidden: int = 1536
    length: int = 512


class MiniLM(nn.Module):
    """The whole network, without a pooling: `core.words` averages the vectors.

    >>> model = MiniLM(MiniLMConfig(vocabulary=10, width=8, heads=2, hidden=16, layers=1, length=9))
    >>> model(torch.ones(2, 7, dtype=torch.long)).shape
    torch.Size([2, 7, 8])
    """

    def __init__(self, config: MiniLMConfig) -> None:
        super().__init__()
        c = self.config = config
        self.words = nn.Embedding(c.vocabulary, c.width)
        self.positions = nn.Embedding(c.length, c.width)
        self.segment = nn.Parameter(torch.zeros(c.width))
        self.norm = nn.LayerNorm(c.width, eps=1e-12)
        self.layers = nn.ModuleList(
            EncoderLayer(c.width, c.heads, c.hidden, activation="gelu", eps=1e-12) for _ in range(c.layers)
        )

    def embedded(self, ids: Tensor) -> Tensor:
        """Input of the first layer, (batch, n, width).

        Raises:
            BadValue: for a sequence longer than `length`.
        """
        n = ids.shape[1]
        if n > self.config.length:
            raise BadValue("{count} pieces of words: this model takes at most {most}", count=n, most=self.config.length)
        x: Tensor = self.norm(self.words(ids) + self.positions.weight[:n] + self.segment)
        return x

    def forward(self, ids: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Vectors (batch, n, width) of the pieces `ids` (batch, n), all of one sentence each.

        Args:
            return_attention: also return the weights "layer 1" ..., (batch, heads, n, n) each.

        Raises:
            BadValue: as `embedded`.
        """
        x, maps = after_layers(self.layers, self.embedded(ids), return_attention=return_attention)
        return (x, maps) if return_attention else x
