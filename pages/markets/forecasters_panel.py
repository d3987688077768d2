"""Forecasters that the reader compares TLOB with: their choice, their running scores, and those over a whole recording."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from core.device import use_one_thread
from core.market.answers.predictions import RowPredictions
from core.market.answers.table import Scores
from core.market.answers.value import Estimate
from core.market.book import BookRows
from core.market.feeds.recording import RecordingFeed
from core.market.forecasters.catalogue import AnyForecaster
from core.market.forecasters.comparison import Comparison, ForecasterScore, compare, names_of
from core.market.forecasters.live import FIRST_FIT
from core.market.forecasters.protocol import ForecasterError
from core.market.forecasters.table import SUFFIXES
from core.market.session import MarketSession
from core.market.store.rows import read_market
from core.messages import translate
from core.service import forecasters
from core.service.access import Action, NotAllowed
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.markets.live_scores import forecaster_names
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, number

COMPARED: Final = "peers:compared"
"""Session state: what was compared over a whole recording last, and the comparison."""
WANTED: Final = "peers:wanted"
"""Session state: whether the button was just pressed."""
CHOSEN: Final = "peers:chosen"
"""Session state: spellings of the forecasters chosen."""
MAX_MB: Final = 50


def shown_names() -> dict[str, str]:
    """Names of the shipped forecasters in the reader's language, by code."""
    return {**forecaster_names(), "lightgbm": "LightGBM", "deeplob": "DeepLOB", "blend": _("TLOB and LightGBM averaged")}


def show(session: MarketSession, choices: ViewChoices) -> None:
    """The choice of forecasters, and their running scores beside TLOB's on the same rows. Repeat it while they are to run."""
    chosen = _choose()
    forecasters.run_beside(permissions.visitor(), session, chosen)
    if chosen != st.session_state.get(CHOSEN, []):
        st.session_state[CHOSEN] = chosen
        st.rerun()  # the part below on the whole recording follows
    if not chosen:
        return
    scores = [score for score in session.peers.scores(choices.head) if score.name in chosen]
    st.dataframe(_table(scores, running=True), hide_index=True, width="stretch", height="content")
    for score in scores:
        if score.reason:
            st.caption(f":material/warning: {controls.as_sentence(translate(score.reason))}")
    st.caption(
        _(
            "Both on the same rows, {horizon} ahead, since each was chosen. Differences are the forecaster's score less TLOB's, "
            "with 95 % intervals of a paired block bootstrap. A forecaster's call rule is fitted to its own outcomes once "
            "{count} are known; until then its likeliest class is called. An answer that is wrong, late or absent is missing, "
            "and not scored."
        ).format(horizon=horizon_name(choices.horizon), count=number(FIRST_FIT))
    )


def _choose() -> list[str]:
    by_code = {name.replace(".", "-"): spelling for spelling, name in names_of(forecasters.offered()).items()}
    names = shown_names()
    with st.popover(_("Compare with"), icon=":material/compare_arrows:", width="content"):
        codes = url_state.several(
            _("Forecasters"), {code: names.get(spelling, spelling) for code, spelling in by_code.items()}, key="peers"
        )
        st.caption(
            _(
                "Each runs in a thread of its own and has one step to answer, so that TLOB never waits for it. Your own is added "
                "as a Python entry point, a file of probabilities or an address on this machine: see docs/forecasters.md."
            )
        )
    return [by_code[code] for code in codes]


def _table(scores: list[ForecasterScore], *, running: bool) -> pd.DataFrame:
    names = shown_names()
    return pd.DataFrame(
        {
            _("Forecaster"): names.get(score.name, score.name),
            _("Samples"): number(score.scores.samples),
            _("Missing"): number(sum(score.missing.values())),
            _("Matthews"): _value(score.scores, "matthews"),
            _("Log loss"): _value(score.scores, "log_loss"),
            **(
                {_("TLOB's Matthews"): _value(score.tlob, "matthews"), _("TLOB's log loss"): _value(score.tlob, "log_loss")}
                if running
                else {}
            ),
            _("Difference in Matthews"): _interval(score.less_tlob.get("matthews")),
            _("Difference in log loss"): _interval(score.less_tlob.get("log_loss")),
            **({_("Call rule"): _("likeliest class") if score.rule is None else _("fitted")} if running else {}),
        }
        for score in scores
    )


def _value(scores: Scores, measure: str) -> str:
    return number(scores.summary()[measure], 3) if scores.samples else ""


def _interval(difference: Estimate | None) -> str:
    if difference is None:
        return ""
    value, low, high = (number(one, 3) for one in (difference.value, difference.low, difference.high))
    return f"{value} [{low}; {high}]"


def show_whole(session: MarketSession, whole: RowPredictions, choices: ViewChoices) -> None:
    """Over a whole recording that TLOB has scored: the chosen forecasters on the same rows and terms, and a reader's file."""
    feed = session.feed
    if not isinstance(feed, RecordingFeed):
        return
    chosen: list[str] = st.session_state.get(CHOSEN, [])
    given = _file() if permissions.guard(Action.ADD_FORECASTER) else None
    if not chosen and given is None:
        return
    wanted = st.session_state.pop(WANTED, False)
    st.button(
        _("Score these forecasters over the whole recording"),
        icon=":material/compare_arrows:",
        key="peers:score",
        on_click=_want,
        disabled=wanted,
    )
    of_what = (feed.path, session.entry.name, tuple(chosen), given.file_id if given is not None else None)
    if wanted:
        try:
            peers = _found(session, chosen, given)
        except (ForecasterError, NotAllowed) as error:
            controls.error_box(str(error))
            return
        st.session_state[COMPARED] = (of_what, _compared(session, feed, whole, peers))
        st.rerun()
    kept = st.session_state.get(COMPARED)
    if kept is not None and kept[0] == of_what:
        _show_comparison(kept[1], choices)


def _file() -> Any:
    return st.file_uploader(
        _("Probabilities of your own, by time (CSV or Parquet)"), type=[s[1:] for s in SUFFIXES], key="peers:file",
        max_upload_size=MAX_MB,
    )  # fmt: skip


def _want() -> None:
    st.session_state[WANTED] = True


def _found(session: MarketSession, chosen: list[str], given: Any) -> dict[str, AnyForecaster]:
    by, task = permissions.visitor(), session.peers.task
    peers = forecasters.of_server(by, chosen, task)
    if given is not None:
        peers[given.name] = forecasters.of_visitor(by, given, task, name=given.name)
    return peers


def _compared(session: MarketSession, feed: RecordingFeed, whole: RowPredictions, peers: dict[str, AnyForecaster]) -> Comparison:
    bar = st.progress(0.0, text=_("Reading the recording…"))
    st.button(_("Stop"), icon=":material/stop:", key="peers:stop")
    use_one_thread()

    def moved(done: int, total: int) -> None:
        bar.progress(done / total, text=_("Row {done} of {total}").format(done=number(done), total=number(total)))

    rows: BookRows = read_market(feed.paths)
    return compare(session.predictor, rows, session.entry, peers, spelling=session.peers.task.market, known=whole, progress=moved)


def _show_comparison(comparison: Comparison, choices: ViewChoices) -> None:
    boards = comparison.scores(choices.head)
    st.dataframe(_table(boards, running=False), hide_index=True, width="stretch", height="content")
    for score in boards:
        if score.reason:
            st.caption(f":material/warning: {controls.as_sentence(translate(score.reason))}")
    if comparison.fit.any():
        st.caption(
            _(
                "Call rules of all, TLOB's too, are fitted on the first fifth of the recording and scored on the rest; "
                "differences are from TLOB, with 95 % intervals of a paired block bootstrap."
            )
        )
    else:
        st.caption(
            _(
                "The recording is too short to fit call rules: the likeliest class is called. Differences are from TLOB, with "
                "95 % intervals of a paired block bootstrap."
            )
        )
