"""Normalisation, activations and dropout, one batch and one number at a time; and what a deep stack makes of the norm's place."""

from __future__ import annotations

from pages.learn import frame, norms_parts
from pages.shared.language import _

PAGE = "norms"
SHOWN = {
    "norms": norms_parts.normalisation,
    "activations": norms_parts.activation,
    "softmax": norms_parts.softmax,
    "dropout": norms_parts.dropout,
    "depth": norms_parts.depth,
}

part = frame.open_page(
    PAGE,
    _("Norms, activations, dropout"),
    parts={
        "norms": _("Normalisation"),
        "activations": _("Activations"),
        "softmax": _("Stable softmax"),
        "dropout": _("Dropout"),
        "depth": _("Post-norm, pre-norm"),
    },
)
values = SHOWN[part]()
frame.close_page(
    PAGE,
    sources=_(
        "vit-report sections 2.3, 2.4, 3.3 to 3.5; iiga-equations sections 3.2, 6, 7, 8.2, 9.1 and 16; tlob-architecture "
        "section 2.2; Xiong et al. 2020; D5, D15, D22"
    ),
    values=values,
)
