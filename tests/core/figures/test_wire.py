"""Figures as they travel: what a browser puts together again equals what plotly itself would send."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plotly.io import to_json

from core.figures.wire import REPEATS, frame, split


def figure(step: int = 0, *, title: str = "book") -> go.Figure:
    rng = np.random.default_rng(step)
    return go.Figure(
        data=[go.Heatmap(z=np.arange(12.0).reshape(3, 4)), go.Scatter(x=np.arange(50), y=rng.random(50), name="mid")],
        layout={"title": {"text": title}},
    )


class Browser:
    """What live_plot.js does with frames: keeps parts by name, and asks for all where one is lacking."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}

    def receive(self, message: bytes) -> dict[str, Any] | None:
        data = json.loads(message)
        wanted = [*data["traces"], data["layout"]]
        self.parts |= {part["name"]: part["value"] for part in wanted if "value" in part}
        if any(part["name"] not in self.parts for part in wanted):
            return None
        names = {part["name"] for part in wanted}
        self.parts = {name: value for name, value in self.parts.items() if name in names}
        return {"data": [self.parts[p["name"]] for p in data["traces"]], "layout": self.parts[data["layout"]["name"]]}


def test_a_whole_frame_is_what_plotly_would_send() -> None:
    message, _ = frame(split(figure()), {}, {})
    assert Browser().receive(message) == json.loads(to_json(figure(), engine="json"))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(-3, 4),
        np.arange(300),
        np.array([2**40, 1]),
        np.array([5, 70_000], np.uint64),
        np.array([[0.1, np.nan]], np.float32).T,
        np.array([True, False]),
        np.array(["a", "bc"]),
        np.array([1, "x", None], object),
        np.array([]),
        np.arange(8.0)[::2],
        np.array(["2026-01-01", "2026-01-02"], "datetime64[ms]"),
        np.array([0.5, 1.0], np.float16),
        pd.Series([1.5, 2.0]),
        pd.Index([3, 9]),
        [1, 2.5, None],
        ("a", "b"),
        [[1, 2], [3, 4]],
    ],
)
def test_every_kind_of_array_travels_as_plotly_would_send_it(values: Any) -> None:
    shown = go.Figure({"data": [{"type": "scatter", "x": values, "marker": {"color": values}}], "layout": {}}, _validate=False)
    assert Browser().receive(frame(split(shown), {}, {})[0]) == json.loads(to_json(shown, validate=False))


def test_a_dictionary_with_arrays_is_a_figure_too() -> None:
    as_dictionary = {"data": [{"type": "scatter", "y": np.arange(3.0)}], "layout": {"height": 200}}
    shown = Browser().receive(frame(split(as_dictionary), {}, {})[0])
    assert shown is not None and shown["layout"]["height"] == 200
    assert shown["data"][0]["y"] == {"dtype": "f8", "bdata": base64.b64encode(np.arange(3.0).tobytes()).decode()}


def test_not_a_number_becomes_legal_json() -> None:
    message, _ = frame(split({"data": [{"type": "scatter", "y": [1.0, float("nan")]}], "layout": {}}), {}, {})
    shown = Browser().receive(message)
    assert shown is not None and shown["data"][0]["y"] == [1.0, None]


def test_what_stands_still_travels_a_few_times_only() -> None:
    sent: dict[str, int] = {}
    carried = []
    for step in range(6):
        message, sent = frame(split(figure(step)), sent, {})
        data = json.loads(message)
        carried.append(["value" in part for part in (*data["traces"], data["layout"])])
    assert carried[:REPEATS] == [[True, True, True]] * REPEATS
    assert carried[REPEATS:] == [[False, True, False]] * (6 - REPEATS)


def test_what_left_is_forgotten_and_sent_again() -> None:
    sent: dict[str, int] = {}
    for title in ["a"] * 4 + ["b", "a"]:
        message, sent = frame(split(figure(title=title)), sent, {})
    assert "value" in json.loads(message)["layout"]


def test_the_extra_values_go_along() -> None:
    message, _ = frame(split(figure()), {}, {"chrome": {"alt": 'a "book"'}, "sentAt": 1.5})
    data = json.loads(message)
    assert data["chrome"] == {"alt": 'a "book"'} and data["sentAt"] == 1.5


def test_typed_arrays_are_smaller_than_lists() -> None:
    values = np.random.default_rng(0).random((40, 200)).astype("f4")
    typed = len(frame(split({"data": [{"type": "heatmap", "z": values}]}), {}, {})[0])
    listed = len(frame(split({"data": [{"type": "heatmap", "z": values.tolist()}]}), {}, {})[0])
    assert typed < 0.5 * listed


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.integers(0, 3), min_size=1, max_size=25), lost=st.sets(st.integers(0, 24)))
def test_a_browser_never_shows_a_wrong_figure(steps: list[int], lost: set[int]) -> None:
    """Whatever frames are lost on the way, what is shown is what was sent, or a request for the whole."""
    browser, sent = Browser(), dict[str, int]()
    for i, step in enumerate(steps):
        message, sent = frame(split(figure(step)), sent, {})
        if i in lost:
            continue
        shown = browser.receive(message)
        if shown is None:
            sent = {}  # it asked for the whole
            shown = browser.receive(frame(split(figure(step)), sent, {})[0])
        assert shown == json.loads(to_json(figure(step), engine="json"))
