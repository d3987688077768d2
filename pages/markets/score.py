"""Score recordings: any of them, by any checkpoints, by time and regime, with a report to take away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures import scoring as figures
from core.figures.market import reliability_figure
from core.figures.scoring import forecaster_names, group_names, regime_names, worse_than_nothing
from core.market.answers.naive import A_THIRD_EACH
from core.market.answers.recordings import cut_window
from core.market.book import BookError
from core.market.labels import HORIZONS
from core.market.made_again import CERTIFIES_NOTHING
from core.market.predictor import DEFAULT
from core.market.store.call_columns import head_of
from core.market.store.index import find_recording
from core.market.windows import STORE, WindowError
from core.messages import translate
from core.runs.scoring import RunError, RunStatus, ScorePlan
from core.service.access import Action, NotAllowed
from core.service.runs import SCORING
from pages.markets import cached_results, recorded_choice
from pages.markets.live_controls import horizon_name
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, duration, moment, number, percent, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

EVERY_S: Final = 1.0
HEIGHT: Final = 320


def settings() -> ScorePlan:
    """Plan of what to score, chosen by the reader."""
    chosen = recorded_choice.pick(key="recs")
    left, right = st.columns(2)
    with left:
        models = recorded_choice.pick_models(key="models", default=DEFAULT)
    with right:
        labels = {"forward": _("Forward"), "smoothed": _("Smoothed")}
        label = url_state.choice(st.segmented_control, _("Label"), labels, key="label", required=True)
        first, second = st.columns(2)
        with first:
            steps = {str(horizon): horizon_name(horizon) for horizon in HORIZONS}
            horizon = int(url_state.choice(st.selectbox, _("Horizon"), steps, key="h"))
        with second:
            shares = {"1": _("every row"), "4": _("every 4th row"), "16": _("every 16th row")}
            every = int(url_state.choice(st.selectbox, _("Rows"), shares, key="every"))
    return ScorePlan(
        places=tuple(path for one in chosen for path in one.files),
        models=tuple(models),
        label=label,
        horizon=horizon,
        every=every,
    )


def start(plan: ScorePlan) -> None:
    """The button that begins."""
    running = SCORING.run.status().running
    ready = permissions.guard(Action.SCORE) and bool(plan.places and plan.models) and not running
    if st.button(_("Score these"), type="primary", icon=":material/grading:", disabled=not ready, key="score_start"):
        try:
            SCORING.opened(permissions.visitor()).start(plan)
        except (RunError, OSError, NotAllowed) as error:
            controls.error_box(str(error))
            return
        st.rerun()
    if not plan.places and not running:
        controls.notice("empty", _("Choose one or more recordings to score."))


@st.fragment(run_every=EVERY_S if SCORING.run.status().running else None)
def watch(was_running: bool) -> None:
    """Progress while it lasts."""
    status = SCORING.run.status()
    if status.running != was_running:
        st.rerun()
    if status.phase == "failed":
        controls.error_box(status.message)
    elif status.running:
        _progress(status)


def _progress(status: RunStatus) -> None:
    left = status.remaining_s
    text = _("Starting: reading the recordings.")
    if status.total:
        text = _("Recording {n} of {all}; {left} to go").format(
            n=number(min(status.epoch + 1, status.epochs)),
            all=number(status.epochs),
            left=duration(left) if left is not None else _("some time"),
        )
    st.progress(status.share, text=text)
    if permissions.visitor().may(Action.SCORE) and st.button(_("Stop"), icon=":material/stop:", key="score_stop"):
        SCORING.opened(permissions.visitor()).stop()
        st.rerun()


def results(answer: dict[str, Any]) -> None:
    """Everything that the finished scoring found."""
    names = forecaster_names()
    st.header(_in_words(answer["label"], answer["horizon"]), anchor=False)
    stat_strip(
        [
            Stat(name=_("Recordings"), value=number(len(answer["recordings"]))),
            Stat(name=_("Rows"), value=number(answer["samples"])),
            Stat(
                name=_("Outcomes that do not overlap"),
                value=number(answer["independent_samples"]),
                note=_("what the certainty of a score rests on"),
            ),
        ]
    )
    st.caption(", ".join(one["recording"] for one in answer["recordings"]))
    for name, why in answer["skipped"].items():
        st.caption(f":material/warning: {name}: {controls.as_sentence(translate(why))}")
    for one in answer["recordings"]:
        if one["stalled"]:
            sentence = _("{recording}: {count} rows of a book that had not changed for two minutes are not scored.")
            st.caption(sentence.format(recording=one["recording"], count=number(one["stalled"])))
    _journals(answer["recordings"])
    if any(one["part"] == "test" for one in answer["recordings"]):
        st.caption(_("A recording that a checkpoint was trained on is scored on its last fifth alone."))
    several = len(answer["recordings"]) > 1
    st.dataframe(_overall(answer["forecasters"], names), hide_index=True, width="stretch", height="content")
    if several:
        st.caption(_("The mean over the recordings, with its 95 % interval (Student's t)."))
    else:
        st.caption(_("Of one recording, with 95 % intervals by blocks of its rows."))
    for sentence in worse_than_nothing(answer, number(A_THIRD_EACH, 3)):
        st.markdown(f":material/warning: {controls.plain(sentence)}")
    live_plot(
        figures.losses_figure(SCORING.run.table("losses"), names=names),
        key="score_losses",
        height=HEIGHT,
        alt=_("Each forecaster's log loss less that of the frequencies so far, summed through time."),
    )
    _groups(names)
    _pairs(answer["checkpoint"], names)
    bins = SCORING.run.table("calibration").groupby("forecaster", sort=False)
    live_plot(
        reliability_figure({names.get(str(name), str(name)): one for name, one in bins}),
        key="score_calibration",
        height=HEIGHT,
        alt=_("How often the likeliest class came true by the probability it was given."),
    )
    _worst(answer)
    _downloads()


def _in_words(label: str, horizon: int) -> str:
    """A head for a reader."""
    return _("{label} label, {horizon} ahead").format(
        label=_("Forward") if label == "forward" else _("Smoothed"), horizon=horizon_name(horizon)
    )


def _journals(scored: list[dict[str, Any]]) -> None:
    """Says of each recording with a journal of predictions what came of making it again."""
    journals = [(one["recording"], one["journal"]) for one in scored if "journal" in one]
    for recording, journal in journals:
        if "refused" in journal:
            controls.error_box(journal["refused"])
            continue
        numbers = {name: number(journal[name]) for name in ("predictions", "equal", "late", "without_outcome")}
        sentence = _("{equal} of {predictions} made again, equal; {late} late; {without_outcome} without an outcome")
        st.markdown(f"{controls.plain(recording)}: {sentence.format(**numbers)}")
        if (first := journal["different"]) is not None:
            when, head = datetime.fromtimestamp(first["timestamp"] / 1e3, UTC), head_of(first["head"])
            told = _("The first that differs: {time}, {head}: {why}").format(
                time=moment(when), head=first["head"] if head is None else _in_words(*head), why=translate(first["why"])
            )
            st.markdown(f":material/warning: {controls.plain(controls.as_sentence(told))}")
    if journals:
        st.caption(translate(CERTIFIES_NOTHING))


def _overall(lines: dict[str, dict[str, Any]], names: dict[str, str]) -> pd.DataFrame:
    """A row per forecaster, intervals in brackets where they are known."""

    def shown(one: dict[str, Any], measure: str, digits: int = 3) -> str:
        if one[measure] is None:
            return ""
        bounds = one.get("interval", {}).get(measure)
        between = f" ({number(bounds[0], digits)} – {number(bounds[1], digits)})" if bounds else ""
        return number(one[measure], digits) + between

    table = pd.DataFrame(
        {
            _("Forecaster"): names.get(name, name),
            _("Samples"): number(one["samples"]),
            _("Macro-F1"): shown(one, "macro_f1"),
            _("Matthews"): shown(one, "matthews"),
            _("Log loss"): shown(one, "log_loss"),
            _("Calibration error"): "" if one["ece"] is None else percent(one["ece"]),
            _("Rows called"): "" if one["coverage"] is None else percent(one["coverage"]),
            _("Calls that came true"): "" if one["precision"] is None else percent(one["precision"]),
            _("Mean move (bps)"): shown(one, "move_bps"),
            _("Break-even fee (bps)"): shown(one, "break_even_fee_bps"),
        }
        for name, one in lines.items()
    )
    return table.loc[:, (table != "").any()]  # moves are not known where rows between are left out


def _groups(names: dict[str, str]) -> None:
    table = SCORING.run.table("groups")
    left, right = st.columns(2)
    with left:
        by = url_state.choice(st.segmented_control, _("Groups"), group_names(), key="by", default="hour", required=True)
    with right:
        measures = figures.measure_names()
        measure = url_state.choice(st.segmented_control, _("Measure"), measures, key="measure", required=True)
    here, words = table[table["by"] == by], regime_names()
    shown = here.pivot(index="group", columns="forecaster", values=measure)
    shown = shown.reindex(index=here["group"].unique(), columns=here["forecaster"].unique()).dropna(axis=1, how="all")
    shown.insert(0, _("Samples"), here.groupby("group")["samples"].max())
    shown = shown.rename(index=lambda group: words.get(str(group), str(group)), columns=names).rename_axis(index=_("Group"))
    st.dataframe(shown.round(3), width="stretch", height="content" if len(shown) <= 8 else HEIGHT)
    if by in ("volatility", "spread"):
        st.caption(
            _("Thirds of each recording's rows; volatility is that of the window before the row, so nothing of the future.")
        )


def _pairs(first: str, names: dict[str, str]) -> None:
    """Differences of the first checkpoint and everyone else on the rows that both answered, with their intervals."""
    table = SCORING.run.table("pairs")
    measures = {"log_loss": (_("Log loss"), -1), "matthews": (_("Matthews"), 1)}
    lines = []
    for one in table[table["first"] == first].to_dict("records"):
        line = {_("Forecaster"): names.get(one["second"], one["second"])}
        for measure, (title, better) in measures.items():
            value, low, high = (one[f"{measure}_{bound}"] for bound in ("value", "low", "high"))
            who = line[_("Forecaster")] if value * better > 0 else first
            word = _("no clear difference") if low <= 0 <= high else _("{who} is better").format(who=who)
            shown = f"{number(value, 4, sign=True)} [{number(low, 4)}; {number(high, 4)}]"
            line[title] = "" if pd.isna(value) else shown if pd.isna(low) else f"{shown}, {word}"
        lines.append(line)
    if lines:
        st.dataframe(pd.DataFrame(lines), hide_index=True, width="stretch", height="content")
        st.caption(
            _("Their score less that of {name} on the same rows, the mean over recordings, with its 95 % interval.").format(
                name=first
            )
        )


def _worst(answer: dict[str, Any]) -> None:
    """Shows where the first checkpoint was most wrong; a click on a row opens its window."""
    st.header(_("Where {name} was most wrong").format(name=answer["checkpoint"]), anchor=False)
    st.caption(_("Tick a row to open its window on the page of attention maps."))
    calls = [_("Down"), _("Stationary"), _("Up")]
    lines = answer["worst"]
    table = pd.DataFrame(
        {
            _("Recording"): one["recording"],
            _("Time"): moment(datetime.fromtimestamp(one["timestamp"] / 1e3, UTC)),
            _("Called"): calls[one["called"]] if one["called"] >= 0 else "",
            _("What happened"): calls[one["truth"]],
            _("Probability it was given"): percent((one["p_down"], one["p_stationary"], one["p_up"])[one["truth"]]),
        }
        for one in lines
    )
    state: Any = st.dataframe(
        table, hide_index=True, width="stretch", height=320, on_select="rerun", selection_mode="single-row", key="score_worst"
    )
    picked = state.selection.rows
    if picked:
        open_window(answer, lines[picked[0]])


def open_window(answer: dict[str, Any], line: dict[str, Any]) -> None:
    """Freeze the window that ends at a row of the report, and go to the page that explains it."""
    plan = SCORING.run.status().plan
    name = answer["checkpoint"]
    try:
        steps = cached_results.predictor_of(name).window
        places = (
            plan.places
            if plan
            else [str(path) for one in answer["recordings"] for path in find_recording(one["recording"]).paths]
        )
        window = cut_window(places, line["recording"], line["timestamp"], steps, predictor=name)
    except (BookError, WindowError, OSError) as error:
        controls.error_box(str(error))
        return
    key = STORE.keep(window, permissions.visitor().holder)
    st.switch_page("pages/markets/attention.py", query_params={"window": "frozen", "frozen": key})


def _downloads() -> None:
    """Report with every table, which tables on the page give away one by one, and the rows."""
    scorer = SCORING.run
    report = scorer.file("report.json")
    with st.container(horizontal=True):
        if report is not None:
            controls.download_bytes(
                _("Report (JSON)"), report.read_bytes, key="score_report", filename="report.json", mime="application/json"
            )
        controls.download_table(_("Every row"), lambda: scorer.table("rows"), key="score_rows", filename="rows")


def page() -> None:
    """The answer first: that of the last run, or of bundled recordings; what to score is chosen in a fold until a link does."""
    controls.page_header(_("Score recordings"), prose("score_lead"))
    answer = SCORING.run.answer()
    opened = "recs" in st.query_params or answer is None
    with st.expander(_("Score recordings of your choice"), icon=":material/grading:", expanded=opened):
        start(settings())
    watch(SCORING.run.status().running)
    if answer is not None:
        if SCORING.run.status().plan is None:
            st.caption(
                _("An example: an hour of a market that the model knows, of a time it did not learn from, scored beforehand.")
            )
        try:
            results(answer)
        except (KeyError, OSError):
            if not SCORING.run.status().running:
                raise
            st.rerun()  # another visitor has started a scoring meanwhile, with which these files went
    controls.link_to_view()


page()
