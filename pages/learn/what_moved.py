"""Changes by the last move of a dial: the state before it is kept for each view, told in a sentence, and can be brought back."""

from collections.abc import Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from core.lecture import moved as core_moved
from core.lecture.moved import Moved
from pages.shared.language import _, number, significant

KEY: Final = "moved:"
MAX_UNDO: Final = 20
MAX_NAMED: Final = 8
"""Rows listed by name; more are counted."""
NOT_DIALS: Final = frozenset({"lang", "part", "present"})
KEPT: Final = (":kept", ":edits", ":typed")
"""Ends of the names by which the session keeps a dial's value beside its widget's."""

Choices = dict[str, Any]


@dataclass
class _View:
    """One view's states.

    Attributes:
        signature: shape and names of the rows. shown: the numbers now.
        dials, choices: the view's dials and the session's choices, now.
        moved, by: what the last change of a dial moved, and the dials' labels.
        history: for each change, the choices that it changed, as they were before.
    """

    signature: Hashable
    shown: Any
    dials: dict[str, tuple[str, Any]]
    choices: Choices
    moved: Moved | None = None
    by: tuple[str, ...] = ()
    history: list[Choices] = field(default_factory=list)
    undoing: bool = False


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
    dials, now = deepcopy(dict(moving)), _choices()
    if kept is None or kept.signature != signature:
        state[KEY + it.name] = _View(signature, it.values.copy(), dials, now)
        return None
    change = core_moved.compare(kept.shown, it.values)
    by = tuple(label for code, (label, value) in dials.items() if kept.dials.get(code, (label, value))[1] != value)
    if change.rows or by:
        if not kept.undoing:
            changed = {name: kept.choices.get(name) for name in kept.choices | now if kept.choices.get(name) != now.get(name)}
            kept.history = [*kept.history, changed][-MAX_UNDO:]
        kept.moved, kept.by, kept.shown = change, by, it.values.copy()
    kept.undoing = False
    kept.dials, kept.choices = kept.dials | dials, now
    return kept.moved


def say(it: Followed, moved: Moved | None) -> None:
    """The sentence on what moved and by which dial, and the button that takes it back; nothing before the first change."""
    if moved is None:
        return
    kept: _View = st.session_state[KEY + it.name]
    by = f"**{', '.join(kept.by)}** · " if kept.by else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/compare_arrows: {by}{sentence(it, moved)}", width="stretch")
        if kept.history:
            st.button(
                _("Undo"),
                icon=":material/undo:",
                key=f"{KEY}undo:{it.name}",
                on_click=_undo,
                args=(it.name,),
                help=_("Back to the state before this change."),
            )


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


def _choices() -> Choices:
    """The session's choices, of this page's dials and all others; not the buttons, which are true or false and are not kept."""
    choices: Choices = {}
    for key, value in st.session_state.items():
        name = str(key)
        if name in NOT_DIALS or (":" in name and not name.endswith(KEPT)):
            continue
        if isinstance(value, bool) and not name.endswith(KEPT) and f"{name}:kept" not in st.session_state:
            continue
        if isinstance(value, str | int | float | list | dict):
            choices[name] = deepcopy(value)
    return choices


def _undo(view: str) -> None:
    """Bring back what the last change changed, and nothing else; runs before the page is drawn."""
    state = st.session_state
    kept: _View = state[KEY + view]
    if not kept.history:
        return
    for name, value in kept.history.pop().items():
        if name.endswith(":edits"):  # the editor of other numbers is another widget
            version = f"{name.removesuffix(':edits')}:version"
            state[version] = state.get(version, 0) + 1
            state[name] = value or {}
        elif value is not None:
            state[name] = value
    kept.undoing = True
