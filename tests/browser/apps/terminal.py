"""A small app for the browser tests: the live screen alone, on the bundled BTC recording."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st
from starlette.routing import Mount, WebSocketRoute
from streamlit.runtime.scriptrunner import get_script_run_ctx

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from core.market.hub import hub
from core.market.predictor import load_predictor
from core.market.session import MarketSession
from core.market.sources import RecordingSource
from pages.markets import stream_route, terminal
from pages.shared import controls
from pages.shared.assets import Assets

SOURCE = RecordingSource(name="binance_spot_btcusdt_2024-08-08")


def main() -> None:
    """The page."""
    st.set_page_config(layout="wide", initial_sidebar_state="collapsed")
    controls.apply_frame()
    predictor = load_predictor()
    session = hub().watch("me", SOURCE.key, lambda: MarketSession(SOURCE.feed(), predictor))
    choices = terminal.TerminalChoices(
        head=2,
        heads=(0, 1, 2, 3),
        span_s=120,
        grouping=0,
        contrast=1.0,
        cutoff=0.0,
        palette="safe",
        zone="UTC",
        profile=True,
        lines=(61800.0,),
        footprint=False,
    )
    terminal.show(
        session,
        choices,
        viewer="me",
        on_command=lambda name, value: st.session_state.update(command=name),
        on_fallback=lambda: st.session_state.update(fallback=True),
    )
    st.text(f"command: {st.session_state.get('command', 'none')} fallback: {st.session_state.get('fallback', False)}")


if get_script_run_ctx(suppress_warning=True) is None:
    routes = [Mount("/assets", Assets()), WebSocketRoute(stream_route.PATH, stream_route.market_stream)]
    app = st.App(__file__, routes=routes)
else:
    main()
