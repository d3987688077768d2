"""A small app for the browser tests: one plot that moves, one that stands still, and what they tell."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount
from streamlit.runtime.scriptrunner import get_script_run_ctx

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from attention_light.scene import FOLDER
from core.figures.style import SEQUENTIAL, base_layout
from pages.shared import controls, language
from pages.shared.assets import Assets, Pages
from pages.shared.live_plot import live_plot


def moving(step: int) -> go.Figure:
    """A line that moves and a heatmap that does not."""
    x = np.arange(200.0)
    figure = go.Figure(
        data=[
            go.Heatmap(z=np.outer(np.linspace(0, 1, 8), np.ones(200)), y=np.linspace(-1, 1, 8), colorscale=SEQUENTIAL),
            go.Scatter(x=x, y=np.sin((x + step) / 20), name="moving"),
        ]
    )
    return figure.update_layout(**base_layout(x_title="x", y_title="y"))


def live() -> None:
    """The next figure."""
    st.session_state.step = st.session_state.get("step", 0) + 1
    live_plot(
        moving(st.session_state.step),
        key="moving",
        height=320,
        alt="A sine wave that moves",
        on_click=lambda point: st.session_state.update(clicked=f"{point.trace} {point.x:.0f}"),
    )
    st.text(f"clicked: {st.session_state.get('clicked', 'nothing')}")


def main() -> None:
    """The page."""
    st.set_page_config(layout="wide")
    controls.apply_frame()
    st.title("Plots")
    with st.sidebar:
        language.switch()
    st.text(f"pressed: {'yes' if st.button('Again') else 'no'}")
    every_s = 0.25 if st.toggle("Moving", value=True) else None
    if st.toggle("Shown", value=True):
        st.fragment(live, run_every=every_s)()
    live_plot(moving(0).update_layout(height=240), key="still", alt="A sine wave that stands still", filename="sine")


if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(
        __file__,
        routes=[Mount("/assets/scripts", Assets()), Mount("/attention_light/scripts", Assets(FOLDER / "scripts"))],
        middleware=[Middleware(Pages)],
    )
else:
    main()
