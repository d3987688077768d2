"""Claims of the lesson on cost: about a `Layer`."""

from __future__ import annotations

from core.lecture.claims import Said
from core.lecture.cost_growth import Layer
from core.messages import compose


def growth(layer: Layer) -> Said:
    """Shares of a layer's terms."""
    said: Said = {}
    scores, projections, feed = (100 * one / layer.macs for one in (layer.scores, layer.projections, layer.feed_forward))
    said["shares"] = compose(
        "With T = {t} and D = {d} the scores take {scores:.1f} %, the projections {projections:.1f} % and the feed-forward "
        "network {feed:.1f} % of the layer.",
        t=layer.tokens,
        d=layer.width,
        scores=scores,
        projections=projections,
        feed=feed,
    )
    return said
