"""Score cards of the ledger: every market by day, week or month, of what is recomputed when asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.market.answers.naive import A_THIRD_EACH
from core.market.ledger.chain import LedgerError
from core.market.ledger.scorecard import PERIODS, Period, score_card
from core.market.ledger.verification import NOT_PROVEN, State, Verification, market_folders
from core.market.ledger.writer import ledger_folder
from core.messages import translate
from core.service import ledger
from core.service.access import Action
from pages.markets.alerts_panel import head_name
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, moment, number
from pages.shared.stat_strip import Stat, Tone, stat_strip

MAX_MB: Final = 100
HOURS: Final[dict[str, int | None]] = {"1": 1, "24": 24, "all": None}
TONES: Final[dict[State, Tone]] = {"verified": "good", "incomplete": "warning", "broken": "bad"}


def show() -> None:
    """The section: what to recompute, a button, and the states and scores it makes, to download."""
    _own()
    if permissions.visitor().may(Action.VERIFY):
        with st.expander(_("Check somebody else's ledger"), icon=":material/verified:"):
            _other()


def _own() -> None:
    st.header(_("Score cards"), anchor=False)
    st.markdown(
        _(
            "Every row and prediction of a live feed is written into the ledger as it is made. Here the predictions are made "
            "again from those rows; what comes out equal is scored."
        )
    )
    folder = ledger_folder()
    if folder is None:
        controls.notice("empty", _("The ledger is switched off on this server."))
        return
    try:
        market_folders(folder)
    except LedgerError:
        controls.notice("empty", _("There is no ledger yet: it begins with the first live feed that somebody watches."))
        return
    if not permissions.guard(Action.VERIFY):
        return
    period, span, noted, asked = _choices()
    by, hours = permissions.visitor(), HOURS[span]
    _answer(
        "cards",
        (period, span, noted),
        asked,
        lambda progress: ledger.recompute(by, folder, heads=_heads(noted), hours=hours, progress=progress),
        period=period,
    )


def _other() -> None:
    """A ledger as a folder or a ZIP file: its state, its scores, and what it does not prove."""
    st.caption(
        _(
            "A ledger's folder or one market's, or a ZIP file of it. Its predictions are made again from its rows by checkpoints "
            "of this server; heads that a time-stamp server signed count as noted if you give that server's root certificate."
        )
    )
    left, right = st.columns(2)
    with left:
        packed = st.file_uploader(_("Ledger (ZIP)"), type=["zip"], key="archive:file", max_upload_size=MAX_MB)
        root = st.file_uploader(_("Root certificate (PEM)"), type=["pem", "crt"], key="archive:root", max_upload_size=1)
    with right:
        files = st.file_uploader(
            _("Ledger (folder)"), accept_multiple_files="directory", key="archive:folder", max_upload_size=MAX_MB
        )
        noted = st.text_input(_("Heads that you noted"), key="archive:heads")
        asked = st.button(_("Check it"), icon=":material/verified:", key="archive:check", disabled=not (packed or files))
    by, certificate = permissions.visitor(), root.getvalue() if root else b""
    _answer(
        "archive",
        (*(one.file_id for one in (packed, root, *files) if one), noted),
        asked,
        lambda progress: ledger.check_archive(
            by, packed or ledger.zipped(files), heads=_heads(noted), certificate=certificate, progress=progress
        ),
    )


def _heads(noted: str) -> list[str]:
    return noted.replace(",", " ").split()


def _answer(
    key: str,
    choices: tuple[str, ...],
    asked: bool,
    check: Callable[[Callable[[int, int], None]], Verification],
    *,
    period: Period = "day",
) -> None:
    """The result of a check, kept until its choices change."""
    kept = f"wall:{key}"
    if asked:
        st.session_state.pop(kept, None)  # nothing old stays under an error
        try:
            with st.spinner(_("Making the predictions again…"), show_time=True), controls.progress("") as told:
                result = check(lambda done, total: told(done / max(total, 1)))
        except (LedgerError, OSError) as error:
            controls.error_box(_("The ledger cannot be checked: {reason}").format(reason=translate(str(error))))
            return
        card = score_card(result, period=period)
        st.session_state[kept] = (choices, _verdict(result), _states(result), _reasons(result), card, _anchors(result))
    checked = st.session_state.get(kept)
    if checked is not None and checked[0] == choices:
        stat_strip(checked[1])
        _show(*checked[2:5], period=period, key=key)
        _show_anchors(checked[5])


def state_names() -> dict[State, str]:
    """States of a ledger, in the reader's language."""
    return {"verified": _("verified"), "incomplete": _("incomplete"), "broken": _("broken")}


def _verdict(result: Verification) -> list[Stat]:
    """The answer in one line: the state, how much was made again, and until when it reaches."""
    newest = max((market.head.written_ms for market in result.markets if market.head), default=None)
    done, rows = number(result.total("recomputed")), number(result.total("rows"))
    return [
        Stat(name=_("State"), value=state_names()[result.state], tone=TONES[result.state]),
        Stat(name=_("Recomputed, equal"), value=_("{count} of {all}").format(count=done, all=rows)),
        Stat(name=_("Late"), value=number(result.total("late"))),
        Stat(name=_("Reaches to (UTC)"), value=moment(datetime.fromtimestamp(newest / 1e3, UTC)) if newest else "–"),
    ]


def _anchors(result: Verification) -> pd.DataFrame:
    """A line for each answer of a time-stamp server or calendar that lies in the ledger."""
    lines = [
        (market.name, one["by"], one["entry"], one["no_later_ms"], one["checked"], translate(one["remark"]))
        for market in result.markets
        for one in market.anchors
    ]
    table = pd.DataFrame(lines, columns=["market", "by", "entry", "time", "checked", "remark"])
    return table.assign(time=pd.to_datetime(table["time"], unit="ms", utc=True))


def _show_anchors(anchors: pd.DataFrame) -> None:
    if anchors.empty:
        return
    column = st.column_config
    names = {
        "market": column.TextColumn(_("Market"), pinned=True),
        "by": column.TextColumn(_("Stamped by")),
        "entry": column.NumberColumn(_("Up to entry"), format="localized"),
        "time": column.DatetimeColumn(_("No later than (UTC)"), timezone="UTC"),
        "checked": column.CheckboxColumn(_("Signature checked")),
        "remark": column.TextColumn(_("Remark")),
    }
    st.dataframe(anchors, hide_index=True, width="stretch", column_config=names)


def _choices() -> tuple[Period, str, str, bool]:
    """The period, what to recompute, the heads typed, and whether to begin."""
    periods: dict[str, str] = dict(zip(PERIODS, (_("Day"), _("Week"), _("Month")), strict=True))
    spans: dict[str, str] = dict(zip(HOURS, (_("Newest hour"), _("Newest day"), _("Everything")), strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        period = url_state.choice(st.segmented_control, _("Period (UTC)"), periods, key="cards", required=True)
        span = url_state.choice(st.segmented_control, _("Recompute"), spans, key="recompute", required=True)
        noted = st.text_input(
            _("Heads that you noted"),
            key="cards:heads",
            help=_("The newest hash of each market, as the live page shows it. Without one nothing vouches for a ledger's end."),
        )
        asked = st.button(_("Recompute and score"), icon=":material/calculate:", key="cards:compute")
    return cast(Period, period), span, noted, asked


def _states(result: Verification) -> pd.DataFrame:
    """A line a market: its state, its counts and its newest head."""
    lines = [
        (one.name, state_names()[one.state], one.rows, one.recomputed, one.late, one.head.hash if one.head else "")
        for one in result.markets
    ]
    return pd.DataFrame(lines, columns=["market", "state", "predictions", "recomputed", "late", "hash"])


def _reasons(result: Verification) -> list[str]:
    """Reasons that it is not verified, a sentence each."""
    broken = [
        _("{market}: entry {entry} of {file} does not hold: {reason}.").format(
            market=one.market, entry=one.entry, file=one.file or one.market, reason=translate(one.why)
        )
        for one in (market.difference for market in result.markets)
        if one is not None
    ]
    missing = [(market, translate(reason)) for market, reason in result.reasons()]
    return broken + [f"{market}: {reason}." if market else controls.as_sentence(reason) for market, reason in missing]


def _show(states: pd.DataFrame, reasons: list[str], card: pd.DataFrame, *, period: Period, key: str) -> None:
    column = st.column_config
    market = {"market": column.TextColumn(_("Market"), pinned=True)}
    counts = {"predictions": _("Predictions"), "recomputed": _("Recomputed, equal"), "late": _("Late")}
    words = {"state": column.TextColumn(_("State")), "hash": column.TextColumn(_("Newest head"))}
    st.dataframe(states, hide_index=True, width="stretch", column_config=market | words | _numbers(counts))
    if reasons:
        controls.notice("stale", _("Why it is not verified:") + "".join(f"\n- {controls.plain(reason)}" for reason in reasons))
    st.caption(translate(NOT_PROVEN))
    if card.empty:
        controls.notice("empty", _("No prediction was recomputed and equal, so there is nothing to score."))
        return
    names = {
        "samples": _("Samples"),
        "accuracy": _("Accuracy"),
        "log_loss": _("Log loss"),
        "macro_f1": _("Macro-F1"),
        "matthews": _("Matthews"),
        "momentum_macro_f1": _("Macro-F1, momentum"),
        "momentum_matthews": _("Matthews, momentum"),
        "frequencies_matthews": _("Matthews, frequencies"),
        "frequencies_log_loss": _("Log loss, frequencies"),
        "decayed_matthews": _("Matthews, recent frequencies"),
        "decayed_log_loss": _("Log loss, recent frequencies"),
        "ece": _("Calibration error"),
        "luck": _("Chance of luck"),
        "late": _("Late"),
        "accuracy_with_late": _("Accuracy with the late"),
        "matthews_with_late": _("Matthews with the late"),
        "stalled": _("Book stood still"),
        "accuracy_stalled": _("Accuracy of these"),
        "unconfirmed": _("Row never confirmed"),
        "no_outcome": _("No outcome"),
    }
    heads = {"begins": column.DateColumn(_("Begins")), "head": column.TextColumn(_("Label and horizon"))}
    st.dataframe(
        card.round(dict.fromkeys(card.select_dtypes("float").columns, 4)).assign(head=card["head"].map(head_name)),
        hide_index=True,
        width="stretch",
        column_config=market | heads | _numbers(names),
    )
    if worse := int((card["log_loss"] > A_THIRD_EACH).sum()):
        text = _(":material/warning: The log loss is above {limit}, that of saying a third each, in {count} of {all} rows.")
        st.markdown(text.format(limit=number(A_THIRD_EACH, 3), count=number(worse), all=number(len(card))))
    st.caption(
        _(
            "A prediction is scored if it was recomputed, was written before the first step of its horizon had passed, if its "
            "book had not stood still, and if its row and outcome are known. The last seven columns count the others."
        )
    )
    controls.download_table(_("Score cards"), lambda: card, key=f"{key}:download", filename=f"score-cards-{period}")


def _numbers(names: dict[str, str]) -> dict[str, Any]:
    return {key: st.column_config.NumberColumn(name, format="localized") for key, name in names.items()}
