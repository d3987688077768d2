"""Attention maps: all of them small, one of them large with a row to read, and their entropy and mean distance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.explain import summaries
from core.figures import attention as figures
from core.figures.attention import MapAxis, NamedMap
from core.market.book import STEP_MS
from core.market.windows import FrozenWindow
from pages.markets.cached_results import FEATURE, ROLLOUT, TIME, WindowAnswer
from pages.markets.live_model import mirrored_sentence
from pages.shared import map_explorer, url_state
from pages.shared.language import _, number
from pages.shared.map_explorer import Choice, Keys, Measure, Query

KEYS = Keys(layer="layer", scale="scale", head="ahead", grid="attention_pair", plot="attention")


def show(window: FrozenWindow, answer: WindowAnswer, other: WindowAnswer | None) -> None:
    """The maps of one window, or their difference from a pinned window's.

    Args:
        other: the model's answer for the pinned window; None where none is pinned.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = map_explorer.pick(KEYS, titles(answer), heads=answer.predictor.config.heads)
        difference = other is not None and st.toggle(
            _("Show the difference from the pinned window"), value=True, key="diff", bind="query-params"
        )
    maps = _maps(window, answer, choice)
    against = _maps(window, other, choice) if other else None
    drawn = (
        [replace(a, weights=a.weights - b.weights) for a, b in zip(maps, against, strict=True)]
        if against and difference
        else maps
    )
    with map_explorer.grid(map_explorer.pairs(drawn), keys=KEYS, choice=choice, difference=drawn is not maps):
        st.caption(
            _(
                "Rolled out: the maps of one kind multiplied from the first layer to the last, half of each being the residual "
                "connection. It follows attention alone; what the layers of the other kind mix in between is not in it."
            )
        )
    if answer.predictor.config.mirrored:
        st.caption(f"{mirrored_sentence()} " + _("The maps are of the pass over the book as it is."))
    one = map_explorer.chosen(maps, choice)
    compared = map_explorer.chosen(against, choice) if against else None

    def beside(query: int) -> None:
        st.markdown(_row_sentence(one, query))
        map_explorer.row_plot(
            one,
            query,
            keys=KEYS,
            other=compared.weights if compared else None,
            mid=window.mid if one.axis.kind == "time" else None,
        )

    map_explorer.enlarged(
        map_explorer.chosen(drawn, choice),
        of=drawn,
        keys=KEYS,
        choice=choice,
        query=_query(one.axis),
        beside=beside,
        difference=drawn is not maps,
    )
    _in_numbers(answer, other)


def titles(answer: WindowAnswer) -> dict[str, str]:
    """Titles of the maps in the reader's language, by name."""
    kinds = {TIME: _("Time-to-time {number}"), FEATURE: _("Feature-to-feature {number}")}
    rolled = {TIME: _("Time, rolled out"), FEATURE: _("Features, rolled out")}
    names = {}
    for name in answer.maps:
        kind = TIME if TIME in name else FEATURE
        names[name] = rolled[kind] if name.startswith(ROLLOUT) else kinds[kind].format(number=name.split(" ")[-1])
    return names


def _maps(window: FrozenWindow, answer: WindowAnswer, choice: Choice) -> list[NamedMap]:
    time = figures.time_axis(window.seconds)

    def axis(name: str, count: int) -> MapAxis:
        return time if TIME in name else figures.channel_axis(count)

    return map_explorer.named(answer.maps, titles(answer), choice, axis)


def _query(axis: MapAxis) -> Query:
    if axis.kind == "time":
        first, step = float(axis.positions[0]), STEP_MS / 1e3

        def second() -> int:
            label = _("Query: seconds before now")
            return axis.nearest(url_state.slider(label, first, 0.0, key="query", default=0.0, step=step, format="%.2f s"))

        return Query(pick=second, take=lambda index: st.session_state.update(query=float(axis.positions[index])))

    def channel() -> int:
        return axis.nearest(url_state.slider(_("Query: channel"), 1, len(axis.positions), key="channel", default=1))

    return Query(pick=channel, take=lambda index: st.session_state.update(channel=int(axis.positions[index])))


def _row_sentence(one: NamedMap, query: int) -> str:
    words = map_explorer.row_sentence(one, query, lambda index: _position(one.axis, index))
    if one.axis.kind == "time":
        distance = float(summaries.row_distance(one.weights, step=STEP_MS / 1e3)[query])
        words += " " + _("On average it looks {distance} s away from itself.").format(distance=number(distance, 2))
    return words


def _position(axis: MapAxis, index: int) -> str:
    at = float(axis.positions[index])
    return (
        _("{seconds} s").format(seconds=number(at, 2)) if axis.kind == "time" else _("channel {number}").format(number=number(at))
    )


def _in_numbers(answer: WindowAnswer, other: WindowAnswer | None) -> None:
    """Mean entropy and mean distance, one bar per layer."""
    st.header(_("Entropy and distance"), anchor=False)
    steps, width, step = answer.predictor.window, answer.predictor.config.width, STEP_MS / 1e3

    def each(source: WindowAnswer | None, kind: str, measure: Any) -> list[float] | None:
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
    map_explorer.measures(
        [
            Measure(
                key=key,
                title=title,
                unit=unit,
                values=each(answer, kind, measure) or [],
                even=even,
                other=each(other, kind, measure),
            )
            for key, title, unit, kind, measure, even in parts
        ],
        keys=KEYS,
        alt=_("{what} by pair of layers."),
    )
    st.caption(
        _(
            "Means over all queries. Entropy is 0 where a query looks at one key alone and ln n where it looks at all n alike. "
            "The orange mark is what looking at all alike would give; violet is the pinned window. Channels have no order, so "
            "feature-to-feature maps have no distance."
        )
    )


def downloads(window: FrozenWindow, answer: WindowAnswer) -> None:
    """A download of the enlarged map as a table."""
    choice = map_explorer.picked(KEYS, titles(answer))
    map_explorer.download_map(map_explorer.chosen(_maps(window, answer, choice), choice), keys=KEYS)
