"""What the models cost: parameters, multiply-adds and memory by formula, by count, and in time on this machine."""

from __future__ import annotations

from pages.learn import cost_parts, frame
from pages.shared.language import _

PAGE = "cost"
SHOWN = {
    "models": cost_parts.models,
    "modules": cost_parts.modules,
    "growth": cost_parts.growth,
    "memory": cost_parts.memory,
    "claims": cost_parts.claims,
}

part = frame.open_page(
    PAGE,
    _("Cost"),
    parts={
        "models": _("All models"),
        "modules": _("Module by module"),
        "growth": _("T²D and TD²"),
        "memory": _("Memory"),
        "claims": _("The documents' numbers"),
    },
)
values = SHOWN[part]()
frame.look_for(frame.passage(PAGE, part))
frame.close_page(
    PAGE,
    sources=_(
        "iiga-equations sections 1 and 14; tlob-architecture sections 6.1 to 6.3; vit-report section 1; "
        "Sandler et al. 2018; D4, D7, D16"
    ),
    values=values,
)
