"""TLOB's scores over a whole recording, beside those so far, and jumps of the playback to its calls and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final

import pandas as pd
import streamlit as st

from core.files import Written, written
from core.market.answers.naive import A_THIRD_EACH, CALLERS
from core.market.answers.predictions import HeadResult, RowPredictions, predict_rows, score_head
from core.market.answers.value import CallValue
from core.market.answers.value import call_value as measure_value
from core.market.book import STEP_MS
from core.market.feeds.recording import RecordingFeed
from core.market.predictor import MarketCard, Predictor
from core.market.session import MarketSession
from core.market.store.rows import read_market
from pages.markets import call_value, toolbar
from pages.markets.cached_results import HASHES
from pages.markets.live_controls import ViewChoices, horizon_name
from pages.markets.live_scores import apart_sentence, rule_names, worse_than_nothing
from pages.shared import controls
from pages.shared.kept_results import kept
from pages.shared.language import _, moment, number, percent

BATCH: Final = 64
"""Windows between two moves of the progress bar: a second or less."""
ROWS_BEFORE: Final = 5_000 // STEP_MS
"""Rows before a call or a mistake at which the playback goes on: five seconds."""
JUMPED: Final = "whole:jumped"
"""Session state: the feed's key and the row of the latest jump."""
WANTED: Final = "whole:wanted"
"""Session state: whether the button was just pressed."""


@kept(8, HASHES)
def _predicted(
    predictor: Predictor, entry: MarketCard, files: Written, moved: Callable[[int, int], None] | None = None
) -> RowPredictions:
    return predict_rows(predictor, read_market([path for path, _written in files]), entry, batch=BATCH, progress=moved)


def show(session: MarketSession, choices: ViewChoices, zone: str = "UTC") -> None:
    """Of a recording: the button that scores the whole of it, then its scores and the jumps; times in this zone."""
    feed = session.feed
    if not isinstance(feed, RecordingFeed):
        return
    st.header(_("The whole recording, {horizon} ahead").format(horizon=horizon_name(choices.horizon)), anchor=False)
    whole = _predicted.find(session.predictor, session.entry, written(feed.paths))
    if whole is None:
        _offer(session, feed)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _jump_buttons(feed, whole, choices.head)
        filename = f"{session.predictor.card['name']}-{feed.path.stem}"
        controls.download_table(_("Every row"), whole.table, key="whole_rows", filename=filename)
    _describe_jump(feed, whole, choices.head, zone)
    st.fragment(run_every=10.0)(_boards)(session, whole, choices)
    _show_value(session, feed, whole, choices.head)


def _offer(session: MarketSession, feed: RecordingFeed) -> None:
    """The button, and what it starts. Any rerun of the page ends the work, and nothing of it is kept."""
    wanted = st.session_state.pop(WANTED, False)
    label = _("Score the whole recording")
    st.button(label, icon=":material/grading:", key="whole:score", on_click=_want, disabled=wanted)
    st.caption(
        _("TLOB then calls at each of its {count} rows. The playback goes on meanwhile.").format(count=number(feed.length))
    )
    if not wanted:
        return
    bar = st.progress(0.0, text=_("Reading the recording…"))
    st.button(_("Stop"), icon=":material/stop:", key="whole:stop")
    st.caption(_("Changing anything else on the page stops it too."))

    def moved(done: int, total: int) -> None:
        text = _("Row {done} of {total}").format(done=number(done), total=number(total))
        bar.progress(done / total, text=text)

    _predicted(session.predictor, session.entry, written(feed.paths), moved=moved)
    st.rerun()


def _want() -> None:
    st.session_state[WANTED] = True  # known before the button is drawn, which is greyed out meanwhile


def _jump_buttons(feed: RecordingFeed, whole: RowPredictions, head: int) -> None:
    jumps = (
        ("call", _("Next call"), ":material/arrow_forward:", False, False),
        ("back", _("Previous mistake"), ":material/undo:", True, True),
        ("mistake", _("Next mistake"), ":material/redo:", True, False),
    )
    for key, label, icon, wrong, back in jumps:
        find = partial(whole.next_run, head, wrong=wrong, back=back)
        st.button(label, icon=icon, key=f"whole:{key}", on_click=_jump, args=(feed, find))


def _jump(feed: RecordingFeed, find: Callable[[int], int | None]) -> None:
    """Play from a few seconds before the row found; where there is none, say so."""
    row = find(_looked_at(feed))
    if row is None:
        st.toast(_("There is no further one in this direction."), icon=":material/info:")
        return
    feed.seek(max(0, row - ROWS_BEFORE))
    toolbar.remember_moment(feed)
    st.session_state[JUMPED] = (feed.key, row)


def _looked_at(feed: RecordingFeed) -> int:
    """The row of the latest jump until the playback has passed it, else the row played last."""
    key, row = st.session_state.get(JUMPED, ("", 0))
    return int(row) if key == feed.key and row - ROWS_BEFORE <= feed.position <= row else feed.position


def _describe_jump(feed: RecordingFeed, whole: RowPredictions, head: int, zone: str) -> None:
    """Of the latest jump: when, what was called, and what happened."""
    key, row = st.session_state.get(JUMPED, ("", 0))
    call = whole.at(row, head) if key == feed.key else None
    if call is None:
        st.caption(
            _(
                "The buttons go to where TLOB begins to call Up or Down, and to where such calls begin to be wrong, "
                "and play from five seconds before."
            )
        )
        return
    names = [_("Down"), _("Stationary"), _("Up")]
    when = moment(datetime.fromtimestamp(call.timestamp / 1e3, UTC), zone=zone)
    sentence = (
        _("At {time} TLOB calls {call} ({share}); what happens is not in the recording.")
        if call.truth is None
        else _("At {time} TLOB calls {call} ({share}); what happens: {truth}.")
    )
    truth = "" if call.truth is None else names[call.truth]
    st.caption(sentence.format(time=when, call=names[call.call], share=percent(call.probability), truth=truth))


def _boards(session: MarketSession, whole: RowPredictions, choices: ViewChoices) -> None:
    result = score_head(whole, session.entry, choices.head)
    st.dataframe(_table(session, result, choices.head), hide_index=True, width="stretch", height="content")
    if (loss := result.scores["tlob"].log_loss) > A_THIRD_EACH:
        st.markdown(worse_than_nothing(loss))
    if result.apart.samples:
        st.caption(apart_sentence(result.apart.samples, result.apart.summary()["accuracy"]))
    st.caption(
        _(
            "So far: what this playback has scored since it began or was last wound back. "
            "The calibration error is that of the likeliest class, in 15 bins."
        )
    )


@kept(64, {**HASHES, RowPredictions: lambda _made_of_the_others: None})
def _values(predictor: Predictor, entry: MarketCard, files: Written, head: int, whole: RowPredictions) -> dict[str, CallValue]:
    """Value of each rule's calls of one head over the whole recording."""
    return {rule: measure_value(rows) for rule, rows in whole.of_head(head).call_rows(*CALLERS).items()}


def _show_value(session: MarketSession, feed: RecordingFeed, whole: RowPredictions, head: int) -> None:
    values = _values(session.predictor, session.entry, written(feed.paths), head, whole)
    st.markdown(call_value.luck_sentence(values["tlob"].luck))
    st.dataframe(call_value.value_table(values, call_value.fee_chosen()), hide_index=True, width="stretch", height="content")
    st.caption(
        _(
            "What the calls of the whole recording were worth, with 95 % intervals, "
            "after the fee chosen on this page ({fee} bps)."
        ).format(fee=number(call_value.fee_chosen(), 1))
    )


def _table(session: MarketSession, result: HeadResult, head: int) -> pd.DataFrame:
    spans = {_("whole recording"): result.scores, _("so far"): session.scores(head).session}
    rows = []
    for rule, name in rule_names().items():
        for span, scores in spans.items():
            samples, got = scores[rule].samples, scores[rule].summary()
            rows.append(
                {
                    _("Forecaster"): name,
                    _("Over"): span,
                    _("Samples"): number(samples),
                    _("Macro-F1"): number(got["macro_f1"], 3) if samples else "",
                    _("Matthews"): number(got["matthews"], 3) if samples else "",
                    _("Log loss"): number(got["log_loss"], 3) if got["log_loss"] == got["log_loss"] else "",
                    _("Calibration error"): percent(got["ece"]) if samples and rule == "tlob" else "",
                }
            )
    return pd.DataFrame(rows)
