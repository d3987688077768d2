"""Recurrent cells: an RNN and an LSTM through time, gate by gate, and gradients back through time beside attention's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import streamlit as st

from core.figures.learn import recurrent as figures
from core.figures.learn.diagrams.recurrent import gradient_diagram, lstm_diagram, rnn_diagram
from core.figures.learn.recurrent import Band
from core.lecture import claims, notebooks, recurrence
from core.lecture.claims import recurrent as said
from core.lecture.moved import Moved, stacked
from core.lecture.shown_digits import digits_needed
from core.lecture.tokens import TokenError
from core.market.book import BookError, read_rows
from core.market.store import index
from core.market.store.index import RecordingError
from core.messages import Message
from pages.learn import diagram, frame, matrix_editor, predict, questions, what_moved
from pages.learn.frame import Dial, tex
from pages.shared import controls, url_state
from pages.shared.language import N_, _, number, significant
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "recurrent"
SENTENCE: Final = N_("the cat sat on the mat")
PERIOD: Final = 12.0
FORGET_BIAS: Final = 2.0
"""Added to the drawn forget bias, as training usually starts it: a gate near one half would forget at once (Gers et al. 2000)."""
ROWS_PER_STEP: Final = 4
"""Rows of a recording for one step of the sequence: one second."""
EDITABLE: Final = {"rnn": tuple(recurrence.RNN_NAMES), "lstm": tuple(recurrence.LSTM_NAMES), "gradient": ()}
"""Weights that a part offers for editing."""
ONLY_FOR: Final[dict[str, tuple[str, ...]]] = {
    "wave": ("period", "len"),
    "letters": ("text",),
    "price": ("tape", "from", "len"),
    "rnn": ("rho",),
    "lstm": ("fb",),
}
"""Dials that only one kind of sequence or one part has."""
Shown = tuple[dict[str, Any], list[Message]]
"""A part's numbers on screen, and what is said of its figure."""


@dataclass(frozen=True, kw_only=True)
class RecurrentChoices:
    """The reader's choices.

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

    @cached_property
    def back(self) -> recurrence.ThroughTime:
        """Gradients of the last state by each input."""
        return recurrence.gradients_through_time(self.x, self.rnn, self.lstm, seed=self.seed)

    def taken(self, part: str, shown: dict[str, Any]) -> dict[str, Any]:
        """Values for a part's notebook.

        Args:
            shown: numbers on screen, by name.
        """
        weights: dict[str, Any]
        if part == "rnn":
            weights = self.rnn | {"STEP": self.step, "UNIT": self.unit}
        elif part == "lstm":
            names = {"W": "W", "U": "U", "B": "b"}
            kinds = {name: {gate: self.lstm[f"{kind}_{gate}"] for gate in "fico"} for name, kind in names.items()}
            weights = kinds | {"STEP": self.step, "UNIT": self.unit}
        else:
            head = recurrence.random_head(self.x.shape[1], seed=self.seed)
            weights = {"RNN": self.rnn, "LSTM": self.lstm, "ATTENTION": head}
        return {"X": self.x, **weights, **notebooks.on_screen(shown)}


@st.cache_data(show_spinner=False)
def _mid(name: str) -> Any:
    return read_rows(index.find_recording(name).path).mid


def read_choices(part: str) -> RecurrentChoices:
    """Show the dials of a part and the weights to edit, and return what they say.

    Raises:
        TokenError: for a sentence, or a stretch of a recording, that cannot be used.
        RecordingError, BookError: for a bad recording.
    """
    kinds = {"wave": _("A wave"), "letters": _("A typed sentence"), "price": _("A recorded mid-price")}
    recordings = index.recordings()
    markets = {one.name: f"{one.venue} {one.market.split(':')[0]}" for one in recordings}
    perpetual = next((one.name for one in recordings if one.kind == "perpetual"), None)  # the first spot price hardly moves

    def sentence(_values: object) -> str:
        return st.text_input(_("Sentence, one step per letter"), _(SENTENCE), key="text", bind="query-params", max_chars=60)

    offered: dict[str, Dial] = {
        "seq": frame.choice(_("Sequence"), kinds, key="seq"),
        "text": Dial(_("Sentence"), sentence),
        "tape": frame.choice(_("Recording"), markets, key="tape", default=perpetual, widget=st.selectbox),
        "from": frame.slider(_("From second"), 0, 120, key="from", default=0),
        "period": frame.slider(_("Period of the wave"), 2.0, 40.0, key="period", default=PERIOD, step=0.5),
        "len": frame.slider(_("Steps"), 4, 60, key="len", default=40),
        "rho": frame.slider(_("Factor on W_hh"), 0.0, 4.0, key="rho", default=1.0, step=0.1),
        "fb": frame.slider(_("Added to the forget bias"), -4.0, 6.0, key="fb", default=FORGET_BIAS, step=0.25),
        "t": frame.slider(_("Step to read"), 1, 60, key="step", default=10, reads=True),
        "unit": frame.slider(_("Unit to read"), 1, recurrence.HIDDEN, key="unit", default=1, reads=True),
        "draw": frame.slider(_("Draw of the weights"), 0, 20, key="draw", default=0),
    }
    sequence = st.session_state.get("seq") or st.query_params.get("seq")
    sequence = sequence if sequence in kinds else "wave"
    hidden = {code for owner, codes in ONLY_FOR.items() if owner not in (sequence, part) for code in codes}
    hidden -= set(ONLY_FOR[sequence])
    if part == "gradient":
        hidden = (hidden - {"rho", "fb"}) | {"t", "unit"}
    offered = {code: dial for code, dial in offered.items() if code not in hidden}
    first = {"rnn": "t", "lstm": "t", "gradient": "fb"}[part]
    values = frame.dials("dial", offered, first=first)
    kind = values["seq"]
    if kind == "letters":
        steps, x = recurrence.letters(values["text"], seed=values["draw"])
        title = _("Letter")
    elif kind == "price":
        start = values["from"] * ROWS_PER_STEP
        x = recurrence.standardised_price(_mid(values["tape"])[start:], length=values["len"], every=ROWS_PER_STEP)
        steps, title = [str(values["from"] + index) for index in range(len(x))], _("Seconds")
    else:
        x = recurrence.wave(values["len"], period=values["period"])
        steps, title = [str(index + 1) for index in range(len(x))], _("Step")
    steps = [one if one.strip() else "␣" for one in steps]
    width = x.shape[1]
    weights = {
        "rnn": recurrence.random_rnn(width, seed=values["draw"]),
        "lstm": recurrence.random_lstm(width, seed=values["draw"]),
    }
    if EDITABLE[part]:
        _editor(part, weights[part])
    weights = {cell: {name: _edited(name, one) for name, one in mine.items()} for cell, mine in weights.items()}
    return RecurrentChoices(
        kind=kind,
        x=x,
        steps=steps,
        title=title,
        step=min(values.get("t", 1), len(x)) - 1,
        unit=values.get("unit", 1) - 1,
        rnn=recurrence.scale_weight(weights["rnn"], "W_hh", values.get("rho", 1.0)),
        lstm=recurrence.shift_weight(weights["lstm"], "b_f", values.get("fb", FORGET_BIAS)),
        seed=values["draw"],
        values=values,
    )


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def _table(values: Any) -> Any:
    """A bias as a column, so that all weights are matrices."""
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


def unit_names(extra: Sequence[str] = ()) -> list[str]:
    """Names of the hidden units, and of further rows."""
    return [*(_("unit {n}").format(n=index + 1) for index in range(recurrence.HIDDEN)), *extra]


def follow(cell: str, rows: Any, extra: Sequence[str] = ()) -> Moved | None:
    """Finds what the last change of a dial moved in a cell's states: a row a unit, a column a step."""
    return what_moved.track(f"{cell} states", rows, rows=unit_names(extra))


def tell(cell: str, moved: Moved | None, choices: RecurrentChoices, extra: Sequence[str] = ()) -> None:
    """The sentence on it."""
    steps = [_("step {n}").format(n=index + 1) for index in range(len(choices.steps))]
    what_moved.tell(f"{cell} states", moved, rows=unit_names(extra), columns=steps)


def step_captions(choices: RecurrentChoices, quantities: dict[str, Any], unit: int) -> list[str]:
    """One unit's numbers at each step; of a quantity with fewer units, the first."""
    return [
        _("Step {step} ({name}), unit {unit}: {numbers}").format(
            step=number(step + 1),
            name=name,
            unit=number(unit + 1),
            numbers=", ".join(f"{code} = {number(values[step, unit if unit < values.shape[1] else 0], 3)}"
                              for code, values in quantities.items()),
        )
        for step, name in enumerate(choices.steps)
    ]  # fmt: skip


def rnn(choices: RecurrentChoices) -> Shown:
    """h_t = tanh(W_hx x_t + W_hh h_{t-1} + b_h), unrolled."""
    run = recurrence.run_rnn(choices.x, choices.rnn)
    t, k = choices.step, choices.unit
    terms = recurrence.rnn_terms(choices.x, run, choices.rnn, step=t, unit=k)
    diagram.show(rnn_diagram(choices.x, run, terms, step=t, unit=k, write=diagram.write), dial="dial")
    digits = digits_needed(recurrence.rnn_entry, *terms)
    inward, back, bias = (tex(term, digits) for term in terms)
    frame.equation(
        r"\begin{aligned} h_t &= \tanh(W_{hx} x_t + W_{hh} h_{t-1} + b_h) \\ y_t &= W_{hy} h_t + b_y \end{aligned}",
        rf"\begin{{aligned}} h_{{{t + 1},{k + 1}}} &= \tanh({inward} + ({back}) + ({bias})) "
        rf"= {tex(run.h[t, k])} \\ "
        rf"y_{{{t + 1}}} &= {tex(run.y[t, 0])} \end{{aligned}}",
        note=_("Step {step} ({name}), unit {unit}.").format(step=t + 1, name=choices.steps[t], unit=k + 1),
    )
    moved = follow("rnn", stacked(run.h, run.y[:, :1]), [_("output y")])
    drawn = figures.states_figure(
        [Band(name=_("x, the input"), values=choices.x), Band(name=_("h, the hidden state"), values=run.h)],
        steps=choices.steps,
        at=t,
        unit=k,
        x_title=choices.title,
    )
    captions = step_captions(choices, {"h": run.h, "y": run.y}, k)
    static_plot(
        drawn,
        play=figures.states_play(drawn, captions, at=t),
        key="rnn_states",
        alt=_("The input and the hidden state through time, a row a unit."),
    )
    static_plot(
        figures.line_figure(
            run.y[:, 0], before=moved.before[-1] if moved else None, at=t, x_title=_("Step"), y_title=_("Output y")
        ),
        key="rnn_output",
        alt=_("The output through time."),
    )
    tell("rnn", moved, choices, [_("output y")])
    _check_against("torch.nn.RNN", recurrence.rnn_deviation(choices.x, choices.rnn))
    told = claims.told(said.RNN, said.States(h=run.h, back=choices.rnn["W_hh"]))
    return {"h": run.h[t, k], "y": run.y[t, 0], "the step's state": run.h[t]}, told


def lstm(choices: RecurrentChoices) -> Shown:
    """The six equations, each gate through time."""
    run = recurrence.run_lstm(choices.x, choices.lstm)
    t, k = choices.step, choices.unit
    f, i, o, candidate, c, h = (one[t, k] for one in (run.f, run.i, run.o, run.candidate, run.c, run.h))
    before = run.c[t - 1, k] if t else 0.0
    diagram.show(lstm_diagram(choices.x, run, step=t, unit=k, write=diagram.write), dial="dial")
    digits = digits_needed(recurrence.lstm_entry, f, before, i, candidate, o)
    digits = max(digits, digits_needed(recurrence.lstm_state, o, c))
    f_, i_, o_, candidate_, before_, c_ = (tex(value, digits) for value in (f, i, o, candidate, before, c))
    frame.equation(
        r"\begin{aligned} f_t &= \mathrm{sigmoid}(W_f x_t + U_f h_{t-1} + b_f) \\ "
        r"i_t &= \mathrm{sigmoid}(W_i x_t + U_i h_{t-1} + b_i) \\ "
        r"\tilde c_t &= \tanh(W_c x_t + U_c h_{t-1} + b_c) \\ c_t &= f_t \odot c_{t-1} + i_t \odot \tilde c_t \\ "
        r"o_t &= \mathrm{sigmoid}(W_o x_t + U_o h_{t-1} + b_o) \\ h_t &= o_t \odot \tanh(c_t) \end{aligned}",
        rf"\begin{{aligned}} f_t &= {f_} \\ i_t &= {i_} \\ \tilde c_t &= {candidate_} \\ "
        rf"c_t &= {f_} \cdot ({before_}) + {i_} \cdot ({candidate_}) = {c_} \\ "
        rf"o_t &= {o_} \\ h_t &= {o_} \cdot \tanh({c_}) = {tex(h)} \end{{aligned}}",
        note=_("Step {step} ({name}), unit {unit}.").format(step=t + 1, name=choices.steps[t], unit=k + 1),
    )
    moved = follow("lstm", stacked(run.h))
    bands = [
        Band(name=_("f, forget"), values=run.f, gate=True),
        Band(name=_("i, input"), values=run.i, gate=True),
        Band(name=_("o, output"), values=run.o, gate=True),
        Band(name=_("c̃, candidate"), values=run.candidate),
        Band(name=_("c, cell: the long memory"), values=run.c),
        Band(name=_("h, state: the short memory"), values=run.h),
    ]
    left, right = st.columns([3, 2])
    with left:
        drawn = figures.states_figure(
            [Band(name=_("x, the input"), values=choices.x), *bands], steps=choices.steps, at=t, unit=k, x_title=choices.title
        )
        captions = step_captions(choices, {"f": run.f, "i": run.i, "o": run.o, "c": run.c, "h": run.h}, k)
        static_plot(
            drawn,
            play=figures.states_play(drawn, captions, at=t),
            key="lstm_states",
            alt=_("Input, gates, candidate, cell and state through time, a row a unit."),
        )
    with right:
        st.markdown(_("**Unit {number}**").format(number=k + 1))
        static_plot(
            figures.unit_figure(
                [replace(band, name=band.name.split(",")[0]) for band in bands],
                unit=k,
                at=t,
                x_title=_("Step"),
                before=moved.before[k] if moved and k in moved.rows else None,
            ),
            key="lstm_unit",
            alt=_("One unit's gates, candidate, cell and state through time."),
        )
        tell("lstm", moved, choices)
        _check_against("torch.nn.LSTM", recurrence.lstm_deviation(choices.x, choices.lstm))
    told = claims.told(said.LSTM, said.Unit(number=k + 1, forget=run.f[:, k], entering=run.i[:, k]))
    return {"f": f, "i": i, "o": o, "candidate": candidate, "c": c, "h": h}, told


def gradient(choices: RecurrentChoices) -> Shown:
    """Norm of the last state's gradient by each input."""
    back = choices.back
    last, attention = len(choices.steps), _("attention")
    diagram.show(gradient_diagram(back, lambda value: significant(value, 2)), dial="dial")
    frame.equation(
        r"\begin{aligned} \frac{\partial h_T}{\partial x_t} &= J_T\,J_{T-1} \cdots J_{t+1}\,"
        r"\mathrm{diag}(1-h_t^2)\,W_{hx} \\ J_j &= \mathrm{diag}(1-h_j^2)\,W_{hh} \\ "
        r"\left.\frac{\partial c_T}{\partial c_t}\right|_{f_t,\,i_t,\,\tilde c_t} &= \prod_{j=t+1}^{T} f_j "
        r"\end{aligned}",
        rf"\begin{{aligned}} \text{{RNN: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.rnn[0])} \\ "
        rf"\text{{LSTM: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.lstm[0])} \\ "
        rf"\text{{{attention}: }} &\lVert \partial Z_{{{last}}} / \partial x_1 \rVert = "
        rf"{_power(back.attention[0])} \end{{aligned}}",
        note=_(
            "Frobenius norms; one head of the same width, without positions, over the same sequence. The product of forget gates "
            "is the cell's own way back, gates and candidate held as they are."
        ),
    )
    static_plot(
        figures.gradients_figure(
            rnn=back.rnn,
            lstm=back.lstm,
            attention=back.attention,
            forget=back.forget,
            x_title=_("Step of the input; the output is at the last"),
        ),
        key="recurrent_gradients",
        alt=_("Norm of the last output's gradient by the input at each step, for an RNN, an LSTM and attention."),
    )
    stat_strip(
        [
            Stat(
                name=name,
                value=_("{count} of {all} steps").format(count=number(back.reach(code)), all=number(last)),
                note=_("before it first falls under 1 % of its largest"),
            )
            for code, name in (
                ("rnn", _("RNN reaches back")),
                ("lstm", _("LSTM reaches back")),
                ("attention", _("Attention reaches back")),
            )
        ]
    )
    names = {"RNN": "rnn", "LSTM": "lstm", "attention": "attention"}
    firsts = {f"{name}: log10 of the first": math.log10(max(getattr(back, code)[0], 1e-300)) for name, code in names.items()}
    reaches = {f"{name} reaches back": back.reach(code) for name, code in names.items()}
    return firsts | reaches, claims.told(said.GRADIENT, back)


def _power(value: float) -> str:
    """A small or large number for LaTeX."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return rf"{tex(float(mantissa), 1)} \cdot 10^{{{int(exponent)}}}"


def _check_against(name: str, deviation: float) -> None:
    frame.check(
        _("Largest difference from {name} with these weights: {value}.").format(name=name, value=f"{deviation:.1e}"),
        holds=deviation < 1e-9,
    )


part = frame.open_page(PAGE, _("Recurrent cells"), parts={"rnn": _("RNN"), "lstm": _("LSTM"), "gradient": _("Back through time")})


@st.fragment
def body(which: str) -> None:
    """Everything that changes with a dial."""
    diagram.slot()
    try:
        choices = read_choices(which)
    except TokenError:
        too_short = _("The recording ends too soon: choose an earlier second or fewer steps.")
        letters = _("Type 2 to {most} letters.").format(most=recurrence.MAX_LETTERS)
        controls.error_box(letters if st.session_state.get("seq") == "letters" else too_short)
        frame.link_only()
        return
    except (RecordingError, BookError) as problem:
        controls.error_box(str(problem), remedy=_("Choose another sequence."))
        frame.link_only()
        return
    cell: Literal["rnn", "lstm"] = "rnn" if which == "rnn" else "lstm"
    state = (sorted(choices.values.items()), choices.x.shape)
    predict.ask(lambda: questions.reach(choices.x, choices.rnn, choices.lstm, cell=cell, seed=choices.seed, state=state))
    shown, told = {"rnn": rnn, "lstm": lstm, "gradient": gradient}[which](choices)
    frame.look_for(frame.passage(PAGE, which), *told)
    frame.close_page(
        PAGE,
        sources=_("sequence-modelling (RNN, LSTM, internal states, attention). Gradients through time: Bengio et al. 1994."),
        values=choices.taken(which, shown),
    )


body(part)
