"""Train a TLOB on recordings: what there is to learn from, a run that outlives the page, and whether it was worth it."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.device import use_one_thread
from core.figures import training as figures
from core.files import Written, written
from core.market.features import TRANSFORM_KINDS
from core.market.labels import HORIZONS
from core.market.predictor import DEFAULT
from core.runs.local_run import RunStatus, TrainError
from core.runs.market_training import MarketPlan, Outlook, enough_outcomes, read_curve
from core.service import runs
from core.service.access import Action, NotAllowed, Visitor
from core.service.runs import MARKETS
from pages.markets import cached_results, recorded_choice
from pages.markets.live_controls import horizon_name
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, duration, number, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

EVERY_S: Final = 1.0
HEIGHT: Final = 300
NOTHING: Final = "nothing"


def settings() -> MarketPlan | None:
    """The controls; None while no recording is chosen."""
    chosen = recorded_choice.pick(key="recs")
    left, middle, right = st.columns(3)
    with left:
        starts = {**{name: name for name in cached_results.model_names()}, NOTHING: _("Nothing: weights at random")}
        start = url_state.choice(st.selectbox, _("Start from"), starts, key="start", default=DEFAULT)
        name = url_state.text(_("Name of the checkpoint"), key="name", default="my-tlob", max_chars=40).strip()
    with middle:
        epochs = url_state.slider(_("Epochs"), 1, 40, key="epochs", default=4)
        windows = st.select_slider(
            _("Windows per epoch"), (256, 1_024, 4_096, 16_384, 65_536), 4_096, key="windows", bind="query-params"
        )
    with right:
        rate = st.select_slider(
            _("Peak learning rate"),
            (3e-5, 1e-4, 3e-4, 1e-3, 2e-3),
            3e-4,
            key="rate",
            bind="query-params",
            format_func=lambda value: f"{value:.0e}",
        )
        seed = url_state.number_input(_("Seed"), 0, 9_999, key="seed", default=0)
    plan = MarketPlan(
        name=name,
        files=recorded_choice.by_market(chosen),
        start="" if start == NOTHING else start,
        epochs=int(epochs),
        windows=int(windows),
        rate=float(rate),
        seed=int(seed),
    )
    if start == NOTHING:
        plan = _from_nothing(plan)
    if not chosen:
        controls.notice("empty", _("Choose one or more recordings to train on."))
        return None
    return plan


def _from_nothing(plan: MarketPlan) -> MarketPlan:
    """Asks for what a checkpoint to start from would settle: horizons, inputs, size."""
    left, middle, right = st.columns(3)
    with left:
        codes = url_state.several(
            _("Horizons"), {str(steps): horizon_name(steps) for steps in HORIZONS}, key="hs", placeholder=_("All four")
        )
    with middle:
        inputs = url_state.choice(
            st.selectbox, _("Inputs"), {kind: kind for kind in TRANSFORM_KINDS if kind != "raw"}, key="inputs", default="flow"
        )
    with right:
        pairs = url_state.slider(_("Pairs of layers"), 1, 6, key="pairs", default=2)
    horizons = tuple(int(code) for code in codes) or HORIZONS
    return replace(plan, horizons=horizons, transform=inputs, pairs=int(pairs))  # type: ignore[arg-type]


@st.cache_data(show_spinner=False, max_entries=32)
def _kept_outlook(plan: MarketPlan, files: Written, _by: Visitor) -> Outlook:
    use_one_thread()
    return runs.outlook(_by, plan)


def _outlook(plan: MarketPlan) -> Outlook:
    """Outlook of a plan under any name, kept for its files as they were written."""
    return _kept_outlook(replace(plan, name=""), written(chain.from_iterable(plan.files)), permissions.visitor())


def ahead(plan: MarketPlan) -> bool:
    """Shows the run's data and time, and whether that is enough; False where it cannot be begun."""
    try:
        with st.spinner(_("Counting windows and timing two steps…"), show_time=True):
            outlook = _outlook(plan)
    except TrainError as error:
        controls.error_box(str(error), remedy=_("Choose a longer recording, or several of one market."))
        return False
    enough = enough_outcomes(read_curve(), from_start=bool(plan.start))
    too_few = enough is not None and outlook.outcomes < enough
    stat_strip(
        [
            Stat(name=_("Windows to train on"), value=number(outlook.train)),
            Stat(name=_("To validate, to test"), value=f"{number(outlook.validation)} · {number(outlook.test)}"),
            Stat(
                name=_("Outcomes that do not overlap"),
                value=number(outlook.outcomes),
                tone="down" if too_few else "plain",
                note=_("of training, at the longest horizon"),
            ),
            Stat(name=_("Time on this machine"), value=duration(outlook.seconds), note=_("if nothing else runs")),
        ]
    )
    if too_few:
        st.warning(
            _(
                "Too few data to mean anything: {count} outcomes of training do not overlap. Where it was measured, training was "
                "worth it from {enough} on: see the curve above."
            ).format(count=number(outlook.outcomes), enough=number(enough or 0)),
            icon=":material/warning:",
        )
    return True


def curve() -> None:
    """Score against amount of data, as measured by a script of the project: open until there is a run of one's own."""
    measured = read_curve()
    if measured is None:
        return
    with st.expander(_("How much data are enough?"), icon=":material/ssid_chart:", expanded=MARKETS.run.status().phase == "idle"):
        live_plot(
            figures.amount_figure(measured),
            key="train_amount",
            height=HEIGHT,
            alt=_("Log loss on the ten minutes after training, against the minutes trained on."),
        )
        st.caption(
            _("Log loss on the ten minutes after, mean over labels and horizons, {market}.").format(market=measured["market"])
        )


def buttons(plan: MarketPlan | None, ready: bool) -> None:
    """Start, or resume what was stopped."""
    by, status = permissions.visitor(), MARKETS.run.status()
    with st.container(horizontal=True):
        if (
            st.button(
                _("Start training"),
                type="primary",
                icon=":material/play_arrow:",
                disabled=plan is None or not ready or status.running,
                key="market_start",
            )
            and plan is not None
        ):
            _try(lambda: MARKETS.opened(by).start(plan))
        earlier = MARKETS.run.plan
        if status.phase in ("stopped", "failed") and earlier is not None and by.may(Action.TRAIN):
            label = _("Resume {name}, {done} of {all} epochs").format(
                name=earlier.name, done=number(len(status.history)), all=number(earlier.epochs)
            )
            if st.button(label, icon=":material/resume:", key="market_resume"):
                _try(lambda: MARKETS.opened(by).resume())


def _try(action: Any) -> None:
    try:
        action()
    except (TrainError, OSError, NotAllowed) as error:
        controls.error_box(str(error))
        return
    st.rerun()


@st.fragment(run_every=EVERY_S if MARKETS.run.status().running else None)
def watch(was_running: bool) -> None:
    """The run's progress and curves, every second while it lasts."""
    status = MARKETS.run.status()
    if status.running != was_running:
        st.rerun()
    if status.phase == "idle":
        return
    if status.phase == "failed":
        controls.error_box(_("The training ended with an error: {why}").format(why=status.message))
    if status.running:
        _progress(status)
    if status.history:
        live_plot(
            figures.score_curve(status.history, _naive()),
            key="market_scores",
            height=HEIGHT,
            alt=_("Validation score by epoch, beside the momentum rule's."),
        )
        st.caption(
            _(
                "Macro-F1 (smoothed label) and Matthews correlation (forward label) on the validation part, mean over horizons. "
                "Dotted: the momentum rule on the same rows."
            )
        )


def _naive() -> dict[str, float]:
    """The momentum rule's scores on the run's validation parts; none where its recordings are gone."""
    plan = MARKETS.run.plan
    try:
        return _outlook(plan).naive if plan is not None else {}
    except (TrainError, NotAllowed):
        return {}


def _progress(status: RunStatus) -> None:
    left = status.remaining_s
    text = _("Starting: reading the recordings.")
    if status.total:
        text = _("Epoch {epoch} of {epochs}, step {step} of {total}; {left} to go").format(
            epoch=number(min(status.epoch + 1, status.epochs)),
            epochs=number(status.epochs),
            step=number(status.step),
            total=number(status.total),
            left=duration(left) if left is not None else _("some time"),
        )
    st.progress(status.share, text=text)
    stats = [Stat(name=_("Time"), value=duration(status.elapsed_s))]
    if status.loss is not None:
        stats.append(Stat(name=_("Loss, newest step"), value=number(status.loss, 3)))
    stat_strip(stats)
    by = permissions.visitor()
    if by.may(Action.TRAIN) and st.button(_("Stop"), icon=":material/stop:", key="market_stop"):
        MARKETS.opened(by).stop()
        st.rerun()


def result() -> None:
    """The checkpoint that came of it, whether it was worth it, and where it is offered."""
    card = MARKETS.run.card()
    if card is None:
        return
    st.header(_("Was it worth it?"), anchor=False)
    st.caption(
        _(
            "Log loss on the first ten minutes after the training and validation parts, by the market's own labels. Refitted: "
            "the starting weights, with their probabilities calibrated on the same validation part."
        )
    )
    for market, heads in card["metrics"].get("gains", {}).items():
        st.markdown(f"**{market}**: {_verdict(heads)}")
        st.dataframe(_gain_table(heads), hide_index=True, width="stretch", height="content")
    name = str(card["name"])
    st.success(_("{name} is among the checkpoints now.").format(name=name), icon=":material/check:")
    with st.container(horizontal=True):
        st.page_link(
            "pages/markets/live.py",
            label=_("Watch it on the live page"),
            icon=":material/candlestick_chart:",
            query_params={"model": name},
        )
        st.page_link(
            "pages/markets/score.py",
            label=_("Score it"),
            icon=":material/grading:",
            query_params={"models": name.replace(".", "-")},
        )
    with st.expander(_("Its card"), icon=":material/badge:"):
        st.json({key: value for key, value in card.items() if key not in ("markets", "history", "receipt")}, expanded=False)


def _verdict(heads: list[dict[str, Any]]) -> str:
    beside = "less_start" if "less_start" in heads[0] else "less_frequencies"
    better = sum(head[beside]["value"] < 0 for head in heads)
    sure = sum(head[beside]["high"] < 0 for head in heads)
    worse = sum(head[beside]["low"] > 0 for head in heads)
    who = _("the checkpoint it started from") if beside == "less_start" else _("the classes' frequencies")
    sentence = _("Yes: a lower log loss than {who} at {better} of {all} labels and horizons, {sure} of them beyond chance.")
    if better * 2 <= len(heads) or worse:
        sentence = _(
            "No: a lower log loss than {who} at {better} of {all} labels and horizons only, {sure} of them beyond chance, and a "
            "higher one beyond chance at {worse}."
        )
    elif not sure:
        sentence = _("Not beyond chance: a lower log loss than {who} at {better} of {all} labels and horizons, at none for sure.")
    return sentence.format(who=who, better=number(better), all=number(len(heads)), sure=number(sure), worse=number(worse))


def _gain_table(heads: list[dict[str, Any]]) -> pd.DataFrame:
    labels = {"smoothed": _("Smoothed"), "forward": _("Forward")}
    columns = {"trained": _("Trained"), "start": _("As it started"), "refitted": _("Refitted"), "frequencies": _("Frequencies")}

    def interval(head: dict[str, Any]) -> str:
        gain = head.get("less_start") or head["less_frequencies"]
        value, low, high = (number(gain[bound], 3) for bound in ("value", "low", "high"))
        return f"{value} [{low}; {high}]"

    return pd.DataFrame(
        {
            _("Label"): labels[head["label"]],
            _("Horizon"): horizon_name(head["horizon"]),
            _("Samples"): number(head["samples"]),
            **{text: number(head[f"{name}_log_loss"], 3) if f"{name}_log_loss" in head else "" for name, text in columns.items()},
            _("Difference from its start"): interval(head),
        }
        for head in heads
    )


controls.page_header(_("Train on recordings"), prose("market_train_lead"))
curve()
wanted = settings()
can_start = permissions.guard(Action.TRAIN) and wanted is not None and ahead(wanted)
buttons(wanted, can_start)
watch(MARKETS.run.status().running)
result()
controls.link_to_view()
