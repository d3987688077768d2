"""Traces and charts against `go.Figure`, by its own methods."""

from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest
from plotly.io.json import to_json_plotly

from core.figures import style
from core.figures.style import DIVERGING, base_layout
from core.figures.traces import bars, chart, heat, line, marks, upright


def written(figure: go.Figure) -> Any:
    return orjson.loads(to_json_plotly(figure))


@pytest.mark.parametrize("checked", [True, False])
def test_a_chart_is_the_figure_that_plotlys_own_methods_make(checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "CHECKED", checked)
    y, two = np.array([0.5, 2, np.nan], np.float32), {"domain": [0, 0.4]}
    ours = chart(
        [
            line(np.arange(3), y, "line", "#000", dash=None, width=2, hover="%{y}"),
            marks([1], [2], colour="#111", size=9, symbol="x", hover=""),
            bars(["a", "b"], [1, 2], yaxis="y2", marker={"color": "#222", "opacity": 0.5}),
            heat(np.eye(2), DIVERGING, -1, 1, bar={"nticks": 3}, hover="%{z}", name="cells"),
        ],
        x_title="time", y_title="price", keep="this", height=300, x={"range": [0, 3], "tickvals": None}, y={"showgrid": False},
        yaxis2=two, legend={"y": 1.0}, bargap=0.1, shapes=[upright(1, "#333", 2, dash="dot")],
    )  # fmt: skip
    theirs = go.Figure()
    theirs.update_layout(base_layout(x_title="time", y_title="price", keep="this", height=300))
    theirs.add_scatter(x=np.arange(3), y=y, mode="lines", name="line", line={"color": "#000", "width": 2}, hovertemplate="%{y}")
    theirs.add_scatter(x=[1], y=[2], mode="markers", marker={"color": "#111", "size": 9, "symbol": "x"}, hoverinfo="skip")
    theirs.add_bar(x=["a", "b"], y=[1, 2], yaxis="y2", marker={"color": "#222", "opacity": 0.5})
    bar = {"thickness": 8, "outlinewidth": 0, "ticks": "", "nticks": 3}
    theirs.add_heatmap(z=np.eye(2), colorscale=DIVERGING, zmin=-1, zmax=1, colorbar=bar, hovertemplate="%{z}", name="cells")
    theirs.update_layout(yaxis2=two, legend={"y": 1.0}, bargap=0.1)
    theirs.update_xaxes(range=[0, 3])
    theirs.update_layout(yaxis={"showgrid": False})
    theirs.add_shape(type="line", x0=1, x1=1, yref="paper", y0=0, y1=1, line={"color": "#333", "width": 2, "dash": "dot"})
    assert written(ours) == written(theirs)


def test_what_plotly_does_not_know_is_an_error_in_tests() -> None:
    with pytest.raises(ValueError, match="shape"):
        chart([line([1], [1], shape="hv")])


def test_a_chart_leaves_what_it_is_given_as_it_was() -> None:
    axis = {"range": [0, 1]}
    chart([], x=axis, y=axis, x_title="x")
    assert axis == {"range": [0, 1]}
