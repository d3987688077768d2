"""What the last change of a dial moved: the state before it is kept for each view, told in a sentence, and can be brought back.

moved = what_moved.track("attention weights", steps.weights[head], rows=names, settings=(temperature, mask))
...the figure, with moved.before as a ghost and moved.rectangles outlined...
what_moved.tell("attention weights", moved, rows=names, columns=names)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from core.lecture import moved as core_moved
from core.lecture.moved import Moved
from pages.learn import frame
from pages.shared.language import _, number, significant

KEY: Final = "moved:"
MOST_UNDO: Final = 20
MOST_NAMED: Final = 8
"""Rows listed by name; more are counted."""
NOT_DIALS: Final = frozenset({"lang", "part", "present", "embed"})


@dataclass
class _View:
    """One view's states: what is shown, what was before, and the choices of the session at each."""

    signature: Hashable
    shown: Any
    settings: Hashable
    choices: dict[str, Any]
    moved: Moved | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    undoing: bool = False


def track(view: str, values: Any, *, rows: Sequence[str], settings: Hashable = ()) -> Moved | None:
    """Compare a view's numbers with those before the last change; None where there is nothing to compare yet.

    Args:
        view: a name, the same on every run. values: (rows, columns).
        rows: names; with other names, or another shape, the comparison starts anew.
        settings: what can move the numbers; where it changed and the numbers did not, that is a finding too.
    """
    state, signature = st.session_state, (values.shape, tuple(rows))
    kept: _View | None = state.get(KEY + view)
    now = _choices()
    if kept is None or kept.signature != signature:
        history = kept.history if kept else []
        state[KEY + view] = _View(signature, values.copy(), settings, now, history=history)
        return None
    found = core_moved.compare(kept.shown, values)
    if found.rows or settings != kept.settings:
        if not kept.undoing:
            kept.history = [*kept.history, kept.choices][-MOST_UNDO:]
        kept.moved, kept.shown, kept.settings = found, values.copy(), settings
    kept.undoing = False
    kept.choices = now
    return kept.moved


def tell(view: str, moved: Moved | None, *, rows: Sequence[str], columns: Sequence[str] | None = None) -> None:
    """The sentence on what moved, and the button that takes the change back; nothing before the first change.

    Args:
        rows, columns: names; columns by their numbers where None.
    """
    if moved is None:
        return
    kept: _View = st.session_state[KEY + view]
    with frame.controls_block(f"moved_{view.replace(' ', '_')}"), st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/compare_arrows: {sentence(moved, rows, columns)}", width="stretch")
        if kept.history:
            st.button(
                _("Undo"), icon=":material/undo:", key=f"{KEY}undo:{view}", on_click=_undo, args=(view,),
                help=_("Back to the state before this change."),
            )  # fmt: skip


def sentence(moved: Moved, rows: Sequence[str], columns: Sequence[str] | None = None) -> str:
    """What moved in words: where most, and which rows did not move."""
    if not moved.rows:
        return _("Nothing moved: all {count} rows are as before.").format(count=number(len(rows)))
    row, column = moved.most
    where = columns[column] if columns is not None else number(column + 1)
    most = _("Most moved {row}, {column}: {before} → {after}.").format(
        row=f"**{rows[row]}**", column=f"**{where}**",
        before=f"**{_value(float(moved.before[row, column]))}**", after=f"**{_value(float(moved.after[row, column]))}**",
    )  # fmt: skip
    if not moved.still:
        return most + " " + _("Every row moved.")
    if len(moved.still) > MOST_NAMED:
        return most + " " + _("{still} of {all} rows did not move.").format(still=number(len(moved.still)), all=number(len(rows)))
    return most + " " + _("Did not move: {rows}.").format(rows=", ".join(rows[one] for one in moved.still))


def _value(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    return significant(value) if value else "0"


def _choices() -> dict[str, Any]:
    """The session's choices, of this page's dials and all others."""
    found: dict[str, Any] = {}
    for key, value in st.session_state.items():
        name = str(key)
        if name in NOT_DIALS or (":" in name and not name.endswith((":kept", ":edits", ":typed"))):
            continue
        if value is None or isinstance(value, str | int | float | bool | list | dict):
            found[name] = deepcopy(value)
    return found


def _undo(view: str) -> None:
    """Bring back the choices before the last change; runs before the page is drawn."""
    state = st.session_state
    kept: _View = state[KEY + view]
    if not kept.history:
        return
    earlier = kept.history.pop()
    for key, value in earlier.items():
        if state.get(key) == value:
            continue
        if key.endswith(":edits"):  # the editor of other numbers is another widget
            version = f"{key.removesuffix(':edits')}:version"
            state[version] = state.get(version, 0) + 1
            state[key] = value
        elif ":" in key or f"{key}:kept" in earlier or key in st.query_params or key in kept.choices:
            state[key] = value
    kept.undoing = True
