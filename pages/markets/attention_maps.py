"""The maps: all of them at a glance, one of them large with a row to read, and what they come to in a number or two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pandas as pd
import streamlit as st

from core.explain import summaries
from core.explain.rollout import fuse_heads
from core.figures import attention as figures
from core.figures.attention import MapAxis, NamedMap, ScaleKind
from core.market.book import STEP_MS
from core.market.frozen import FrozenWindow
from pages.markets.attention_answers import FEATURE, ROLLOUT, TIME, Reading
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import Point, live_plot

MEAN = "mean"


def show(window: FrozenWindow, reading: Reading, other: Reading | None) -> None:
    """The view of one window, and where another is pinned, of what differs.

    Args:
        other: the pinned window, read.
    """
    names = titles(reading)
    layer, scale, head, difference = _pick(reading, other, names)
    maps = _maps(window, reading, head)
    against = _maps(window, other, head) if other else None
    drawn = (
        [replace(a, weights=a.weights - b.weights) for a, b in zip(maps, against, strict=True)]
        if against and difference
        else maps
    )
    _grid(drawn, layer=layer, scale=scale, difference=drawn is not maps)
    chosen = next(i for i, one in enumerate(maps) if one.name == layer)
    _enlarged(drawn, maps[chosen], against[chosen] if against else None, window, scale=scale, difference=drawn is not maps)
    _in_numbers(reading, other)


def titles(reading: Reading) -> dict[str, str]:
    """What each map is called on the page, by its name."""
    kinds = {TIME: _("Time-to-time {number}"), FEATURE: _("Feature-to-feature {number}")}
    rolled = {TIME: _("Time, rolled out"), FEATURE: _("Features, rolled out")}
    found = {}
    for name in reading.maps:
        kind = TIME if TIME in name else FEATURE
        found[name] = rolled[kind] if name.startswith(ROLLOUT) else kinds[kind].format(number=name.split(" ")[-1])
    return found


def _maps(window: FrozenWindow, reading: Reading, head: str) -> list[NamedMap]:
    names = titles(reading)
    time = figures.time_axis(window.seconds, _=_)
    found = []
    for name, weights in reading.maps.items():
        one = fuse_heads(weights) if head == MEAN or len(weights) == 1 else weights[int(head)]
        axis = time if TIME in name else figures.channel_axis(len(one), _=_)
        found.append(NamedMap(name=name, title=names[name], weights=one, axis=axis))
    return found


def _pick(reading: Reading, other: Reading | None, names: dict[str, str]) -> tuple[str, ScaleKind, str, bool]:
    scales = {"own": _("Each its own"), "shared": _("One for each kind"), "log": _("Logarithmic")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = url_state.choice(st.selectbox, _("Map to enlarge (or click one)"), names, key="layer", width=320)
        scale = url_state.choice(
            st.segmented_control,
            _("Colour scale"),
            scales,
            key="scale",
            required=True,
            help=_(
                "Its own: each map from 0 to its largest weight. One for each kind: to the largest of all maps of that kind, so "
                "that they can be compared. Logarithmic: the largest weight and two decades below it."
            ),
        )
        count = reading.predictor.config.heads
        head = MEAN
        if count > 1:
            options = {MEAN: _("Mean")} | {str(i): number(i + 1) for i in range(count)}
            head = url_state.choice(st.selectbox, _("Attention head"), options, key="ahead", width=140)
        difference = other is not None and st.toggle(
            _("Show the difference from the pinned window"), value=True, key="diff", bind="query-params"
        )
    return layer, cast(ScaleKind, scale), head, difference


def _grid(maps: list[NamedMap], *, layer: str, scale: ScaleKind, difference: bool) -> None:
    """A figure a pair, so that a narrow screen stacks them; the rollouts come last."""

    def enlarge(point: Point) -> None:
        if point.trace in {one.name for one in maps}:
            st.session_state["layer"] = point.trace

    pairs = [maps[i : i + 2] for i in range(0, len(maps), 2)]
    cells = [cell for _row in range(0, len(pairs) + 1, 2) for cell in st.columns(2)]  # a row at a time, which a phone stacks
    for index, (cell, pair) in enumerate(zip(cells, pairs, strict=False)):
        with cell:
            figure = figures.map_grid(
                pair, of=maps, scale=scale, difference=difference, selected=layer, keep=f"pair{index}", write=significant, _=_
            )
            live_plot(
                figure,
                key=f"attention_pair_{index + 1}",
                height=285,
                on_click=enlarge,
                filename=f"attention-pair-{index + 1}",
                alt=_("Attention maps {first} and {second}; a click enlarges one.").format(
                    first=pair[0].title, second=pair[-1].title
                ),
            )
    with cells[len(pairs)]:
        st.caption(
            _(
                "Rolled out: the maps of one kind multiplied from the first layer to the last, half of each being the residual "
                "connection. It follows attention alone; what the layers of the other kind mix in between is not in it."
            )
        )


def _enlarged(
    drawn: list[NamedMap], one: NamedMap, other: NamedMap | None, window: FrozenWindow, *, scale: ScaleKind, difference: bool
) -> None:
    shown = next(each for each in drawn if each.name == one.name)
    st.subheader(shown.title, anchor=False)
    left, right = st.columns(2)
    with right:
        query = _pick_query(one.axis)
    with left:
        live_plot(
            figures.map_figure(
                shown, of=drawn, scale=scale, difference=difference, query=query, keep=one.name, write=significant, _=_
            ),
            key="attention_map",
            height=560,
            on_click=lambda point: _read_row(point, one.axis),
            filename=f"attention-{one.name}".replace(" ", "-"),
            alt=_("{map}: rows are queries, columns the keys they look at; a click reads a row.").format(map=shown.title),
        )
    with right:
        st.markdown(_reading(one, query))
        live_plot(
            figures.row_figure(
                one,
                query=query,
                other=other.weights if other else None,
                mid=window.mid if one.axis.kind == "time" else None,
                keep=one.name,
                _=_,
            ),
            key="attention_row",
            height=400,
            filename=f"attention-row-{one.name}".replace(" ", "-"),
            alt=_("What the chosen query looks at, a bar for each key."),
        )


def _pick_query(axis: MapAxis) -> int:
    if axis.kind == "time":
        first, step = float(axis.positions[0]), STEP_MS / 1e3
        label = _("Query: seconds before now")
        return axis.nearest(url_state.slider(label, first, 0.0, key="query", default=0.0, step=step, format="%.2f s"))
    return axis.nearest(url_state.slider(_("Query: channel"), 1, len(axis.positions), key="channel", default=1))


def _read_row(point: Point, axis: MapAxis) -> None:
    if point.y is not None:
        at = float(axis.positions[axis.nearest(float(point.y))])
        st.session_state["query" if axis.kind == "time" else "channel"] = at if axis.kind == "time" else int(at)


def _reading(one: NamedMap, query: int) -> str:
    """The row in words."""
    row = one.weights[query]
    entropy = float(summaries.row_entropy(row))
    names = [
        _("{key} ({share})").format(key=_position(one.axis, index), share=percent(weight))
        for index, weight in summaries.strongest(row, 5)
    ]
    words = _(
        "The query at {query} looks most at {keys}. Its weights are spread as if it looked at {effective} of {count} keys alike "
        "(entropy {entropy} nats)."
    ).format(
        query=_position(one.axis, query),
        keys=", ".join(names),
        effective=number(summaries.effective_keys(entropy), 1),
        count=number(len(row)),
        entropy=number(entropy, 2),
    )
    if one.axis.kind == "time":
        distance = float(summaries.row_distance(one.weights, step=STEP_MS / 1e3)[query])
        words += " " + _("On average it looks {distance} s away from itself.").format(distance=number(distance, 2))
    return words


def _position(axis: MapAxis, index: int) -> str:
    at = float(axis.positions[index])
    return (
        _("{seconds} s").format(seconds=number(at, 2)) if axis.kind == "time" else _("channel {number}").format(number=number(at))
    )


def _in_numbers(reading: Reading, other: Reading | None) -> None:
    """Entropy and reach, a bar a layer."""
    st.subheader(_("How spread, how far"), anchor=False)
    steps, width, step = reading.predictor.window, reading.predictor.config.width, STEP_MS / 1e3

    def each(source: Reading | None, kind: str, measure: Any) -> list[float] | None:
        return [measure(source.maps[name]) for name in source.layers(kind)] if source else None

    def reach(weights: Any) -> float:
        return summaries.mean_distance(weights, step=step)

    parts = (
        ("entropy_time", _("Entropy, time-to-time"), _("nats"), TIME, summaries.mean_entropy, summaries.even_entropy(steps)),
        (
            "entropy_feature",
            _("Entropy, feature-to-feature"),
            _("nats"),
            FEATURE,
            summaries.mean_entropy,
            summaries.even_entropy(width),
        ),
        ("distance_time", _("Mean distance, time-to-time"), _("seconds"), TIME, reach, summaries.even_distance(steps, step=step)),
    )
    for column, (key, text, unit, kind, measure, even) in zip(st.columns(3), parts, strict=True):
        with column:
            st.markdown(f"**{text}**")
            live_plot(
                figures.layers_figure(
                    each(reading, kind, measure) or [], even=even, title=unit, other=each(other, kind, measure), _=_
                ),
                key=f"attention_{key}",
                height=240,
                alt=_("{what} by pair of layers.").format(what=text),
                filename=f"attention-{key}",
            )
    st.caption(
        _(
            "Means over all queries. Entropy is 0 where a query looks at one key alone and ln n where it looks at all n alike. "
            "The orange mark is what looking at all alike would give; violet is the pinned window. Channels have no order, so "
            "feature-to-feature maps have no distance."
        )
    )


def downloads(window: FrozenWindow, reading: Reading) -> None:
    """The enlarged map as a table."""
    name = str(st.session_state.get("layer") or next(iter(reading.maps)))
    head = str(st.session_state.get("ahead") or MEAN)
    one = next(each for each in _maps(window, reading, head) if each.name == name)

    def table() -> pd.DataFrame:
        positions = [round(float(at), 3) for at in one.axis.positions]
        return (
            pd.DataFrame(one.weights, columns=positions)
            .rename_axis("query")
            .set_axis(positions)
            .reset_index(names="query \\ key")
        )

    controls.download_table(
        _("Enlarged map"), table, key="attention_map_table", filename=f"attention-{name}".replace(" ", "-"), formats=("csv",)
    )
