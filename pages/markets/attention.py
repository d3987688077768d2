"""Attention of TLOB: attention maps on one window of a book, and which of its inputs moved the answer."""

from __future__ import annotations

import streamlit as st

from core.checkpoints import CheckpointError
from core.figures import market as market_figures
from core.market.windows import FrozenWindow, WindowError, to_npz
from pages.markets import attention_inputs, attention_maps, attention_window, cached_results
from pages.markets.attention_window import WindowSource
from pages.markets.cached_results import WindowAnswer
from pages.markets.call_rules import unknown_market
from pages.markets.live_controls import horizon_name
from pages.shared import controls, url_state
from pages.shared.language import _, number, prose
from pages.shared.live_plot import live_plot
from pages.shared.load_ahead import load_ahead
from pages.shared.stat_strip import Stat, stat_strip

controls.page_header(_("What TLOB looks at"), prose("attention_lead"))

try:
    source = attention_window.pick_source()
except CheckpointError as error:
    controls.no_checkpoint(error)
    st.stop()
if source is None:
    st.stop()


def answer(window: FrozenWindow) -> WindowAnswer | None:
    """The model's answer for a window; None, after an error box, where it has none."""
    try:
        return cached_results.answer(window)
    except (WindowError, CheckpointError) as problem:
        controls.error_box(str(problem), remedy=_("Choose another window or another model."))
        return None


@st.fragment(run_every=attention_window.every_s(source))
def body(source: WindowSource) -> None:
    """The part of the page that depends on the window; reruns by itself while a recording plays or a feed is followed."""
    window = attention_window.current(source)
    answered = answer(window) if window else None
    if window is None or answered is None:
        return
    load_ahead(cached_results.predictor_of, cached_results.model_names())
    _header(window, answered)
    left, right = st.columns([1, 1], vertical_alignment="bottom")
    with left:
        views = {
            "maps": _("Attention maps"),
            "inputs": _("Inputs that moved the answer"),
            "truth": _("Is it telling the truth?"),
        }
        view = url_state.choice(st.segmented_control, _("View"), views, key="view", required=True)
    if view == "inputs":
        if not attention_inputs.show(window, answered):
            return
    elif view == "truth":
        attention_inputs.show_faithfulness(window, answered)
    else:
        with right:
            pinned = attention_window.pick_pinned(window, source)
        attention_maps.show(window, answered, _comparable(answered, pinned))
    _downloads(window, answered, source, view)


def _comparable(answered: WindowAnswer, pinned: FrozenWindow | None) -> WindowAnswer | None:
    """The model's answer for the pinned window, where its maps have the same sizes."""
    other = answer(pinned) if pinned else None
    if other and [weights.shape for weights in other.maps.values()] != [weights.shape for weights in answered.maps.values()]:
        controls.notice("stale", _("The pinned window's model has maps of other sizes: they cannot be compared."))
        return None
    return other


def _header(window: FrozenWindow, answered: WindowAnswer) -> None:
    """The window's market, time and prices, and the probabilities of all heads."""
    quote = market_figures.quote(window.levels[-1])
    day, time, zone = attention_window.utc(window).split(" ")
    stat_strip(
        [
            Stat(name=_("Market"), value=window.market.split(" ")[-1], note=window.market.split(" ")[0]),
            Stat(name=_("Window ends"), value=time, note=f"{day}, {zone}"),
            Stat(name=_("Mid"), value=number(quote.mid, quote.digits)),
            Stat(name=_("Spread"), value=_("{value} bps").format(value=number(quote.spread_bps, 3))),
            Stat(name=_("Model"), value=window.predictor),
        ]
    )
    unknown_market(answered.entry, window.predictor)
    names = {"forward": _("Forward label"), "smoothed": _("Smoothed label")}  # D24
    kinds = [kind for kind in names if any(one[0] == kind for one in answered.predictor.heads)]
    for column, kind in zip(st.columns(len(kinds)), kinds, strict=True):
        heads = [i for i, one in enumerate(answered.predictor.heads) if one[0] == kind]
        horizons = [horizon_name(answered.predictor.heads[i][1]) for i in heads]
        with column:
            st.markdown(_("**{label}**, probabilities by horizon").format(label=names[kind]))
            live_plot(
                market_figures.horizons_figure(horizons, answered.probabilities[heads]),
                key=f"attention_{kind}",
                height=190,
                filename=f"probabilities-{kind}",
                alt=_("The probabilities of this window at every horizon."),
            )


def _downloads(window: FrozenWindow, answered: WindowAnswer, source: WindowSource, view: str) -> None:
    with st.container(horizontal=True):
        name = f"window-{window.id}"
        controls.download_bytes(
            _("Window and all arrays (.npz)"),
            lambda: to_npz(
                window,
                answered.maps
                | {"probabilities": answered.probabilities}
                | (attention_inputs.arrays(window) if view == "inputs" else {}),
            ),
            key="attention_npz",
            filename=f"{name}.npz",
            mime="application/octet-stream",
        )
        if view == "maps":
            attention_maps.downloads(window, answered)
        elif view == "inputs":
            attention_inputs.downloads(window, answered)
        if source.kind == "live" and st.button(_("Freeze this window"), icon=":material/ac_unit:", key="attention_freeze"):
            attention_window.show_frozen(window)
        note = _("A frozen window lasts as long as the app runs; the .npz file keeps it for good.")
        controls.link_to_view(note if source.kind == "frozen" else "")


body(source)
st.markdown(prose("attention_weights"))
with st.expander(_("How to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("attention_reading"))
