"""Claims of the lesson on cost: about a `Setup`, a `Layer` and the documents' numbers."""

from __future__ import annotations

from collections.abc import Sequence

from core.lecture.claims import Said
from core.lecture.cost_count import Setup
from core.lecture.cost_growth import DocumentNumber, Layer
from core.messages import compose


def modules(setup: Setup) -> Said:
    """Effects of another T and another D on the model's attention."""
    said: Said = {}
    if setup.config.attends_to_channels:
        said["channels too"] = compose(
            "Half of its layers compare times and half features, and in these T and D change places: twice the D makes the "
            "projections of the first half four times as large, and the scores of the second."
        )
    else:
        said["tokens alone"] = compose(
            "In attention over T tokens twice the D makes the projections four times as large and the scores twice; twice the T "
            "makes the scores four times as large and the projections twice."
        )
    return said


def growth(layer: Layer) -> Said:
    """Shares of a layer's terms."""
    said: Said = {}
    scores, projections, feed = (100 * one / layer.macs for one in (layer.scores, layer.projections, layer.feed_forward))
    said["shares"] = compose(
        "With T = {t} and D = {d} the scores take {scores:.1f} %, the projections {projections:.1f} % and the feed-forward "
        "network {feed:.1f} % of the layer.",
        t=layer.tokens, d=layer.width, scores=scores, projections=projections, feed=feed,
    )  # fmt: skip
    return said


def documents(numbers: Sequence[DocumentNumber]) -> Said:
    """Agreement of the documents' numbers with counts, and IIGA's by their parts."""
    said: Said = {}
    agree = {one.code: abs(one.counted / one.document - 1) < 0.02 for one in numbers}
    giga = {one.code: one.counted / 1e9 for one in numbers}
    clip, layers = giga["iiga_cnn_one"], giga["iiga_layers_one"]
    said["agree"] = compose(
        "{count} of {all} comparisons agree to within 2 % (grey).", count=sum(agree.values()), all=len(numbers)
    )
    if agree["iiga_cnn_one"]:
        said["one clip"] = compose(
            "IIGA's 3.6 G are the convolutions of one such clip in MACs, {giga:.2f} G, although two clips and FLOPs are named.",
            giga=clip,
        )
    else:
        said["other clip"] = compose(
            "The convolutions of one such clip take {giga:.2f} G MACs; IIGA's document gives 3.6 G for 12 frames.", giga=clip
        )
    if layers > 0.8:
        said["layers more"] = compose(
            "The clip's attention layers take {giga:.2f} G MACs, more than the 0.8 G it gives.", giga=layers
        )
    else:
        said["layers less"] = compose(
            "The clip's attention layers take {giga:.2f} G MACs, at most the 0.8 G that it gives for 12 frames.", giga=layers
        )
    return said
