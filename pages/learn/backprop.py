"""Backpropagation through every part of a Transformer layer: the written gradient, autograd's, and what lies between."""

from __future__ import annotations

from typing import cast

from core.lecture.backprop import Part
from pages.learn import backprop_parts, frame
from pages.shared.language import _

PAGE = "backprop"

part = cast(
    Part,
    frame.open_page(
        PAGE,
        _("Backpropagation"),
        parts={
            "softmax": "Softmax",
            "linear": _("Linear"),
            "layer_norm": "LayerNorm",
            "gelu": "GELU",
            "attention": _("Attention"),
            "multi_head": _("Heads"),
            "ffn": "FFN",
            "layer": _("Whole layer"),
        },
    ),
)
values = backprop_parts.show(part)
frame.close_page(
    PAGE,
    sources=_("vit-report sections 2.2 to 2.5 and 4 (listings 4 and 5); D14, D20"),
    values=values,
)
