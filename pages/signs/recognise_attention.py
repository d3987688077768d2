"""Intra-gloss and inter-gloss attention of a clip, on two pages: all maps, one of them large, and one frame's row of it."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from core.explain import summaries
from core.explain.rollout import fuse_heads
from core.figures import attention as maps_figures
from core.figures import signs as figures
from core.figures.attention import NamedMap
from core.signs.looks import ROLLOUT
from core.signs.reading import Reading
from pages.shared import url_state
from pages.shared.language import _, number, percent, prose, significant
from pages.shared.live_plot import Point, live_plot
from pages.signs import recognise_answers as answers
from pages.signs.recognise_answers import Clip

MEAN: Final = "mean"
ROW_THUMBS: Final = 10


def titles(found: Reading) -> dict[str, str]:
    """What each map is called on the page, by its name (D16)."""
    kinds = {"intra": _("Intra-gloss {number}"), "inter": _("Inter-gloss {number}")}
    return {name: kinds[name.split(" ")[0]].format(number=name.split(" ")[1]) for name in found.attention}


def show(clip: Clip, found: Reading, *, rolled: Any = None) -> NamedMap:
    """The part of a page.

    Args:
        rolled: (T', T') rollout through all attentions, shown as one more map where given.

    Returns:
        The map that is enlarged.
    """
    st.markdown(prose("recognise_attention"))
    names = titles(found) | ({ROLLOUT: _("Rolled out")} if rolled is not None else {})
    heads = len(next(iter(found.attention.values())))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = url_state.choice(st.selectbox, _("Map to enlarge (or click one)"), names, key="slayer", width=280)
        options = {MEAN: _("Mean")} | {str(head): number(head + 1) for head in range(heads)}
        head = url_state.choice(st.selectbox, _("Attention head"), options, key="shead", width=140)
    axis = figures.clip_axis(found.seconds, _=_)
    maps = [
        NamedMap(
            name=name,
            title=names[name],
            weights=fuse_heads(weights) if head == MEAN else weights[int(head)],
            axis=axis,
        )
        for name, weights in found.attention.items()
    ]

    def enlarge(point: Point) -> None:
        if point.trace in names:
            st.session_state["slayer"] = point.trace

    groups = [maps[0::2], maps[1::2]]  # intra on the left, inter on the right
    if rolled is not None:
        groups.append([NamedMap(name=ROLLOUT, title=names[ROLLOUT], weights=rolled, axis=axis)])
    width = [2 if len(group) > 1 else 1 for group in groups]
    for place, (cell, group) in enumerate(zip(st.columns(width), groups, strict=True)):
        with cell:
            live_plot(
                maps_figures.map_grid(
                    group, columns=min(2, len(group)), selected=layer, keep=f"signs{place}", write=significant, _=_
                ),
                key=f"signs_maps_{place + 1}",
                height=60 + (240 if rolled is None else 195) * (-(-len(group) // 2)),
                on_click=enlarge,
                filename=f"attention-{group[0].name.split(' ')[0]}",
                alt=_("Attention maps {names}; a click enlarges one.").format(names=", ".join(one.title for one in group)),
            )
    shown = next(one for group in groups for one in group if one.name == layer)
    _enlarged(shown, clip, found)
    return shown


def _enlarged(one: NamedMap, clip: Clip, found: Reading) -> None:
    last = len(found.seconds)
    left, right = st.columns(2)
    with right:
        query = min(url_state.slider(_("Frame that looks"), 1, last, key="frame", default=1), last) - 1 if last > 1 else 0
        row = one.weights[query]
        keys = ", ".join(
            _("{second} s: `{label}` ({share})").format(
                second=number(float(found.seconds[index]), 2), label=found.path[index], share=percent(weight)
            )
            for index, weight in summaries.strongest(row, min(4, last))
        )
        st.markdown(
            _("The frame at {second} s, read as `{label}`, looks most at {keys}.").format(
                second=number(float(found.seconds[query]), 2), label=found.path[query], keys=keys
            )
        )
        live_plot(
            figures.row_figure(one, query=query, strip=answers.strip(clip, ROW_THUMBS), keep=one.name, _=_),
            key="signs_row",
            height=400,
            filename="attention-row",
            alt=_("What the chosen frame looks at, a bar for each frame."),
        )

    def read_row(point: Point) -> None:
        if point.y is not None:
            st.session_state["frame"] = one.axis.nearest(float(point.y)) + 1

    with left:
        live_plot(
            figures.map_figure(
                one, query=query, strip=answers.strip(clip, figures.MAP_THUMBS), keep=one.name, write=significant, _=_
            ),
            key="signs_map",
            height=560,
            on_click=read_row,
            filename=f"attention-{one.name}".replace(" ", "-"),
            alt=_("{map}: rows are frames that look, columns the frames they look at; a click reads a row.").format(
                map=one.title
            ),
        )
