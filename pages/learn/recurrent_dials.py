"""What the recurrent-cells page asks for: a sequence, a step and a unit to read, weights to bend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.lecture import recurrence
from core.market import library
from core.market.book import read_rows
from pages.learn import frame, matrix_editor
from pages.learn.frame import Dial
from pages.shared import url_state
from pages.shared.language import _, significant

SENTENCE: Final = "the cat sat on the mat"
PERIOD: Final = 12.0
FORGET_BIAS: Final = 2.0
"""Added to the drawn forget bias, as training usually starts it: a gate near one half would forget at once (Gers et al. 2000)."""
ROWS_A_STEP: Final = 4
"""Rows of a recording a step of the sequence: one second."""
EDITABLE: Final = {"rnn": tuple(recurrence.RNN_NAMES), "lstm": tuple(recurrence.LSTM_NAMES), "gradient": ()}


ONLY_FOR: Final[dict[str, tuple[str, ...]]] = {
    "wave": ("period", "len"),
    "letters": ("text",),
    "price": ("tape", "from", "len"),
    "rnn": ("rho",),
    "lstm": ("fb",),
}
"""Dials that only one kind of sequence, or one part, has."""


@dataclass(frozen=True, kw_only=True)
class RecurrentChoices:
    """The page's choices.

    Attributes:
        kind: "wave", "letters" or "price". x: (time, width). steps: names of the steps. title: of the time axis.
        step, unit: counted from 0. rnn, lstm: weights, edits and dials included.
    """

    kind: str
    x: Any
    steps: list[str]
    title: str
    step: int
    unit: int
    rnn: dict[str, Any]
    lstm: dict[str, Any]
    seed: int
    values: dict[str, Any]

    def snippet(self) -> dict[str, Any]:
        """Values for the page's snippet, which has no recordings and no single edits in it."""
        return {
            "SEQUENCE": "letters" if self.kind == "letters" else "wave",
            "LENGTH": len(self.steps),
            "PERIOD": float(self.values.get("period", PERIOD)),
            "SENTENCE": self.values.get("text", SENTENCE),
            "FACTOR": float(self.values.get("rho", 1.0)),
            "FORGET_BIAS": float(self.values.get("fb", FORGET_BIAS)),
            "SEED": self.seed,
        }


@st.cache_data(show_spinner=False)
def _mid(name: str) -> Any:
    return read_rows(library.recording(name).path).mid


def ask(part: str) -> RecurrentChoices:
    """Draw the dials of a part, and its weights to edit.

    Raises:
        TokenError: for a sentence, or a stretch of a recording, that cannot be used.
        LibraryError, BookError: for a bad recording.
    """
    kinds = {"wave": _("A wave"), "letters": _("A typed sentence"), "price": _("A recorded mid-price")}
    markets = {one.name: f"{one.venue} {one.symbol.split(':')[0]}" for one in library.recordings()}

    moving = next((one.name for one in library.recordings() if one.kind == "perpetual"), None)  # the first stands still for long

    def pick(name: str, key: str, low: float, high: float, default: float, step: float) -> Dial:
        return Dial(name, lambda: url_state.slider(name, low, high, key=key, default=default, step=step), shown=significant)

    def whole(name: str, key: str, low: int, high: int, default: int) -> Dial:
        return Dial(name, lambda: url_state.slider(name, low, high, key=key, default=default))

    offered: dict[str, Dial] = {
        "seq": Dial(
            _("Sequence"),
            lambda: url_state.choice(st.segmented_control, _("Sequence"), kinds, key="seq", required=True),
            shown=lambda code: kinds[code],
        ),
        "text": Dial(
            _("Sentence"),
            lambda: st.text_input(_("Sentence, a step a letter"), SENTENCE, key="text", bind="query-params", max_chars=60),
        ),
        "tape": Dial(
            _("Recording"),
            lambda: url_state.choice(st.selectbox, _("Recording"), markets, key="tape", default=moving),
            shown=lambda code: markets[code],
        ),
        "from": whole(_("From second"), "from", 0, 120, 0),
        "period": pick(_("Period of the wave"), "period", 2.0, 40.0, PERIOD, 0.5),
        "len": whole(_("Steps"), "len", 4, 60, 40),
        "rho": pick(_("Factor on W_hh"), "rho", 0.0, 4.0, 1.0, 0.1),
        "fb": pick(_("Added to the forget bias"), "fb", -4.0, 6.0, FORGET_BIAS, 0.25),
        "t": whole(_("Step to read"), "step", 1, 60, 10),
        "unit": whole(_("Unit to read"), "unit", 1, recurrence.HIDDEN, 1),
        "draw": whole(_("Draw of the weights"), "draw", 0, 20, 0),
    }
    chosen = st.session_state.get("seq") or st.query_params.get("seq")
    chosen = chosen if chosen in kinds else "wave"
    left_out = {one for kind, mine in ONLY_FOR.items() if kind not in (chosen, part) for one in mine} - set(
        ONLY_FOR.get(chosen, ())
    )
    if part == "gradient":
        left_out -= {"rho", "fb"}
        left_out |= {"t", "unit"}
    offered = {code: dial for code, dial in offered.items() if code not in left_out}
    first = {"rnn": "t", "lstm": "t", "gradient": "rho"}[part]
    found = frame.dials("dial", offered, first=first)
    kind = found["seq"]
    if kind == "letters":
        steps, x = recurrence.letters(found["text"], seed=found["draw"])
        title = _("Letter")
    elif kind == "price":
        start = found["from"] * ROWS_A_STEP
        x = recurrence.moves(_mid(found["tape"])[start:], length=found["len"], every=ROWS_A_STEP)
        steps, title = [str(found["from"] + index) for index in range(len(x))], _("Seconds")
    else:
        x = recurrence.wave(found["len"], period=found["period"])
        steps, title = [str(index + 1) for index in range(len(x))], _("Step")
    steps = [one if one.strip() else "␣" for one in steps]
    width = x.shape[1]
    weights = {"rnn": recurrence.drawn_rnn(width, seed=found["draw"]), "lstm": recurrence.drawn_lstm(width, seed=found["draw"])}
    if EDITABLE[part]:
        _editor(part, weights[part])
    weights = {cell: {name: _edited(name, values) for name, values in mine.items()} for cell, mine in weights.items()}
    return RecurrentChoices(
        kind=kind,
        x=x,
        steps=steps,
        title=title,
        step=min(found.get("t", 1), len(x)) - 1,
        unit=found.get("unit", 1) - 1,
        rnn=recurrence.scaled(weights["rnn"], "W_hh", found.get("rho", 1.0)),
        lstm=recurrence.shifted(weights["lstm"], "b_f", found.get("fb", FORGET_BIAS)),
        seed=found["draw"],
        values=found,
    )


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def _table(values: Any) -> Any:
    """A bias as a column, so that all are matrices."""
    return values.reshape(-1, 1) if values.ndim == 1 else values


def _edited(name: str, values: Any) -> Any:
    return matrix_editor.edited(_table(values), key=_key(name)).reshape(values.shape)


def _editor(part: str, weights: dict[str, Any]) -> None:
    with frame.controls_block("weights"), st.expander(_("Edit a weight"), icon=":material/edit:"):
        names = {name: name for name in EDITABLE[part]}
        name = url_state.choice(st.segmented_control, _("Matrix or bias"), names, key="matrix", required=True)
        table = _table(weights[name])
        matrix_editor.editor(
            table,
            key=_key(name),
            label=name,
            rows=[str(index + 1) for index in range(table.shape[0])],
            columns=[f"·{index + 1}" for index in range(table.shape[1])],
        )
