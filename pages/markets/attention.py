"""Light on a window of the book: every attention map of TLOB, and which of its inputs moved the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from attention_light import AttentionScene, BookStage, LayerMaps
from core.checkpoints import CheckpointError
from core.explain.attribution import GradientError, Report
from core.explain.erasing import Needed
from core.figures import market as market_figures
from core.market import evidence
from core.market.features import price_columns
from core.market.windows import FrozenWindow, WindowError, to_npz
from core.models.tlob import CLASSES
from pages.markets import attention_inputs, attention_window, cached_results
from pages.markets.attention_inputs import Explained
from pages.markets.attention_window import WindowSource
from pages.markets.cached_results import FEATURE, TIME, WindowAnswer
from pages.markets.class_names import class_names, unknown_market
from pages.markets.live_controls import horizon_name
from pages.shared import controls, erased, faithfulness_view, url_state
from pages.shared.attention_view import attention_view
from pages.shared.erased import ErasedAnswer
from pages.shared.language import _, number, percent, prose
from pages.shared.load_ahead import load_ahead

RUBBED_OUT: Final = "hide_moments"
FORMULAS: Final = {TIME: "tlob-time-attention", FEATURE: "tlob-feature-attention"}


def answer_of(window: FrozenWindow) -> WindowAnswer | None:
    """The model's answer for a window; None, after an error box, where it has none."""
    try:
        return cached_results.answer(window)
    except (WindowError, CheckpointError) as problem:
        controls.error_box(problem, remedy=_("Choose another window or another model."))
        return None


def titles(names: Mapping[str, Any]) -> dict[str, str]:
    """Names of the maps and the measures for readers (D1)."""
    kinds = {TIME: _("Time-to-time {number}"), FEATURE: _("Feature-to-feature {number}")}
    layers = {
        name: title.format(number=name.removeprefix(f"{kind} "))
        for name in names
        for kind, title in kinds.items()
        if name.startswith(kind)
    }
    return layers | {"gradients": _("Integrated gradients"), "moments": _("Rollout to the answer")}


def scene_of(
    window: FrozenWindow, answered: WindowAnswer, explained: Explained, *, moves: bool, hidden: tuple[int, ...] = ()
) -> AttentionScene:
    """The window on the stage, lit by what counted for the answer.

    Args:
        moves: whether the window is one of many in a row: then the moments are lit by rollout, which costs nothing.
        hidden: moments that are rubbed out, without which it was answered.
    """
    predictor = answered.predictor
    layers = [
        LayerMaps(name=name, weights=answered.maps[name], kind="time" if kind == TIME else "channel", formula=FORMULAS[kind])
        for kind in (TIME, FEATURE)
        for name in answered.layers(kind)
    ]
    measures: dict[str, Any] = {}
    if not moves:
        try:
            measures["gradients"] = cached_results.attribute(window, *explained, hidden=hidden).values
        except GradientError:
            attention_inputs.no_gradients()
    rolled = answered.maps[f"{cached_results.ROLLOUT} {TIME}"][0]
    measures["moments"] = evidence.pooled_rows(rolled, predictor.config.pooling)
    stage = BookStage(
        levels=window.levels,
        channels=predictor.config.width,
        places=price_columns(predictor.transform),
        moment=_("{seconds} s"),
        newest=_("now"),
        channel=_("channel {number}"),
    )
    return AttentionScene(
        stage=stage,
        layers=sorted(layers, key=lambda one: (one.name.rsplit(" ", 1)[1], one.kind == "channel")),
        measures=measures,
        titles=titles(answered.maps),
        answer=sentence(window, answered, explained),
    )


def sentence(window: FrozenWindow, answered: WindowAnswer, explained: Explained) -> str:
    """The answer, its market and its time in one line."""
    head, label = explained
    probabilities = answered.probabilities[head]
    mid, digits = market_figures.mid_and_digits(window.levels[-1])
    kind, steps = answered.predictor.heads[head]
    labels = {"forward": _("forward label"), "smoothed": _("smoothed label")}
    shares = ", ".join(
        f"{class_names()[code]} {percent(float(share))}" for code, share in zip(CLASSES, probabilities, strict=True)
    )
    return _("{market}, {time}, mid {mid}: in {horizon} {shares} ({label}; explained: {name}).").format(
        market=window.market.split(" ")[-1],
        time=attention_window.utc(window),
        mid=number(mid, digits),
        horizon=horizon_name(steps),
        shares=shares,
        label=labels[kind],
        name=class_names()[CLASSES[label]],
    )


def change(window: FrozenWindow, whole: WindowAnswer, rest: WindowAnswer, head: int, hidden: tuple[int, ...]) -> ErasedAnswer:
    """The call without the moments that are rubbed out, beside that on the whole window."""
    called, names = whole.likeliest[head], class_names()
    return ErasedAnswer(
        key=RUBBED_OUT,
        hidden=hidden,
        count=len(window),
        before=names[CLASSES[called]],
        after=names[CLASSES[rest.likeliest[head]]],
        shares=(float(whole.probabilities[head][called]), float(rest.probabilities[head][called])),
        instead=_("In place of a moment that is rubbed out the model reads every input's mean over this window."),
        orders=faithfulness_view.method_names(),
    )


def needed(window: FrozenWindow, answered: WindowAnswer, head: int, report: Report) -> Needed | None:
    """Moments that other ways take until the call changes; None, after an error box, without gradients."""
    try:
        return cached_results.needed(window, head, answered.likeliest[head], report=report)
    except GradientError:
        attention_inputs.no_gradients()
        return None


def draw(source: WindowSource) -> None:
    """The window of a source: its answer, its light, and what lies behind both."""
    line, stage = st.empty(), st.container()
    window = attention_window.current(source)
    answered = answer_of(window) if window else None
    if window is None or answered is None:
        return
    load_ahead(cached_results.predictor_of, cached_results.model_names())
    explained = attention_inputs.pick(answered)
    moves = attention_window.every_s(source) is not None
    hidden = () if moves else tuple(erased.rubbed_out(RUBBED_OUT, len(window), of=window.id))
    rest = cached_results.answer(window, hidden) if hidden else answered
    scene = scene_of(window, rest, explained, moves=moves, hidden=hidden)
    line.markdown(f"**{scene.answer}**")
    with stage:
        if moves:
            attention_view(scene, key="light")
        else:
            without = change(window, answered, rest, explained.head, hidden)
            scene = replace(scene, corner=without.corner())
            attention_view(scene, key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT))
            if hidden:
                without.draw(partial(needed, window, answered, explained.head))
    unknown_market(answered.entry, window.predictor)
    views = {"reading": _("How to read this page"), "inputs": _("Inputs one by one"), "truth": _("Is it telling the truth?")}
    view = url_state.choice(st.segmented_control, _("Below"), views, key="view", required=True)
    if view == "inputs":
        attention_inputs.details(window, answered, explained)
    elif view == "truth":
        attention_inputs.faithfulness(window, answered, explained)
    else:
        st.markdown(prose("attention_weights"))
        st.markdown(prose("attention_reading"))
    downloads(window, answered, source, explained)


def downloads(window: FrozenWindow, answered: WindowAnswer, source: WindowSource, explained: Explained) -> None:
    """The window with every number that was computed from it, as a file, and a link to it."""

    def arrays() -> bytes:
        try:
            attribution = {"attribution": cached_results.attribute(window, *explained).values}
        except GradientError:
            attribution = {}
        return to_npz(window, answered.maps | {"probabilities": answered.probabilities} | attribution)

    with st.container(horizontal=True):
        controls.download_bytes(
            _("Window and all arrays (.npz)"),
            arrays,
            key="attention_npz",
            filename=f"window-{window.id}.npz",
            mime="application/octet-stream",
        )
        if source.kind == "live" and st.button(_("Freeze this window"), icon=":material/ac_unit:", key="attention_freeze"):
            attention_window.show_frozen(window)
        note = _("Whoever has this link can open a frozen window while the app runs; the .npz file keeps its numbers.")
        controls.link_to_view(note if source.kind == "frozen" else "")


heading, picker = st.columns([3, 2], vertical_alignment="center")
with heading:
    controls.page_header(_("What TLOB looks at"))
with picker:
    try:
        picked = attention_window.pick_source()
    except CheckpointError as error:
        controls.no_checkpoint(error)
        st.stop()
if picked is None:
    st.stop()
st.fragment(draw, run_every=attention_window.every_s(picked))(picked)
