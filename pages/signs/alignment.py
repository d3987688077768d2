"""WER in numbers and an alignment as a table: parts of the metrics lab and of the recognition page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.signs.edits import Edit
from core.signs.metrics import WordErrors
from pages.shared.language import _, number, percent
from pages.shared.stat_strip import Stat


def error_stats(errors: WordErrors) -> list[Stat]:
    """The rate and its counts."""
    return [
        Stat(
            name="WER",
            value=_("undefined") if errors.rate is None else percent(errors.rate),
            note=_("(S + D + I) / N = {errors} / {words}").format(errors=number(errors.errors), words=number(errors.words)),
        ),
        Stat(name=_("Substitutions S"), value=number(errors.substitutions)),
        Stat(name=_("Deletions D"), value=number(errors.deletions)),
        Stat(name=_("Insertions I"), value=number(errors.insertions)),
        Stat(name=_("Words N"), value=number(errors.words)),
    ]


def alignment_table(steps: Sequence[Edit], reference: Sequence[str], hypothesis: Sequence[str]) -> None:
    """One row a step, in reading order."""
    kinds = {
        "equal": _("equal"),
        "substitution": _("S substitution"),
        "deletion": _("D deletion"),
        "insertion": _("I insertion"),
    }
    rows = [
        {
            _("Reference"): "" if step.reference is None else reference[step.reference],
            _("Hypothesis"): "" if step.hypothesis is None else hypothesis[step.hypothesis],
            _("Step"): kinds[step.operation],
        }
        for step in steps
    ]
    if not rows:
        st.caption(_("Both sentences are empty: there is nothing to align."))
        return
    table = pd.DataFrame(rows)
    st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), 320))
