"""The live page's moving part: status, liquidity through time, the book, and what TLOB says of it."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.figures import market as figures
from core.market.book import STEP_MS
from core.market.hub import hub
from core.market.labels import STATIONARY
from core.market.session import MarketSession
from core.market.session_view import Latency, Status, View
from core.models.tlob import CLASSES
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.shared import controls
from pages.shared.language import _, duration, number, percent, significant
from pages.shared.live_plot import DrawSample, live_plot
from pages.shared.stat_strip import Stat, Tone, stat_strip

LONGEST_WAIT_S: Final = 0.2
"""That a tick waits for the next step: less than the time between two."""
SLICE_S: Final = 0.02
"""After which a waiting tick looks whether the reader has done something."""
DRAWN: Final = "live:drawn"
"""Where the reader's session keeps the step that was drawn last."""

TONES: dict[Status, Tone] = {
    Status.LIVE: "good",
    Status.REPLAYING: "good",
    Status.SIMULATING: "good",
    Status.PAUSED: "plain",
    Status.ENDED: "plain",
    Status.CONNECTING: "warning",
    Status.WARMING: "warning",
    Status.RECONNECTING: "warning",
    Status.STALE: "warning",
    Status.FAILED: "bad",
}


def class_names() -> dict[str, str]:
    """The three classes in the reader's language."""
    return dict(zip(CLASSES, (_("Down"), _("Stationary"), _("Up")), strict=True))


def status_name(view: View, window: int) -> str:
    """The feed's status in a few words."""
    if view.status is Status.WARMING:
        return _("Warming up {done}/{whole}").format(done=view.warm, whole=window)
    return {
        Status.CONNECTING: _("Connecting"),
        Status.LIVE: _("Live"),
        Status.REPLAYING: _("Replaying"),
        Status.SIMULATING: _("Simulating"),
        Status.PAUSED: _("Paused"),
        Status.RECONNECTING: _("Reconnecting"),
        Status.STALE: _("Stale"),
        Status.ENDED: _("Ended"),
        Status.FAILED: _("Failed"),
    }[view.status]


def await_step(session: MarketSession) -> None:
    """In a tick of the fragment: draw as soon as there is a step not drawn yet, rather than at a moment of its own.

    The browser's timer and the market's grid both turn every 250 ms, but not together: without this a step would wait
    for up to a quarter of a second until the next tick fetched it.
    """
    context = get_script_run_ctx()
    if context is None or not context.fragment_ids_this_run:
        return
    until = time.monotonic() + LONGEST_WAIT_S
    # reading the state is where Streamlit may end this run for the sake of a reader's click
    while not session.wait_beyond(st.session_state.get(DRAWN, 0), SLICE_S) and time.monotonic() < until:
        pass


def show(session: MarketSession, choices: ViewChoices) -> None:
    """One frame."""
    view = session.view(choices.rows)
    st.session_state[DRAWN] = view.step
    window = session.predictor.window
    _status(session, view, window)
    if view.status in (Status.FAILED, Status.ENDED):
        if view.message:
            controls.error_box(view.message)
        if st.button(_("Start again"), icon=":material/refresh:", key="restart"):
            hub().restart(session.feed.key)
            st.rerun()
    elif view.message:
        controls.notice("stale", view.message)
    if not len(view.timestamps):
        controls.notice("loading", _("Waiting for the first book."))
        return
    wide, narrow = st.columns([5, 2])
    with wide:
        sample = _liquidity(session, view, choices)
        _probabilities(view, choices)
    with narrow:
        _book(view, choices)
        _horizons(session, view, choices)
    _latency(view.latency, sample)


def _status(session: MarketSession, view: View, window: int) -> None:
    stats = [Stat(name=_("Status"), value=status_name(view, window), tone=TONES[view.status])]
    if len(view.timestamps):
        quote = figures.quote(view.levels[-1])
        stats += [
            Stat(name=_("Symbol"), value=session.feed.market),
            Stat(name=_("Mid"), value=number(quote.mid, quote.digits)),
            Stat(name=_("Spread"), value=_("{value} bps").format(value=number(quote.spread_bps, 3))),
            Stat(name=_("Update age"), value=_age(view.age_ms)),
            Stat(name=_("Step"), value=number(view.step)),
        ]
    stat_strip(stats)


def _age(milliseconds: float) -> str:
    return _("{value} ms").format(value=number(milliseconds)) if milliseconds < 10_000 else duration(milliseconds / 1e3)


def _liquidity(session: MarketSession, view: View, choices: ViewChoices) -> DrawSample | None:
    p = view.predictions
    figure = figures.liquidity_figure(
        view.timestamps,
        view.levels,
        trades=view.trades,
        call_times=p["timestamp"],
        calls=p["calls"][:, choices.head],
        keep=session.feed.key,
        write=significant,
    )
    return live_plot(
        figure,
        key="liquidity",
        height=430,
        filename="liquidity",
        alt=_("Resting size by price and time, with best bid, best ask, mid, trades and the moves TLOB called."),
        latency_from_ms=view.received_ms,
    )


def _probabilities(view: View, choices: ViewChoices) -> None:
    p = view.predictions
    st.markdown(_("**Probabilities through time**, {horizon} ahead").format(horizon=horizon_name(choices.horizon)))
    if not len(p):
        controls.notice("loading", _("The first prediction needs a whole window of rows without a gap."))
        return
    live_plot(
        figures.probabilities_figure(p["timestamp"], p["probabilities"][:, choices.head]),
        key="probabilities",
        height=220,
        alt=_("TLOB's probabilities of down, stationary and up through time, stacked to one."),
        filename="probabilities",
    )


def _book(view: View, choices: ViewChoices) -> None:
    if choices.book == "depth":
        figure, alt = figures.depth_figure(view.levels[-1]), _("Size resting up to each price, on both sides of the book.")
    else:
        figure, alt = figures.ladder_figure(view.levels[-1], write=number), _("The ten best asks and bids with their sizes.")
    live_plot(figure, key=choices.book, height=430, alt=alt, filename=choices.book)


def _horizons(session: MarketSession, view: View, choices: ViewChoices) -> None:
    p = view.predictions
    if not len(p) or p["timestamp"][-1] != view.timestamps[-1]:
        return
    heads = list(choices.heads_of_label)
    newest = p[-1]
    called = int(newest["calls"][choices.head])
    name = CLASSES[called]
    tone: Tone = "plain" if called == STATIONARY else "up" if name == "UP" else "down"
    share = float(newest["probabilities"][choices.head, called])
    stat_strip(
        [
            Stat(
                name=_("TLOB calls, {horizon} ahead").format(horizon=horizon_name(choices.horizon)),
                value=class_names()[name],
                tone=tone,
                note=_("probability {share}").format(share=percent(share)),
            )
        ]
    )
    live_plot(
        figures.horizons_figure(
            [duration(session.predictor.heads[i][1] * STEP_MS / 1e3) for i in heads],
            newest["probabilities"][heads],
            chosen=heads.index(choices.head),
        ),
        key="horizons",
        height=190,
        alt=_("The newest probabilities of all four horizons."),
        filename="horizons",
    )


def _latency(latency: Latency, sample: DrawSample | None) -> None:
    """What a step takes, each as median and 95th percentile."""
    parts = [
        (_("feed"), latency.feed),
        (_("features"), latency.features),
        (_("model"), latency.model),
        (_("ready"), latency.total),
    ]
    if sample is not None:
        parts.append((_("drawn"), (sample.median_ms, sample.p95_ms)))
    shown = " · ".join(f"{name} {number(a, 1)} / {number(b, 1)}" for name, (a, b) in parts if a == a)
    if shown:
        st.caption(_("Step latency from the book received, ms, median / 95th percentile: {parts}").format(parts=shown))


def actions(session: MarketSession, key: str) -> None:
    """What can be taken away, and where this window can be looked into.

    Args:
        key: of the feed, by which the attention page finds it.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        # A link, which the browser follows by itself: after `st.switch_page` a tick of this page's fragments, still under way,
        # would be run last and leave the other page blank.
        st.page_link(
            "pages/markets/attention.py",
            label=_("Freeze this window"),
            icon=":material/ac_unit:",
            help=_("Opens it on the attention page."),
            query_params={"freeze": key},
        )
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        controls.download_table(
            _("Predictions"),
            session.export,
            key="predictions",
            filename=f"tlob-{stamp}",
        )
