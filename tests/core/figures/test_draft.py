"""A draft against `go.Figure`, by the same calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest
from plotly.io.json import to_json_plotly

from core.figures import style
from core.figures.draft import Draft
from core.figures.style import DIVERGING, base_layout


def draw(figure: Any) -> None:
    """All that a draft can do, on two panes."""
    figure.update_layout(base_layout(x_title="time", y_title="price", keep="this", height=300))
    figure.add_scatter(
        x=np.arange(3), y=np.array([0.5, 2, np.nan], np.float32), name="line", line={"color": "#000", "dash": None}
    )
    figure.add_bar(x=["a", "b"], y=[1, 2], yaxis="y2", text=None, error_y={"type": "data", "array": [0.1, 0.2]})
    figure.add_heatmap(z=np.eye(2), colorscale=DIVERGING, customdata=[["x", "y"], ["z", "w"]], colorbar={"title": {"text": "t"}})
    figure.add_trace({"type": "scatter", "x": [1], "y": [2]})
    figure.add_hline(y=0.25, line={"color": "#111", "width": 1})
    figure.update_layout(yaxis={"domain": [0.5, 1]}, yaxis2={"domain": [0, 0.4]}, legend={"y": 1.0}, bargap=0.1)
    figure.add_vline(x=1, line={"width": 2, "dash": "dot"})
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1)
    figure.update_xaxes(range=[0, 3], tickvals=None, title={"standoff": 3})
    figure.update_yaxes(showgrid=False)


@pytest.mark.parametrize("checked", [True, False])
def test_a_draft_is_the_figure_that_plotly_s_own_methods_make(checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "CHECKED", checked)
    ours, theirs = Draft(), go.Figure()
    draw(ours)
    draw(theirs)

    def written(figure: go.Figure) -> Any:
        return orjson.loads(to_json_plotly(figure))

    assert written(ours.figure()) == written(theirs)


def test_what_plotly_does_not_know_is_an_error_in_tests() -> None:
    draft = Draft()
    draft.add_scatter(x=[1], y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        draft.figure()


def test_a_draft_leaves_what_it_is_given_as_it_was() -> None:
    draft, axis = Draft(), {"title": {"text": "x"}}
    draft.update_layout(xaxis=axis)
    draft.update_xaxes(title={"standoff": 3})
    assert axis == {"title": {"text": "x"}}
