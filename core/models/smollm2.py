"""SmolLM2, a Transformer decoder that writes: pre-norm, rotary positions, grouped heads, SwiGLU, RMSNorm.

Sources: Allal et al. 2025, "SmolLM2"; Touvron et al. 2023, "LLaMA", whose form it has.

ids (batch, n) -> word -> layers (x + attention(RMSNorm(x)), x + SwiGLU(RMSNorm(x))) -> RMSNorm -> logits (batch, n, vocabulary)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.messages import BadValue
from core.models.config import SymbolsConfig
from core.nn import AttentionMaps, GroupedAttention, KeyValueCache, QuantisedLinear, SwiGLU, causal_mask, rotary_turns


@dataclass(frozen=True, kw_only=True)
class SmolLM2Config(SymbolsConfig):
    """Everything that shapes the network; the defaults are SmolLM2-135M's.

    Attributes:
        vocabulary: V, pieces of words. width: D. heads: a layer. key_heads: of keys and values, each shared by several heads.
        hidden: d_ff. layers: their number. length: longest sequence. base: of the rotary turns. eps: of the norms.
        quantised: whether weights are whole numbers with scales, as of a GGUF file (`core.nn.quantised`).
    """

    model: ClassVar[str] = "smollm2"
    vocabulary: int = 49152
    width: int = 576
    heads: int = 9
    key_heads: int = 3
    layers: int = 30
    hidden: int = 1536
    length: int = 8192
    base: float = 100_000.0
    eps: float = 1e-5
    quantised: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key_heads < 1 or self.heads % self.key_heads:
            raise BadValue("{heads} heads cannot share {key_heads} key heads evenly", heads=self.heads, key_heads=self.key_heads)

    def linear(self, inputs: int, outputs: int) -> nn.Module:
        """A linear layer without bias, as the weights are kept."""
        return QuantisedLinear(inputs, outputs) if self.quantised else nn.Linear(inputs, outputs, bias=False)


class GroupedDecoderLayer(nn.Module):
    """N = x + attention(RMSNorm(x)), N + SwiGLU(RMSNorm(N))."""

    def __init__(self, c: SmolLM2Config) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(c.width, eps=c.eps)
        self.attention = GroupedAttention(c.width, c.heads, c.key_heads, c.linear)
        self.norm2 = nn.RMSNorm(c.width, eps=c.eps)
        self.feed_forward = SwiGLU(c.width, c.hidden, c.linear)

    def forward(
        self,
        x: Tensor,
        turns: Tensor,
        *,
        mask: Tensor | None,
        kept: Tensor | None,
        cache: KeyValueCache | None,
        return_attention: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """(batch, n, width) -> the same shape, and the weights (batch, heads, n, keys) where asked for."""
        attended, weights = self.attention(
            self.norm1(x), turns, mask=mask, kept=kept, cache=cache, return_attention=return_attention
        )
        x = x + attended
        return x + self.feed_forward(self.norm2(x)), weights


class SmolLM2(nn.Module):
    """The whole network; its table of words is also its last layer.

    >>> model = SmolLM2(SmolLM2Config(vocabulary=10, width=8, heads=2, key_heads=1, hidden=16, layers=1, length=9))
    >>> model(torch.ones(2, 7, dtype=torch.long)).shape
    torch.Size([2, 7, 10])
    """

    def __init__(self, config: SmolLM2Config) -> None:
        super().__init__()
        c = self.config = config
        self.words = c.linear(c.width, c.vocabulary)
        self.layers = nn.ModuleList(GroupedDecoderLayer(c) for _ in range(c.layers))
        self.norm = nn.RMSNorm(c.width, eps=c.eps)

    def embedded(self, ids: Tensor) -> Tensor:
        """Input of the first layer, (batch, n, width)."""
        if isinstance(self.words, QuantisedLinear):
            return self.words.rows(ids)
        assert isinstance(self.words, nn.Linear)
        return F.embedding(ids, self.words.weight)

    def through(
        self,
        x: Tensor,
        *,
        layers: range | None = None,
        kept: Tensor | None = None,
        cache: Sequence[KeyValueCache] | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, AttentionMaps]:
        """The vectors x (batch, n, width) after some layers, all where none are named, and the maps where asked for.

        Args:
            kept: factor of each head's output, (batch or 1, layers, heads); all 1 where None.
            cache: one a layer, of the positions before these.

        Raises:
            BadValue: for a sequence longer than `length`.
        """
        c = self.config
        past = 0 if not cache or cache[0].keys is None else cache[0].keys.shape[2]
        total = past + x.shape[1]
        if total > c.length:
            raise BadValue("{count} pieces of words: this model takes at most {most}", count=total, most=c.length)
        turns = rotary_turns(torch.arange(past, total, device=x.device), c.width // c.heads, base=c.base)
        mask = causal_mask(total, device=x.device)[past:] if x.shape[1] > 1 else None  # the last position sees all
        maps: AttentionMaps = {}
        for i in range(c.layers) if layers is None else layers:
            x, weights = self.layers[i](
                x,
                turns,
                mask=mask,
                kept=None if kept is None else kept[:, i],
                cache=None if cache is None else cache[i],
                return_attention=return_attention,
            )
            if weights is not None:
                maps[f"layer {i + 1}"] = weights
        return x, maps

    def logits(self, x: Tensor) -> Tensor:
        """(..., width) after the last layer -> (..., vocabulary)."""
        scores: Tensor = self.words(self.norm(x))
        return scores

    def forward(self, ids: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits (batch, n, vocabulary) of the piece after each of `ids` (batch, n).

        Args:
            return_attention: also return the weights "layer 1" ..., (batch, heads, n, n) each.

        Raises:
            BadValue: as `through`.
        """
        x, maps = self.through(self.embedded(ids), return_attention=return_attention)
        return (self.logits(x), maps) if return_attention else self.logits(x)
