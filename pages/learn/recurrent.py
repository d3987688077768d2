"""Recurrent cells: an RNN and an LSTM through time, gate by gate, and gradients back through time beside attention's."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from core.figures.learn import recurrent as figures
from core.figures.learn.recurrent import Band
from core.lecture import recurrence
from core.lecture.shown_digits import digits_needed
from core.lecture.tokens import TokenError
from core.market.book import BookError
from core.market.library import LibraryError
from pages.learn import frame, recurrent_dials
from pages.learn.frame import tex
from pages.learn.recurrent_dials import RecurrentChoices
from pages.shared import controls
from pages.shared.language import _, number
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "recurrent"


def rnn(asked: RecurrentChoices) -> None:
    """h_t = tanh(W_hx x_t + W_hh h_{t-1} + b_h), unrolled."""
    run = recurrence.run_rnn(asked.x, asked.rnn)
    t, k = asked.step, asked.unit
    terms = recurrence.rnn_terms(asked.x, run, asked.rnn, step=t, unit=k)
    digits = digits_needed(recurrence.rnn_entry, *terms)
    inward, back, bias = (tex(term, digits) for term in terms)
    frame.equation(
        r"\begin{aligned} h_t &= \tanh(W_{hx} x_t + W_{hh} h_{t-1} + b_h) \\ y_t &= W_{hy} h_t + b_y \end{aligned}",
        rf"\begin{{aligned}} h_{{{t + 1},{k + 1}}} &= \tanh({inward} + ({back}) + ({bias})) "
        rf"= {tex(run.h[t, k])} \\ "
        rf"y_{{{t + 1}}} &= {tex(run.y[t, 0])} \end{{aligned}}",
        words=_("Step {step} ({name}), unit {unit}.").format(step=t + 1, name=asked.steps[t], unit=k + 1),
    )
    static_plot(
        figures.states_figure(
            [Band(name=_("x, the input"), values=asked.x), Band(name=_("h, the hidden state"), values=run.h)],
            steps=asked.steps,
            at=t,
            unit=k,
            x_title=asked.title,
        ),
        key="rnn_states",
        alt=_("The input and the hidden state through time, a row a unit."),
    )
    static_plot(
        figures.line_figure(run.y[:, 0], at=t, x_title=_("Step"), y_title=_("Output y")),
        key="rnn_output",
        alt=_("The output through time."),
    )
    _same(recurrence.rnn_deviation(asked.x, asked.rnn), "torch.nn.RNN")


def lstm(asked: RecurrentChoices) -> None:
    """The six equations, each gate through time."""
    run = recurrence.run_lstm(asked.x, asked.lstm)
    t, k = asked.step, asked.unit
    f, i, o, candidate, c, h = (one[t, k] for one in (run.f, run.i, run.o, run.candidate, run.c, run.h))
    before = run.c[t - 1, k] if t else 0.0
    digits = digits_needed(recurrence.lstm_entry, f, before, i, candidate, o)
    digits = max(digits, digits_needed(recurrence.lstm_state, o, c))
    f_, i_, o_, candidate_, before_, c_ = (tex(value, digits) for value in (f, i, o, candidate, before, c))
    frame.equation(
        r"\begin{aligned} f_t &= \sigma(W_f x_t + U_f h_{t-1} + b_f) \\ i_t &= \sigma(W_i x_t + U_i h_{t-1} + b_i) \\ "
        r"\tilde c_t &= \tanh(W_c x_t + U_c h_{t-1} + b_c) \\ c_t &= f_t \odot c_{t-1} + i_t \odot \tilde c_t \\ "
        r"o_t &= \sigma(W_o x_t + U_o h_{t-1} + b_o) \\ h_t &= o_t \odot \tanh(c_t) \end{aligned}",
        rf"\begin{{aligned}} f &= {f_} \\ i &= {i_} \\ \tilde c &= {candidate_} \\ "
        rf"c_t &= {f_} \cdot ({before_}) + {i_} \cdot ({candidate_}) = {c_} \\ "
        rf"o &= {o_} \\ h_t &= {o_} \cdot \tanh({c_}) = {tex(h)} \end{{aligned}}",
        words=_("Step {step} ({name}), unit {unit}.").format(step=t + 1, name=asked.steps[t], unit=k + 1),
    )
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
        static_plot(
            figures.states_figure(
                [Band(name=_("x, the input"), values=asked.x), *bands], steps=asked.steps, at=t, unit=k, x_title=asked.title
            ),
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
            ),
            key="lstm_unit",
            alt=_("One unit's gates, candidate, cell and state through time."),
        )
        _same(recurrence.lstm_deviation(asked.x, asked.lstm), "torch.nn.LSTM")


def gradient(asked: RecurrentChoices) -> None:
    """How much the last output feels each input."""
    back = recurrence.through_time(asked.x, asked.rnn, asked.lstm, seed=asked.seed)
    last, attention = len(asked.steps), _("attention")
    frame.equation(
        r"\begin{aligned} \frac{\partial h_T}{\partial x_t} &= J_T\,J_{T-1} \cdots J_{t+1}\,"
        r"\mathrm{diag}(1-h_t^2)\,W_{hx}, \quad J_s = \mathrm{diag}(1-h_s^2)\,W_{hh} \\ "
        r"\frac{\partial c_T}{\partial c_t} &\approx \prod_{s=t+1}^{T} f_s "
        r"\end{aligned}",
        rf"\begin{{aligned}} \text{{RNN: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.rnn[0])} \\ "
        rf"\text{{LSTM: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.lstm[0])} \\ "
        rf"\text{{{attention}: }} &\lVert \partial z_{{{last}}} / \partial x_1 \rVert = "
        rf"{_power(back.attention[0])} \end{{aligned}}",
        words=_("Frobenius norms; one head of the same width, without positions, over the same sequence."),
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


def _power(value: float) -> str:
    """A small or large number for LaTeX."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return rf"{tex(float(mantissa), 1)} \cdot 10^{{{int(exponent)}}}"


def _same(off: float, name: str) -> None:
    frame.check(
        _("Largest difference from {name} with these weights: {value}.").format(name=name, value=f"{off:.1e}"), holds=off < 1e-9
    )


part = frame.open_page(PAGE, _("Recurrent cells"), parts={"rnn": _("RNN"), "lstm": _("LSTM"), "gradient": _("Back through time")})


@st.fragment
def body(which: str) -> None:
    """Everything that changes with a dial."""
    try:
        asked = recurrent_dials.ask(which)
    except TokenError:
        too_short = _("The recording ends too soon: choose an earlier second or fewer steps.")
        letters = _("Type 2 to {most} letters.").format(most=recurrence.MOST_LETTERS)
        controls.error_box(letters if st.session_state.get("seq") == "letters" else too_short)
        return
    except (LibraryError, BookError) as problem:
        controls.error_box(str(problem), remedy=_("Choose another sequence."))
        return
    {"rnn": rnn, "lstm": lstm, "gradient": gradient}[which](asked)
    frame.look_for(frame.passage(PAGE, which))
    frame.close_page(
        PAGE,
        sources=_(
            "sequence-modelling (RNN, LSTM, internal states, attention). Gradients through time: Bengio et al. 1994. The "
            "snippet takes the wave where the page shows a recording."
        ),
        values=asked.snippet(),
    )


body(part)
