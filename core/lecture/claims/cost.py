"""Claims of the lesson on cost: about a `Setup`, a `Layer` and the documents' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.lecture.claims import Claim
from core.lecture.cost_count import Setup
from core.lecture.cost_growth import DocumentNumber, Layer
from core.messages import compose

Documents = Sequence[DocumentNumber]


def _number(numbers: Documents, code: str) -> DocumentNumber:
    return next(one for one in numbers if one.code == code)


def _giga(numbers: Documents, code: str) -> float:
    return _number(numbers, code).counted / 1e9


def _agree(one: DocumentNumber) -> bool:
    return abs(one.counted / one.document - 1) < 0.02


MODULES: Final = (
    Claim[Setup](
        "tokens alone",
        lambda setup: not setup.config.attends_to_channels,
        lambda _setup: compose(
            "In attention over T tokens twice the D makes the projections four times as large and the scores twice; twice the T "
            "makes the scores four times as large and the projections twice."
        ),
    ),
    Claim[Setup](
        "channels too",
        lambda setup: setup.config.attends_to_channels,
        lambda _setup: compose(
            "Half of its layers compare times and half features, and in these T and D change places: what one half's projections "
            "gain from a larger D, the other half's scores do."
        ),
    ),
)
GROWTH: Final = (
    Claim[Layer](
        "shares",
        lambda _layer: True,
        lambda layer: compose(
            "With T = {t} and D = {d} the scores take {scores:.1f} %, the projections {projections:.1f} % and the feed-forward "
            "network {feed:.1f} % of the layer.",
            t=layer.tokens, d=layer.width, scores=100 * layer.scores / layer.macs,
            projections=100 * layer.projections / layer.macs, feed=100 * layer.feed_forward / layer.macs,
        ),
    ),
)  # fmt: skip
DOCUMENTS: Final = (
    Claim[Documents](
        "agree",
        lambda _numbers: True,
        lambda numbers: compose(
            "{count} of {all} comparisons agree to within 2 % (grey).", count=sum(map(_agree, numbers)), all=len(numbers)
        ),
    ),
    Claim[Documents](
        "one clip",
        lambda numbers: _agree(_number(numbers, "iiga_cnn_one")),
        lambda numbers: compose(
            "IIGA's 3.6 G are the convolutions of one such clip in MACs, {giga:.2f} G, although two clips and FLOPs are named.",
            giga=_giga(numbers, "iiga_cnn_one"),
        ),
    ),
    Claim[Documents](
        "other clip",
        lambda numbers: not _agree(_number(numbers, "iiga_cnn_one")),
        lambda numbers: compose(
            "The convolutions of one such clip take {giga:.2f} G MACs; IIGA's document gives 3.6 G for 12 frames.",
            giga=_giga(numbers, "iiga_cnn_one"),
        ),
    ),
    Claim[Documents](
        "layers more",
        lambda numbers: _giga(numbers, "iiga_layers_one") > 0.8,
        lambda numbers: compose(
            "The clip's attention layers take {giga:.2f} G MACs, more than the 0.8 G it gives.",
            giga=_giga(numbers, "iiga_layers_one"),
        ),
    ),
    Claim[Documents](
        "layers less",
        lambda numbers: _giga(numbers, "iiga_layers_one") <= 0.8,
        lambda numbers: compose(
            "The clip's attention layers take {giga:.2f} G MACs, at most the 0.8 G that it gives for 12 frames.",
            giga=_giga(numbers, "iiga_layers_one"),
        ),
    ),
)  # fmt: skip
