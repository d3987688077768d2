"""The explorer of attention maps, the same for every model: all maps in small, one enlarged, one of its rows, and summaries.

A page gives the names and axes, how a query is picked, and what is drawn beside the enlarged map.

    keys = Keys(layer="layer", scale="scale", head="ahead", grid="attention_pair", plot="attention")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = pick(keys, names, heads=2)
    maps = named(weights, names, choice, axis)
    grid(pairs(maps), keys=keys, choice=choice)
    enlarged(chosen(maps, choice), keys=keys, choice=choice, query=query, beside=lambda index: ...)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.explain import summaries
from core.explain.rollout import fuse_heads
from core.figures import attention as figures
from core.figures.attention import MapAxis, NamedMap, ScaleKind
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import Point, live_plot

MEAN = "mean"


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Names of an explorer's URL parameters and of its plots; they never change, as shared links contain them.

    Attributes:
        layer, scale, head: URL parameters. first_head: number of the first head in the URL.
        grid: key of the small maps, followed by a number. plot: prefix of the keys of all other plots, and of files.
    """

    layer: str
    scale: str
    head: str
    grid: str
    plot: str
    first_head: int = 0

    def file(self, what: str) -> str:
        """A download's name, without suffix."""
        return f"{self.plot}-{what}".replace("_", "-").replace(" ", "-")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The enlarged map, the colour scale, and the head, from 0; None for the mean of all heads."""

    layer: str
    scale: ScaleKind
    head: int | None


@dataclass(frozen=True, kw_only=True)
class Query:
    """The control that picks a row of the enlarged map.

    Attributes:
        pick: draws the control and returns the row's index. take: moves the control to an index, in a click's callback.
    """

    pick: Callable[[], int]
    take: Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One number per layer.

    Attributes:
        key: of the plot. title, unit: translated.
        values: first layer first. even: of uniform attention, or that of each layer. other: of a compared input.
    """

    key: str
    title: str
    unit: str
    values: Sequence[float]
    even: float | Sequence[float]
    other: Sequence[float] | None = None


def pick(keys: Keys, names: Mapping[str, str], *, heads: int, default: str | None = None) -> Choice:
    """Draw the controls in the current container.

    Args:
        names: translated names of the maps. heads: per layer; one head has no control. default: the map enlarged at first.
    """
    scales = {"own": _("Each its own"), "shared": _("One for each kind"), "log": _("Logarithmic")}
    layer = url_state.choice(st.selectbox, _("Map to enlarge (or click one)"), names, key=keys.layer, default=default, width=320)
    scale = url_state.choice(
        st.segmented_control,
        _("Colour scale"),
        scales,
        key=keys.scale,
        required=True,
        help=_(
            "Its own: each map from 0 to its largest weight. One for each kind: to the largest of all maps of that kind, so "
            "that they can be compared. Logarithmic: the largest weight and two decades below it."
        ),
    )
    head = None
    if heads > 1:
        options = {MEAN: _("Mean")} | {str(keys.first_head + i): number(i + 1) for i in range(heads)}
        head = _head(keys, url_state.choice(st.selectbox, _("Attention head"), options, key=keys.head, width=140))
    return Choice(layer=layer, scale=cast(ScaleKind, scale), head=head)


def picked(keys: Keys, names: Mapping[str, str], *, default: str | None = None) -> Choice:
    """The choice that `pick` returned in this run, for parts of the page that are drawn later."""
    state = st.session_state
    layer = state.get(keys.layer)
    return Choice(
        layer=str(layer) if layer in names else default or next(iter(names)),
        scale=cast(ScaleKind, state.get(keys.scale) or "own"),
        head=_head(keys, str(state.get(keys.head) or MEAN)),
    )


def _head(keys: Keys, code: str) -> int | None:
    return None if code == MEAN else int(code) - keys.first_head


def named(
    weights: Mapping[str, Any], names: Mapping[str, str], choice: Choice, axis: Callable[[str, int], MapAxis]
) -> list[NamedMap]:
    """The maps of the chosen head, with their names and axes.

    Args:
        weights: (heads, n, n) by name; (1, n, n) for what has no heads, such as a rollout.
        axis: makes the axis from a map's name and its n.
    """
    maps = []
    for name, each in weights.items():
        one = fuse_heads(each) if choice.head is None or len(each) == 1 else each[choice.head]
        maps.append(NamedMap(name=name, title=names[name], weights=one, axis=axis(name, len(one))))
    return maps


def chosen(maps: Sequence[NamedMap], choice: Choice) -> NamedMap:
    """The map to enlarge."""
    return next(one for one in maps if one.name == choice.layer)


def pairs(maps: Sequence[NamedMap]) -> list[Sequence[NamedMap]]:
    """Pairs of maps, one figure each, so that a wide screen shows four in a row and a narrow one two."""
    return [maps[i : i + 2] for i in range(0, len(maps), 2)]


def grid(groups: Sequence[Sequence[NamedMap]], *, keys: Keys, choice: Choice, difference: bool = False) -> Any:
    """All maps in small, one figure per group and two figures per row; a click enlarges a map.

    Args:
        groups: of maps; each is drawn in two columns.
        difference: whether weights are differences.

    Returns:
        The container after the last figure, for text on the maps.
    """
    every = [one for group in groups for one in group]

    def enlarge(point: Point) -> None:
        if point.trace in {one.name for one in every}:
            st.session_state[keys.layer] = point.trace

    cells = [cell for _row in range(0, len(groups), 2) for cell in st.columns(2)]  # row by row, which a phone stacks
    for index, (cell, group) in enumerate(zip(cells, groups, strict=False)):
        with cell:
            figure = figures.map_grid(
                group, of=every, scale=choice.scale, difference=difference, selected=choice.layer, keep=f"{keys.grid}{index}",
                write=significant,
            )  # fmt: skip
            live_plot(
                figure,
                key=f"{keys.grid}_{index + 1}",
                height=45 + 240 * (-(-len(group) // 2)),
                on_click=enlarge,
                filename=f"{keys.grid}-{index + 1}".replace("_", "-"),
                alt=_("Attention maps {names}; a click enlarges one.").format(names=", ".join(one.title for one in group)),
            )
    return cells[len(groups)] if len(groups) < len(cells) else st.container()


def enlarged(
    shown: NamedMap,
    *,
    of: Sequence[NamedMap],
    keys: Keys,
    choice: Choice,
    query: Query,
    beside: Callable[[int], None],
    difference: bool = False,
    height: int = 560,
    drawn: Callable[[int], go.Figure] | None = None,
) -> int:
    """One map enlarged, with the control of the row to read, which a click on the map moves.

    Args:
        of: all maps of a shared colour scale.
        beside: draws what is to the map's right, under the control, from the row's index.
        drawn: makes the figure of the large map from the row's index, where it shows more than the map.

    Returns:
        The row's index.
    """
    st.header(shown.title, anchor=False)
    left, right = st.columns(2)
    with right:
        index = query.pick()

    def read_row(point: Point) -> None:
        if point.y is not None and point.trace == shown.name:  # a click on the map before, still drawn, tells nothing of this one
            query.take(shown.axis.nearest(float(point.y)))

    def plain(index: int) -> go.Figure:
        return figures.map_figure(
            shown, of=of, scale=choice.scale, difference=difference, query=index, keep=shown.name, write=significant
        )

    with left:
        live_plot(
            (drawn or plain)(index),
            key=f"{keys.plot}_map",
            height=height,
            on_click=read_row,
            filename=keys.file(shown.name),
            alt=_("{map}: rows are queries, columns the keys they look at; a click reads a row.").format(map=shown.title),
        )
    with right:
        beside(index)
    return index


def row_plot(one: NamedMap, index: int, *, keys: Keys, height: int = 400, **more: Any) -> None:
    """The row as bars; `more` is passed to `core.figures.attention.row_figure`."""
    live_plot(
        figures.row_figure(one, query=index, keep=one.name, **more),
        key=f"{keys.plot}_row",
        height=height,
        filename=keys.file(f"row-{one.name}"),
        alt=_("What the chosen query looks at, a bar for each key."),
    )


def row_sentence(one: NamedMap, index: int, position: Callable[[int], str]) -> str:
    """A sentence on the row's strongest keys and its entropy.

    Args:
        position: translated name of a row or column, by its index.
    """
    row = one.weights[index]
    entropy = float(summaries.row_entropy(row))
    strongest = [
        _("{key} ({share})").format(key=position(key), share=percent(weight)) for key, weight in summaries.strongest(row, 5)
    ]
    return _(
        "The query at {query} looks most at {keys}. Its weights are spread as if it looked at {effective} of {count} keys alike "
        "(entropy {entropy} nats)."
    ).format(
        query=position(index),
        keys=", ".join(strongest),
        effective=number(summaries.effective_keys(entropy), 1),
        count=number(len(row)),
        entropy=number(entropy, 2),
    )


def measures(listed: Sequence[Measure], *, keys: Keys, alt: str, **more: Any) -> None:
    """Summaries by layer, one small figure each.

    Args:
        alt: a sentence with the gap {what}. more: for `core.figures.attention.layers_figure`.
    """
    for column, one in zip(st.columns(len(listed)), listed, strict=True):
        with column:
            st.markdown(f"**{one.title}**")
            live_plot(
                figures.layers_figure(one.values, even=one.even, title=one.unit, other=one.other, **more),
                key=f"{keys.plot}_{one.key}",
                height=240,
                alt=alt.format(what=one.title),
                filename=keys.file(one.key),
            )


def download_map(one: NamedMap, *, keys: Keys) -> None:
    """The enlarged map as a table."""

    def table() -> pd.DataFrame:
        positions = _positions(one)
        return (
            pd.DataFrame(one.weights, columns=positions)
            .rename_axis("query")
            .set_axis(positions)
            .reset_index(names="query \\ key")
        )

    controls.download_table(
        _("Enlarged map"), table, key=f"{keys.plot}_map_table", filename=keys.file(one.name), formats=("csv",)
    )


def download_row(one: NamedMap, index: int, *, keys: Keys) -> None:
    """The row that is read as a table."""
    controls.download_table(
        _("Row being read"),
        lambda: pd.DataFrame({"key": _positions(one), "weight": one.weights[index]}),
        key=f"{keys.plot}_row_table",
        filename=keys.file(f"row-{one.name}"),
        formats=("csv",),
    )


def _positions(one: NamedMap) -> list[float]:
    return [round(float(at), 3) for at in one.axis.positions]
