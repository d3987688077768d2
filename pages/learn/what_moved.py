"""Changes by the last move of a dial: the numbers before it are kept for each view, and the change is told in a sentence."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.lecture import moved as core_moved
from core.lecture.moved import Moved
from pages.shared.language import _, number, significant

KEY: Final = "moved:"
MAX_NAMED: Final = 8
"""Rows listed by name; more are counted."""


@dataclass
class _View:
    """One view's numbers.

    Attributes:
        signature: shape and names of the rows. shown, dials: the numbers and the view's dials now.
        moved, by: what the last change of a dial moved, and the dials' labels.
    """

    signature: Hashable
    shown: Any
    dials: dict[str, tuple[str, Any]]
    moved: Moved | None = None
    by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Followed:
    """A matrix of a view, of which the last change is told.

    Attributes:
        name: the same on every run. values: (rows, columns).
        rows, columns: names; columns by their numbers where None; with other rows, or another shape, the comparison starts anew.
        still: said where nothing moved; that all rows are as before where empty.
    """

    name: str
    values: Any
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    still: str = ""


def follow(it: Followed, moving: Mapping[str, tuple[str, Any]]) -> Moved | None:
    """Compare the numbers with those before the last change of a dial; None where there is nothing to compare yet.

    Where a dial that can move numbers (`Dial.reads`) changed and the numbers did not, that is a finding too.

    Args:
        moving: label and value of each such dial, by code.
    """
    state, signature = st.session_state, (it.values.shape, tuple(it.rows))
    kept: _View | None = state.get(KEY + it.name)
    dials = dict(moving)
    if kept is None or kept.signature != signature:
        state[KEY + it.name] = _View(signature, it.values.copy(), dials)
        return None
    change = core_moved.compare(kept.shown, it.values)
    by = tuple(label for code, (label, value) in dials.items() if kept.dials.get(code, (label, value))[1] != value)
    if change.rows or by:
        kept.moved, kept.by, kept.shown = change, by, it.values.copy()
    kept.dials |= dials
    return kept.moved


def say(it: Followed, moved: Moved | None) -> None:
    """The sentence on what moved and by which dial; nothing before the first change."""
    if moved is None:
        return
    kept: _View = st.session_state[KEY + it.name]
    by = f"**{', '.join(kept.by)}** · " if kept.by else ""
    st.markdown(f":material/compare_arrows: {by}{sentence(it, moved)}")


def sentence(it: Followed, moved: Moved) -> str:
    """Tells in words what moved: where most, and which rows did not move."""
    if not moved.rows:
        return it.still or _("Nothing moved: every row is as before.")
    most, still = most_moved(it, moved), moved.still
    if not still:
        return most + " " + _("Every row moved.")
    if len(still) > MAX_NAMED:
        return most + " " + _("{still} of {all} rows did not move.").format(still=number(len(still)), all=number(len(it.rows)))
    return most + " " + _("Did not move: {rows}.").format(rows=", ".join(it.rows[one] for one in still))


def most_moved(it: Followed, moved: Moved) -> str:
    """Tells in words where most moved."""
    row, column = moved.most
    where = it.columns[column] if it.columns is not None else number(column + 1)
    return _("Most moved {row}, {column}: {before} → {after}.").format(
        row=f"**{it.rows[row]}**",
        column=f"**{where}**",
        before=f"**{_value(float(moved.before[row, column]))}**",
        after=f"**{_value(float(moved.after[row, column]))}**",
    )


def _value(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    return significant(value) if value else "0"
