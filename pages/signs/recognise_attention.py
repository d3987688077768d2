"""Intra-gloss and inter-gloss attention of a clip, on two pages: all maps, one of them large, and one frame's row of it."""

from __future__ import annotations

from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from core.explain import summaries
from core.figures import signs as figures
from core.figures.attention import NamedMap
from core.signs.gloss_measures import ROLLOUT
from core.signs.recognition import Recognition
from pages.shared import map_explorer, url_state
from pages.shared.language import _, number, percent, prose, significant
from pages.shared.live_plot import live_plot
from pages.shared.map_explorer import Choice, Keys, Query
from pages.signs import cached_results
from pages.signs.cached_results import Clip

KEYS: Final = Keys(layer="slayer", scale="sscale", head="shead", grid="signs_maps", plot="signs")
ROW_THUMBS: Final = 10


def titles(recognition: Recognition) -> dict[str, str]:
    """Titles of the maps on the page, by its name (D16)."""
    kinds = {"intra": _("Intra-gloss {number}"), "inter": _("Inter-gloss {number}")}
    return {name: kinds[name.split(" ")[0]].format(number=name.split(" ")[1]) for name in recognition.attention}


def show(clip: Clip, recognition: Recognition, *, rolled: Any = None) -> NamedMap:
    """The part of a page.

    Args:
        rolled: (T', T') rollout through all attentions, shown as one more map where given.

    Returns:
        The map that is enlarged.
    """
    st.markdown(prose("recognise_attention"))
    names = titles(recognition) | ({ROLLOUT: _("Rolled out")} if rolled is not None else {})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = map_explorer.pick(KEYS, names, heads=len(next(iter(recognition.attention.values()))))
    axis = figures.clip_axis(recognition.seconds)
    weights = recognition.attention | ({ROLLOUT: rolled[None]} if rolled is not None else {})
    maps = map_explorer.named(weights, names, choice, lambda _name, _count: axis)
    layers = maps[: len(recognition.attention)]
    groups = [layers[0::2], layers[1::2]]  # intra on the left, inter on the right
    map_explorer.grid(groups + [maps[len(layers) :]] * (rolled is not None), keys=KEYS, choice=choice)
    shown = map_explorer.chosen(maps, choice)
    _enlarged(shown, maps, choice, clip, recognition)
    return shown


def _enlarged(one: NamedMap, maps: list[NamedMap], choice: Choice, clip: Clip, recognition: Recognition) -> None:
    last = len(recognition.seconds)

    def pick() -> int:
        return min(url_state.slider(_("Frame that looks"), 1, last, key="frame", default=1), last) - 1 if last > 1 else 0

    def take(index: int) -> None:
        st.session_state["frame"] = index + 1

    def drawn(query: int) -> go.Figure:
        strip = cached_results.strip(clip, figures.MAP_THUMBS)
        return figures.map_figure(one, of=maps, scale=choice.scale, query=query, strip=strip, keep=one.name, write=significant)

    def beside(query: int) -> None:
        strongest = summaries.strongest(one.weights[query], min(4, last))
        keys = ", ".join(
            _("{second} s: `{label}` ({share})").format(
                second=number(float(recognition.seconds[index]), 2), label=recognition.path[index], share=percent(weight)
            )
            for index, weight in strongest
        )
        st.markdown(
            _("The frame at {second} s, read as `{label}`, looks most at {keys}.").format(
                second=number(float(recognition.seconds[query]), 2), label=recognition.path[query], keys=keys
            )
        )
        live_plot(
            figures.row_figure(one, query=query, strip=cached_results.strip(clip, ROW_THUMBS), keep=one.name),
            key="signs_row",
            height=400,
            filename="attention-row",
            alt=_("What the chosen frame looks at, a bar for each frame."),
        )

    query = Query(pick=pick, take=take)
    map_explorer.enlarged(one, of=maps, keys=KEYS, choice=choice, query=query, beside=beside, drawn=drawn)
