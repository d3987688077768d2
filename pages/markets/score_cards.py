"""Score cards of the ledger: every market by day, week or month, computed when asked for."""

from __future__ import annotations

from typing import Any, Final, cast

import streamlit as st

from core import checkpoints
from core.market.ledger.keeper import ledger_folder
from core.market.ledger.records import LedgerError
from core.market.ledger.scorecard import PERIODS, Period, score_card
from core.market.ledger.verification import market_folders, shipped_predictors
from core.messages import translate
from pages.markets.alerts_panel import head_name
from pages.shared import controls, url_state
from pages.shared.language import _

COMPUTED: Final = "wall:cards"


def show() -> None:
    """The section: a period, a button, and the table it makes, to download."""
    st.subheader(_("Score cards"), anchor=False)
    st.markdown(
        _("Every prediction of a live feed is written into the ledger before its outcome is known, and scored from there.")
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
    periods: dict[str, str] = dict(zip(PERIODS, (_("Day"), _("Week"), _("Month")), strict=True))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        code = url_state.choice(st.segmented_control, _("Period (UTC)"), periods, key="cards", required=True)
        asked = st.button(_("Compute the score cards"), icon=":material/calculate:", key="cards:compute")
    period = cast(Period, code)
    if asked:
        st.session_state.pop(COMPUTED, None)  # nothing old stays under an error
        try:
            with st.spinner(_("Reading the ledger…"), show_time=True):
                card = score_card(folder, shipped_predictors(checkpoints.FOLDER), period=period)
        except (LedgerError, OSError) as error:
            controls.error_box(
                _("The ledger cannot be scored: {reason}").format(reason=translate(str(error))),
                remedy=_("Verify it with the command line."),
            )
            return
        st.session_state[COMPUTED] = (period, card)
    computed = st.session_state.get(COMPUTED)
    if computed is None or computed[0] != period:
        return
    card = computed[1]
    if card.empty:
        controls.notice("empty", _("No prediction in the ledger has come due, or its model is not among the checkpoints here."))
        return
    st.dataframe(
        card.round(dict.fromkeys(card.select_dtypes("float").columns, 4)).assign(head=card["head"].map(head_name)),
        hide_index=True,
        width="stretch",
        column_config=_columns(),
    )
    controls.download_table(_("Score cards"), lambda: card, key="cards:download", filename=f"score-cards-{period}")


def _columns() -> dict[str, Any]:
    column = st.column_config
    names = {
        "samples": _("Samples"),
        "accuracy": _("Accuracy"),
        "log_loss": _("Log loss"),
        "macro_f1": _("Macro-F1"),
        "matthews": _("Matthews"),
        "momentum_macro_f1": _("Macro-F1, momentum"),
        "momentum_matthews": _("Matthews, momentum"),
        "ece": _("Calibration error"),
        "luck": _("Chance of luck"),
    }
    return {
        "market": column.TextColumn(_("Market"), pinned=True),
        "begins": column.DateColumn(_("Begins")),
        "head": column.TextColumn(_("Label and horizon")),
        **{key: column.NumberColumn(name, format="localized") for key, name in names.items()},
    }
