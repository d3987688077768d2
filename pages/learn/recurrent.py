"""Recurrent cells: an RNN and an LSTM through time, gate by gate, and gradients back through time beside attention's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Final

from core.figures.learn import recurrent as figures
from core.figures.learn.recurrent import UnitLine
from core.lecture import recurrence
from core.lecture.moved import Moved
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import digits_needed
from core.models.recurrent import lstm_cell
from pages.learn import frame
from pages.learn.frame import Worked, tex
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, check, plot, render, stats, written
from pages.learn.what_moved import Followed
from pages.shared.language import _, number
from pages.shared.stat_strip import Stat

SEQUENCE: Final = ("period", "len")
FORGET_BIAS: Final = 2.0
"""Added to the drawn forget bias, as training usually starts it: a gate near one half would forget at once (Gers et al. 2000)."""


@dataclass(frozen=True, kw_only=True)
class Unrolled:
    """A wave through both cells; the fields are the dials."""

    period: Annotated[float, frame.slider(_("Period"), 2.0, 40.0, key="period", default=12.0, step=0.5)]
    len: Annotated[int, frame.slider(_("Steps"), 4, 60, key="len", default=40, short=_("Length"))]
    rho: Annotated[float, frame.slider(_("Factor on W_hh"), 0.0, 4.0, key="rho", default=1.0, step=0.1)] = 1.0
    fb: Annotated[float, frame.slider(_("Added to the forget bias"), -4.0, 6.0, key="fb", default=FORGET_BIAS, step=0.25)] = (
        FORGET_BIAS
    )
    t: Annotated[int, frame.slider(_("Step"), 1, 60, key="step", default=10, reads=True)] = 1
    unit: Annotated[int, frame.slider(_("Unit"), 1, recurrence.HIDDEN, key="unit", default=1, reads=True)] = 1

    @cached_property
    def x(self) -> Any:
        """(time, 1)."""
        return recurrence.wave(self.len, period=self.period)

    @property
    def at(self) -> int:
        """The step that is read, from 0."""
        return min(self.t, len(self.x)) - 1

    @property
    def k(self) -> int:
        """The unit that is read, from 0."""
        return self.unit - 1

    @cached_property
    def rnn(self) -> dict[str, Any]:
        """Weights of the RNN, its dial included."""
        drawn = recurrence.random_rnn(self.x.shape[1])
        return drawn | {"W_hh": self.rho * drawn["W_hh"]}

    @cached_property
    def lstm(self) -> dict[str, Any]:
        """Weights of the LSTM, its dial included."""
        drawn = recurrence.random_lstm(self.x.shape[1])
        return drawn | {"b_f": drawn["b_f"] + self.fb}

    @property
    def note(self) -> str:
        """Step and unit that are read."""
        return _("Step {step}, unit {unit}.").format(step=self.at + 1, unit=self.k + 1)

    def notebook_values(self, weights: Mapping[str, Any], shown: Mapping[str, Any], *, read: bool = True) -> dict[str, Any]:
        """Values for a part's notebook."""
        return {"X": self.x, **weights, **({"STEP": self.at, "UNIT": self.k} if read else {}), **on_screen(shown)}

    def asked(self, cell: str) -> Callable[[], tuple[str, float]]:
        """The number whose change a reader is asked to predict."""

        def reach() -> tuple[str, float]:
            back = recurrence.gradients_through_time(self.x, self.rnn, self.lstm)
            return _("the number of steps that the gradient reaches back"), back.steps_remembered(cell)

        return reach

    def followed(self, cell: str, h: Any) -> Followed:
        """A cell's states (time, units): a row a unit, a column a step."""
        units = [_("unit {n}").format(n=index + 1) for index in range(recurrence.HIDDEN)]
        steps = [_("step {n}").format(n=index + 1) for index in range(self.len)]
        return Followed(name=f"{cell} states", values=h.T, rows=units, columns=steps)

    def curves(self, cell: str, lines: Sequence[UnitLine], alt: str, moved: Moved | None) -> list[Item]:
        """The share of a change of the first input that is left in the state, and the unit that is read, through time."""
        before = moved.before[self.k] if moved and self.k in moved.rows else None
        left = recurrence.left_of_first(self.x, self.rnn, self.lstm)
        drawn = figures.left_figure(*left, chosen=cell)
        alt_left = _("How much of a change of the first input is left in the state, step by step, of an RNN and an LSTM.")
        unit = figures.unit_figure(lines, at=self.at, before=before)
        return [[plot(drawn, f"{cell.lower()}_left", alt_left), plot(unit, f"{cell.lower()}_unit", alt)]]


def rnn(it: Unrolled) -> PartView:
    """h_t = tanh(W_hx x_t + W_hh h_{t-1} + b_h), unrolled."""
    run, t, k = recurrence.run_rnn(it.x, it.rnn), it.at, it.k
    terms = recurrence.rnn_terms(it.x, run, it.rnn, step=t, unit=k)
    inward, back, bias = (tex(term, digits_needed(recurrence.rnn_entry, *terms)) for term in terms)
    lines = [UnitLine(_("h, the hidden state"), run.h[:, k]), UnitLine(_("y, the output"), run.y[:, 0])]
    return PartView(
        equation=Worked(
            r"\begin{aligned} h_t &= \tanh(W_{hx} x_t + W_{hh} h_{t-1} + b_h) \\ y_t &= W_{hy} h_t + b_y \end{aligned}",
            rf"\begin{{aligned}} h_{{{t + 1},{k + 1}}} &= \tanh({inward} + ({back}) + ({bias})) "
            rf"= {tex(run.h[t, k])} \\ y_{{{t + 1}}} &= {tex(run.y[t, 0])} \end{{aligned}}",
            it.note,
        ),
        figure=partial(it.curves, "RNN", lines, _("One unit's state and the output through time.")),
        asked=it.asked("rnn"),
        followed=it.followed("rnn", run.h),
        more=[agreement("torch.nn.RNN", recurrence.rnn_deviation(it.x, it.rnn))],
        notebook_values=lambda: it.notebook_values(it.rnn, {"h": run.h[t, k], "y": run.y[t, 0], "the step's state": run.h[t]}),
    )


def lstm(it: Unrolled) -> PartView:
    """The six equations, each gate through time."""
    run, t, k = recurrence.run_lstm(it.x, it.lstm), it.at, it.k
    f, i, o, candidate, c, h = (one[t, k] for one in (run.f, run.i, run.o, run.candidate, run.c, run.h))
    before = run.c[t - 1, k] if t else 0.0
    of_cell = digits_needed(recurrence.lstm_state, o, c)
    digits = digits_needed(lstm_cell, f, before, i, candidate, result=of_cell)
    f_, i_, candidate_, before_ = (tex(value, digits) for value in (f, i, candidate, before))
    o_, c_ = (tex(value, of_cell) for value in (o, c))
    lines = [
        UnitLine("f", run.f[:, k], gate=True),
        UnitLine("i", run.i[:, k], gate=True),
        UnitLine("o", run.o[:, k], gate=True),
        UnitLine("c̃", run.candidate[:, k]),
        UnitLine("c", run.c[:, k]),
        UnitLine("h", run.h[:, k]),
    ]
    kinds = {name: {gate: it.lstm[f"{kind}_{gate}"] for gate in "fico"} for name, kind in (("W", "W"), ("U", "U"), ("B", "b"))}
    shown = {"f": f, "i": i, "o": o, "candidate": candidate, "c": c, "h": h}
    return PartView(
        equation=Worked(
            r"\begin{aligned} f_t &= \mathrm{sigmoid}(W_f x_t + U_f h_{t-1} + b_f) \\ "
            r"i_t &= \mathrm{sigmoid}(W_i x_t + U_i h_{t-1} + b_i) \\ "
            r"\tilde c_t &= \tanh(W_c x_t + U_c h_{t-1} + b_c) \\ c_t &= f_t \odot c_{t-1} + i_t \odot \tilde c_t \\ "
            r"o_t &= \mathrm{sigmoid}(W_o x_t + U_o h_{t-1} + b_o) \\ h_t &= o_t \odot \tanh(c_t) \end{aligned}",
            rf"\begin{{aligned}} f_t &= {f_} \\ i_t &= {i_} \\ \tilde c_t &= {candidate_} \\ "
            rf"c_t &= {f_} \cdot ({before_}) + {i_} \cdot ({candidate_}) = {c_} \\ "
            rf"o_t &= {o_} \\ h_t &= {o_} \cdot \tanh({c_}) = {tex(h)} \end{{aligned}}",
            it.note,
        ),
        figure=partial(it.curves, "LSTM", lines, _("One unit's gates, candidate, cell and state through time.")),
        asked=it.asked("lstm"),
        followed=it.followed("lstm", run.h),
        more=[agreement("torch.nn.LSTM", recurrence.lstm_deviation(it.x, it.lstm))],
        notebook_values=lambda: it.notebook_values(kinds, shown),
    )


def gradient(it: Unrolled) -> PartView:
    """Norm of the last state's gradient by each input."""
    back = recurrence.gradients_through_time(it.x, it.rnn, it.lstm)
    last, attention = it.len, _("attention")
    names = {"RNN": "rnn", "LSTM": "lstm", "attention": "attention"}
    reaches = [
        Stat(
            name=_("{name} reaches back").format(name=name),
            value=_("{count} of {all} steps").format(count=number(back.steps_remembered(code)), all=number(last)),
            note=_("before it first falls under 1 % of its largest"),
        )
        for code, name in (("rnn", "RNN"), ("lstm", "LSTM"), ("attention", _("Attention")))
    ]
    alt = _("Norm of the last output's gradient by the input at each step, for an RNN, an LSTM and attention.")

    def notebook_values() -> dict[str, Any]:
        firsts = {f"{name}: log10 of the first": math.log10(max(getattr(back, code)[0], 1e-300)) for name, code in names.items()}
        head = recurrence.random_head(it.x.shape[1])
        shown = firsts | {f"{name} reaches back": back.steps_remembered(code) for name, code in names.items()}
        return it.notebook_values({"RNN": it.rnn, "LSTM": it.lstm, "ATTENTION": head}, shown, read=False)

    return PartView(
        equation=Worked(
            r"\begin{aligned} \frac{\partial h_T}{\partial x_t} &= J_T\,J_{T-1} \cdots J_{t+1}\,"
            r"\mathrm{diag}(1-h_t^2)\,W_{hx} \\ J_j &= \mathrm{diag}(1-h_j^2)\,W_{hh} \\ "
            r"\left.\frac{\partial c_T}{\partial c_t}\right|_{f_t,\,i_t,\,\tilde c_t} &= \prod_{j=t+1}^{T} f_j "
            r"\end{aligned}",
            rf"\begin{{aligned}} \text{{RNN: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.rnn[0])} \\ "
            rf"\text{{LSTM: }} &\lVert \partial h_{{{last}}} / \partial x_1 \rVert = {_power(back.lstm[0])} \\ "
            rf"\text{{{attention}: }} &\lVert \partial Z_{{{last}}} / \partial x_1 \rVert = "
            rf"{_power(back.attention[0])} \end{{aligned}}",
            _(
                "Frobenius norms; one head of the same width, without positions, over the same sequence. The product of forget "
                "gates is the cell's own way back, gates and candidate held as they are."
            ),
        ),
        figure=[plot(figures.gradients_figure(back), "recurrent_gradients", alt), stats(*reaches)],
        asked=it.asked("lstm"),
        notebook_values=notebook_values,
    )


def _power(value: float) -> str:
    """A small or large number for LaTeX."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return rf"{tex(float(mantissa), 1)} \cdot 10^{{{int(exponent)}}}"


def agreement(name: str, deviation: float) -> Item:
    """A cell beside PyTorch's."""
    sentence = _("Largest difference from {name} with these weights: {value}.").format(name=name, value=written(deviation, -1))
    return check(sentence, deviation < 1e-9)


render(
    LessonPage(
        "recurrent",
        _("Recurrent cells"),
        [
            Part("rnn", "RNN", rnn, first="rho", dials=(*SEQUENCE, "rho", "t", "unit")),
            Part("lstm", "LSTM", lstm, first="fb", dials=(*SEQUENCE, "fb", "t", "unit")),
            Part("gradient", _("Back through time"), gradient, first="fb", dials=(*SEQUENCE, "rho", "fb")),
        ],
        "sequence-modelling; Bengio et al. 1994",
    )
)
