"""Optimisers on a surface and on a recorded order book, schedules, clipping, and how weights start."""

from __future__ import annotations

from pages.learn import frame, optimisers_more, optimisers_walks
from pages.shared.language import _

PAGE = "optimisers"
SHOWN = {
    "surface": optimisers_walks.surface,
    "book": optimisers_walks.book,
    "schedules": optimisers_more.schedule,
    "clipping": optimisers_more.clipping,
    "init": optimisers_more.initial,
}

part = frame.open_page(
    PAGE,
    _("Optimisers and schedules"),
    parts={
        "surface": _("On a surface"),
        "book": _("On real data"),
        "schedules": _("Schedules"),
        "clipping": _("Clipping"),
        "init": _("How weights start"),
    },
)
values = SHOWN[part]()
frame.close_page(
    PAGE,
    sources=_(
        "vit-report sections 2.2, 2.3, 2.7, 2.8, 3.6 and 4 (listing 1); iiga-equations sections 13 and 16.2; Kingma and Ba 2015; "
        "Loshchilov and Hutter 2019; D12"
    ),
    values=values,
)
