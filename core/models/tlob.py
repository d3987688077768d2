"""TLOB: attention over time and over features, alternating (tlob-architecture sections 2 to 6; Berti and Kasneci 2025).

    book (batch, 128, 40) -> BiN -> Linear -> + positions -> pairs x [time-to-time, feature-to-feature] -> pool -> MLP

The document calls the two layers of a pair spatial and temporal; here a layer is named by what its map relates (D1).
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from core.messages import BadValue
from core.models import classes
from core.models.config import AttentionConfig, need_one
from core.nn import AttentionMaps, BiN, FeedForward, LearnedPositions, MultiHeadAttention, SinusoidalPositions

CLASSES = classes.BOOK
"""Class order of every output (D3)."""


@dataclass(frozen=True, kw_only=True)
class TLOBConfig(AttentionConfig):
    """Everything that shapes the network.

    Attributes:
        steps: timesteps in a window (T).
        features: input columns a timestep: the book's, and what else a transform adds.
        directed: how many of the last of them are signed and of no side, such as a drift of the mid.
        width: channels after the embedding.
        heads: attention heads; each is as wide as the layer, as in the document's listing.
        pairs: how many times a time-to-time layer and a feature-to-feature layer follow each other (1 to 12).
        positions: "learned" or "sinusoidal".
        qkv: "double" is the document's listing, "single" the lean layer of its parameter table (D4).
        pooling: over timesteps: "mean" is the document's (D6), "last" the newest step, "learned" a trained weighting.
        outputs: classifier heads on the shared layers, for example one per horizon.
        dropout: inside the MLPs.
        mirrored: average the logits of two passes: over the book, and over the same book with its sides swapped (`upside_down`),
            whose UP is this book's DOWN. Such a model prefers no direction, whatever its weights. Training makes one pass.
    """

    model: ClassVar[str] = "tlob"
    steps: int = 128
    features: int = 40
    directed: int = 0
    width: int = 40
    heads: int = 1
    pairs: int = 4
    positions: Literal["learned", "sinusoidal"] = "learned"
    qkv: Literal["double", "single"] = "double"
    pooling: Literal["mean", "last", "learned"] = "mean"
    outputs: int = 1
    dropout: float = 0.1
    mirrored: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.pairs <= 12:
            raise BadValue("{pairs} pairs of layers: TLOB takes 1 to 12", pairs=self.pairs)
        need_one(self, "steps", "features", "width", "heads", "outputs")
        if not 0 <= self.directed <= self.features:
            raise BadValue(
                "{directed} of {features} features are directed: 0 to all are", directed=self.directed, features=self.features
            )
        if self.mirrored and (self.features - self.directed) % 4:
            raise BadValue(
                "{features} features cannot be turned upside down: a level has 4, price and size of either side",
                features=self.features - self.directed,
            )

    @property
    def sequence_length(self) -> int:
        """T of the time-to-time layers."""
        return self.steps

    @property
    def width_step(self) -> int:
        """Any width: each head is as wide as the layer."""
        return 1

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """One window."""
        return (torch.zeros(1, self.steps, self.features),)


BTC = TLOBConfig()
"""The document's BTC configuration: 128 steps, width 40, one head."""
FI2010 = TLOBConfig(steps=100, width=144, heads=8)
"""The document's FI-2010 configuration."""


def upside_down(x: Tensor, directed: int = 0) -> Tensor:
    """The same market mirrored: sides swapped, prices and directed columns negated. UP becomes DOWN.

    It holds for inputs whose prices are signed distances from the mid or moves of it; for raw prices it has no meaning.

    Args:
        x: (..., features), columns ASK_P1, ASK_V1, BID_P1, BID_V1, ASK_P2, ..., then `directed` signed columns of no side.
    """
    levels, signed = x.split([x.shape[-1] - directed, directed], dim=-1)
    ask_price, ask_size, bid_price, bid_size = levels.unflatten(-1, (-1, 4)).unbind(-1)  # each (..., levels)
    mirrored = torch.stack([-bid_price, bid_size, -ask_price, ask_size], dim=-1).flatten(-2)  # -> (..., features - directed)
    return torch.cat([mirrored, -signed], dim=-1)  # -> (..., features)


class TLOBLayer(nn.Module):
    """x -> MLP(LayerNorm(x + attention(x))) + x, attention over the second axis (section 5.1).

    The second residual adds the layer's input and not the normed sum, as in the document's listing.
    """

    def __init__(self, size: int, heads: int, *, qkv: Literal["double", "single"], dropout: float) -> None:
        super().__init__()
        inner = size * heads
        self.qkv: nn.ModuleDict | None = None
        if qkv == "double":
            self.qkv = nn.ModuleDict({name: nn.Linear(size, inner) for name in ("q", "k", "v")})
            self.attention = MultiHeadAttention(inner, heads)
            self.w0: nn.Module = nn.Linear(inner, size)
        else:
            self.attention = MultiHeadAttention(size, heads, inner=inner)
            self.w0 = nn.Identity()
        self.norm = nn.LayerNorm(size)
        self.mlp = FeedForward(size, 4 * size, dropout=dropout)

    def forward(self, x: Tensor, *, return_attention: bool = False) -> tuple[Tensor, Tensor | None]:
        """(batch, n, size) -> the same shape, and the weights (batch, heads, n, n) where asked for."""
        qkv = (x, x, x) if self.qkv is None else tuple(self.qkv[name](x) for name in ("q", "k", "v"))
        y, weights = self.attention(*qkv, return_attention=return_attention)
        return x + self.mlp(self.norm(x + self.w0(y))), weights


class TLOB(nn.Module):
    """The whole network.

    >>> model = TLOB(BTC)
    >>> model(torch.zeros(2, 128, 40)).shape
    torch.Size([2, 3])
    """

    def __init__(self, config: TLOBConfig = BTC) -> None:
        super().__init__()
        c = self.config = config
        self.bin_norm = BiN(c.features)
        self.embedding = nn.Linear(c.features, c.width)
        self.positions = (LearnedPositions if c.positions == "learned" else SinusoidalPositions)(c.steps, c.width)
        self.layers = nn.ModuleList(
            TLOBLayer(size, c.heads, qkv=c.qkv, dropout=c.dropout) for _ in range(c.pairs) for size in (c.width, c.steps)
        )
        if c.pooling == "learned":
            self.pool_logits = nn.Parameter(torch.zeros(c.steps))
        self.classifiers = nn.ModuleList(FeedForward(c.width, 128, len(CLASSES), dropout=c.dropout) for _ in range(c.outputs))

    @property
    def layer_names(self) -> list[str]:
        """One name per layer, in order: "time-to-time 1", "feature-to-feature 1", "time-to-time 2", ..."""
        kinds = ("time-to-time", "feature-to-feature")
        return [f"{kind} {pair}" for pair in range(1, self.config.pairs + 1) for kind in kinds]

    def pool(self, x: Tensor) -> Tensor:
        """(batch, steps, width) -> (batch, width) (D6)."""
        if self.config.pooling == "mean":
            return x.mean(dim=1)
        if self.config.pooling == "last":
            return x[:, -1]
        return torch.einsum("btc,t->bc", x, self.pool_logits.softmax(dim=0))

    def forward(self, x: Tensor, *, return_attention: bool = False) -> Tensor | tuple[Tensor, AttentionMaps]:
        """Logits for DOWN, STATIONARY, UP.

        Args:
            x: (batch, steps, features), oldest step first, columns as in `upside_down`.
            return_attention: also return each layer's weights, by name: (batch, heads, steps, steps) for
                time-to-time, (batch, heads, width, width) for feature-to-feature, whose axes are learned channels (D2).
                For a mirrored model they are the weights of the pass over the book as it is.

        Returns:
            (batch, 3), or (batch, outputs, 3) where the configuration has several outputs.

        Raises:
            ValueError: for a window of another shape.
        """
        if x.shape[1:] != (self.config.steps, self.config.features):
            raise BadValue(
                "{name} takes windows of {steps} steps x {features} features, not {found}",
                name="TLOB",
                steps=self.config.steps,
                features=self.config.features,
                found=tuple(x.shape[1:]),
            )
        mirrored = self.config.mirrored and not self.training
        if mirrored and not (return_attention and torch.is_grad_enabled()):  # both passes as one batch: half the cost of two
            both, maps = self._once(torch.cat([x, upside_down(x, self.config.directed)]), return_attention=return_attention)
            logits, maps = (both[: len(x)] + both[len(x) :].flip(-1)) / 2, {name: one[: len(x)] for name, one in maps.items()}
        else:
            logits, maps = self._once(x, return_attention=return_attention)
            if mirrored:  # a pass of its own, so that gradients of the logits can be taken at the first pass's maps
                other, _ = self._once(upside_down(x, self.config.directed), return_attention=False)
                logits = (logits + other.flip(-1)) / 2
        logits = logits[:, 0] if self.config.outputs == 1 else logits  # (batch, 1, 3) -> (batch, 3)
        return (logits, maps) if return_attention else logits

    def _once(self, x: Tensor, *, return_attention: bool) -> tuple[Tensor, AttentionMaps]:
        """Logits (batch, outputs, 3) of one pass, and the weights where asked for."""
        maps: AttentionMaps = {}
        x = self.bin_norm(x.transpose(1, 2)).transpose(1, 2)  # over (batch, features, steps), back to (batch, steps, features)
        x = self.positions(self.embedding(x))  # (batch, steps, features) -> (batch, steps, width)
        for index, (name, layer) in enumerate(zip(self.layer_names, self.layers, strict=True)):
            over_features = index % 2 == 1
            x = x.transpose(1, 2) if over_features else x  # (batch, steps, width) -> (batch, width, steps)
            x, weights = layer(x, return_attention=return_attention)
            x = x.transpose(1, 2) if over_features else x  # (batch, width, steps) -> (batch, steps, width)
            if weights is not None:
                maps[name] = weights
        pooled = self.pool(x)  # (batch, steps, width) -> (batch, width)
        return torch.stack([classifier(pooled) for classifier in self.classifiers], dim=1), maps  # (batch, outputs, 3)
