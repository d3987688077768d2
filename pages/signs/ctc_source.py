"""Picks the CTC lab's target and probabilities, generated or read from a clip, and lets the reader change them in a table."""

from __future__ import annotations

from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures import ctc as figures
from core.signs import ctc_lab
from core.signs.ctc_lab import Fill, Problem
from pages.shared import controls, language, url_state
from pages.shared.language import N_, _, number
from pages.shared.live_plot import static_plot
from pages.signs import cached_results, clip_source

EXAMPLES: Final[dict[str, tuple[str, int, str]]] = {
    N_("Two labels"): ("A B", 6, "follow"),
    N_("A repeat"): ("A A B", 7, "follow"),
    N_("Just enough frames"): ("A A B", 4, "even"),
    N_("One frame too few"): ("A A B", 3, "even"),
    N_("As a trained network"): ("A B C", 10, "peaks"),
    N_("Nothing signed"): ("", 4, "random"),
}
"""Target, frames and fill of each example."""

TARGET, FRAMES, FILL, SEED, CELLS, SIGNED = "target", "length", "fill", "seed", "cells", "signed"
_OPENED: Final = "ctc:opened"
_ROUND: Final = "ctc:round"


def pick() -> Problem | None:
    """The lab's problem; None where it cannot be made, after saying why."""
    with st.container(border=True):
        kinds = {"made": _("Built for the lesson"), "clip": _("A bundled clip, read by a model")}
        kind = url_state.choice(st.segmented_control, _("Frames from"), kinds, key="probs", required=True)
        base = _made() if kind == "made" else _read()
    if base is None:
        return None
    st.header(_("Label probabilities of each frame"), anchor=False)
    left, right = st.columns([5, 6])
    with left:
        problem = _edited(base)
    with right:
        static_plot(
            figures.frames_figure(problem.probabilities, problem.names),
            key="ctc_frames",
            alt=_("The probability of each label in each frame."),
        )
    return problem


def _made() -> Problem | None:
    with st.container(horizontal=True):
        for name, example in EXAMPLES.items():
            st.button(_(name), key=f"ctc:{name}", on_click=_take, args=example)
    first, second, third, fourth = st.columns([4, 3, 3, 2], vertical_alignment="bottom")
    with first:
        text = url_state.text(_("Target: labels apart by spaces"), key=TARGET, default="A B")
    with second:
        frames = url_state.slider(_("Frames T"), 1, ctc_lab.MAX_FRAMES, key=FRAMES, default=6)
    with third:
        fills = {
            "follow": _("Follow the target"),
            "peaks": _("Peaks among blanks"),
            "even": _("All alike"),
            "random": _("Random"),
        }
        fill = cast(Fill, url_state.choice(st.selectbox, _("Probabilities"), fills, key=FILL))
    with fourth:
        seed = url_state.number_input(
            _("Seed"), 0, 9999, key=SEED, default=0, disabled=fill != "random", help=_("Seed of the random probabilities.")
        )
    try:
        return ctc_lab.made(text.split(), frames, fill, seed=seed)
    except ValueError as error:
        controls.error_box(str(error))
        return None


def _read() -> Problem | None:
    """A trained model's probabilities of a bundled clip, and a target for them."""
    sources = {"frames": _("Digits"), "tracks": _("ASL sentences")}
    first, second, third = st.columns([3, 5, 5], vertical_alignment="bottom")
    with first:
        front = url_state.choice(st.segmented_control, _("Signs"), sources, key="signs", required=True)
    models = cached_results.model_names(front)
    if not models:
        controls.notice("empty", _("There is no trained model for these clips yet: see the README on how to train one."))
        return None
    try:
        recogniser = cached_results.shipped(models[0])
        with second:
            clip = clip_source.bundled(front, recogniser, on_change=_forget_signed)
        if clip is None:
            return None
        with third:
            text = url_state.text(_("Target: glosses apart by spaces"), key=SIGNED, default=" ".join(clip.glosses or ()))
        with st.spinner(_("Reading the clip…")):
            recognition = cached_results.read(recogniser, clip)
        return ctc_lab.of_clip(recognition.log_probabilities, recogniser.vocabulary.names, text.split())
    except ValueError as error:
        controls.error_box(str(error))
        return None


def _forget_signed() -> None:
    """Another clip starts with its own sentence as target."""
    for key in (SIGNED, f"{SIGNED}:kept"):
        st.session_state.pop(key, None)


def _take(target: str, frames: int, fill: str) -> None:
    st.session_state.update({TARGET: target, FRAMES: frames, FILL: fill})


def _edited(base: Problem) -> Problem:
    """The problem with the reader's changes; they live in the URL."""
    state = st.session_state
    identity = f"{base.names}:{base.target}:{base.probabilities.tobytes().hex()[:2000]}:{state.get(_ROUND, 0)}"
    kept_key = f"ctc_cells:{abs(hash(identity))}:kept"
    key = f"{kept_key}:{language.regional()}"  # the table's text differs by language
    start_key = f"{key}:start"
    if key not in state:  # drawn for the first time, or again after another page
        linked = {} if state.get(_OPENED) else ctc_lab.decode_cells(st.query_params.get(CELLS, ""))
        state[start_key] = state.get(kept_key, linked)
    state[_OPENED] = True
    start: dict[tuple[int, int], float] = state[start_key]
    try:
        shown = ctc_lab.changed(base, start)
    except ValueError:  # of a link that somebody wrote by hand
        start = state[start_key] = {}
        shown = base
    rows = [[number(value, 3) for value in row] for row in shown.probabilities]
    table = pd.DataFrame(rows, columns=list(base.names))
    table.index = pd.RangeIndex(1, len(table) + 1, name=_("Frame"))
    column = st.column_config.TextColumn(required=True, alignment="right", validate=r"^\d{0,9}[.,]?\d{1,18}$")
    st.data_editor(
        table,
        key=key,
        height=min(40 + 35 * len(table), 420),
        column_config=dict.fromkeys(base.names, column),
        alt=_("A row a frame, a column a label: probabilities to change by hand."),
    )
    cells = {**start, **_edits(state.get(key), base)}
    state[kept_key] = cells
    url_state.remember(CELLS, ctc_lab.encode_cells(cells) or None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_("Shown to three decimals. Change any number: its row is brought back to a sum of 1."))
        if cells:
            st.button(_("Undo all changes"), icon=":material/undo:", key="ctc:undo", on_click=_undo)
    try:
        return ctc_lab.changed(base, cells)
    except ValueError as error:
        controls.error_box(str(error), remedy=_("The table's last valid state is shown."))
        return shown


def _edits(widget: Any, base: Problem) -> dict[tuple[int, int], float]:
    rows: dict[int, dict[str, Any]] = (widget or {}).get("edited_rows", {})
    typed = {
        (int(row), base.names.index(name)): ctc_lab.weight_of(str(text))
        for row, cells in rows.items()
        for name, text in cells.items()
        if name in base.names
    }
    return {cell: weight for cell, weight in typed.items() if weight is not None}


def _undo() -> None:
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
