"""Cost of one attention layer by closed formulas: multiply-adds and attention weights, and where its terms are equal.

`core.lecture.cost_count` counts whole models as PyTorch does. A MAC is one multiplication and one addition of a matrix product or
a convolution; PyTorch's counter calls it two FLOPs.
Sources: iiga-equations section 14, tlob-architecture sections 6.1 to 6.3 (D4, D7).
"""

from dataclasses import dataclass
from typing import Final

from core.models.tlob import TLOBConfig

BYTES: Final = 4
"""Of a float32."""


def projection_macs(queries: int, keys: int, width: int) -> int:
    """Q, K, V and O; 4 T D^2 for self-attention (iiga-equations 14.1)."""
    return 2 * (queries + keys) * width**2


def score_macs(queries: int, keys: int, width: int) -> int:
    """Q K^T and A V; 2 T^2 D for self-attention, whatever the number of heads (iiga-equations 14.1)."""
    return 2 * queries * keys * width


def map_numbers(queries: int, keys: int, heads: int) -> int:
    """N T^2 attention weights (iiga-equations 14.1)."""
    return heads * queries * keys


def feed_forward_parameters(width: int, hidden: int) -> int:
    """2 D D_ff + D_ff + D (iiga-equations 8.1)."""
    return 2 * width * hidden + hidden + width


def feed_forward_macs(tokens: int, width: int, hidden: int) -> int:
    """2 T D D_ff, which is 8 T D^2 where D_ff = 4 D (iiga-equations 14.2)."""
    return 2 * tokens * width * hidden


def crossing_attention(width: int) -> int:
    """The T from which scores cost more than projections: 2 T^2 D = 4 T D^2 at T = 2 D."""
    return 2 * width


def crossing_layer(width: int) -> int:
    """The T from which scores cost more than the rest of a layer: 2 T^2 D = 12 T D^2 at T = 6 D."""
    return 6 * width


def crossing_memory(width: int, heads: int) -> float:
    """The T from which attention's maps are larger than the feed-forward middle: N T^2 = 4 T D at T = 4 D / N."""
    return 4 * width / heads


def tlob_score_product(c: TLOBConfig, batch: int) -> int:
    """MACs of Q K^T alone over all layers, for a batch: the "109 M FLOPs" of tlob-architecture section 6.3 (D7)."""
    return batch * c.pairs * (c.steps**2 * c.width + c.width**2 * c.steps)


def iiga_orders(frames: int, side: int, width: int, attentions: int, batch: int) -> dict[str, int]:
    """Section 14.3's two orders of growth, read as counts: B T H W C, and L (T^2 D + T D^2)."""
    return {"cnn": batch * frames * side**2 * 3, "transformer": attentions * (frames**2 * width + frames * width**2)}


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One encoder layer of T tokens, width D, N heads and a feed-forward middle of 4 D.

    Attributes:
        projections, scores, feed_forward: MACs. maps, middle: bytes of N T^2 weights and of T * 4 D numbers, float32.
    """

    tokens: int
    width: int
    heads: int
    projections: int
    scores: int
    feed_forward: int
    maps: int
    middle: int

    @property
    def macs(self) -> int:
        """The sum of the three."""
        return self.projections + self.scores + self.feed_forward


def layer(tokens: int, width: int, heads: int) -> Layer:
    """The layer's terms."""
    return Layer(
        tokens=tokens,
        width=width,
        heads=heads,
        projections=projection_macs(tokens, tokens, width),
        scores=score_macs(tokens, tokens, width),
        feed_forward=feed_forward_macs(tokens, width, 4 * width),
        maps=BYTES * map_numbers(tokens, tokens, heads),
        middle=BYTES * tokens * 4 * width,
    )
