"""The CTC lab: a target, probabilities frame by frame, and everything that follows from them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final, cast

import pandas as pd
import streamlit as st

from core.figures import ctc as figures
from core.lecture import notebooks
from core.lecture.shown_digits import significant_needed
from core.signs import ctc, ctc_lab
from core.signs.ctc import CTCError, Lattice
from core.signs.ctc_lab import Problem, Quantity
from core.signs.vocabulary import BLANK_NAME
from pages.learn import diagram, lesson, predict, projector, take_along
from pages.learn.predict import Question
from pages.shared import controls, url_state
from pages.shared.language import _, ngettext, number, percent, prose, significant
from pages.shared.live_plot import Point, live_plot, static_plot
from pages.shared.stat_strip import Stat, stat_strip
from pages.signs import ctc_source

PATHS_LISTED: Final = 500
BACKWARD: Final = r"\overleftarrow{\alpha}"
"""The document's β, a letter that names a norm's shift in the lecture."""
CELL: Final = "cell"
"""URL parameter of the framed state: frame and state, from 1 and 0."""


def page() -> None:
    """Top to bottom."""
    lesson.head("ctc", title=_("CTC lab"))
    stage = projector.stage()
    if stage is None:
        st.markdown(prose("ctc_lead"))
    with nullcontext() if stage is None else stage.diagram:
        diagram.draw("ctc")
    with nullcontext() if stage is None else stage.hidden:
        problem = ctc_source.pick()
    if problem is None:
        return
    if stage is not None:
        _present(problem, stage)
        return
    skip = not st.toggle(
        _("The document's recursion (section 11.7), without the skip"),
        key="noskip",
        bind="query-params",
        help=_("Every blank must then be visited. Graves 2006 allows to skip one between two different labels (D17)."),
    )

    predict.ask(lambda: _question(problem, skip))
    _numbers(problem, skip)
    try:
        lattice = problem.lattice(skip=skip)
    except CTCError:
        _too_short(problem, skip)
    else:
        _trellis(lattice, problem)
        _paths(lattice, problem)
        _gradient(lattice, problem)
    _collapse()
    with st.expander(_("How to read this page"), icon=":material/menu_book:"):
        st.markdown(prose("ctc_reading"))
    lesson.foot("ctc")
    take_along.offer("ctc", "", _("CTC lab"), lambda: _taken(problem, skip))


def _question(problem: Problem, skip: bool) -> Question:
    """The question how many valid paths one more frame gives."""
    frames, target = len(problem.probabilities), problem.target
    now, then = (ctc.count_paths(target, count, skip=skip) for count in (frames, frames + 1))
    change = _("One frame is added to {frames}.").format(frames=number(frames))
    key, name = repr((target, frames, skip)), _("the number of valid paths of the target")
    return Question(key=key, change=change, number=name, before=now, after=then)


def _present(problem: Problem, stage: projector.Stage) -> None:
    """On a projector: the trellis, its quantity as the dial, and the question."""
    with stage.strip:
        predict.ask(lambda: _question(problem, skip=True))
    with stage.figure:
        try:
            _trellis(problem.lattice(skip=True), problem)
        except CTCError:
            _too_short(problem, skip=True)
    stage.code()


def _taken(problem: Problem, skip: bool) -> dict[str, Any]:
    """Values for the notebook; a target without a path has no loss to find."""
    given = {"P": problem.probabilities, "TARGET": list(problem.target), "SKIP": skip}
    try:
        return given | notebooks.on_screen({"loss": problem.lattice(skip=skip).loss}, 4)
    except CTCError:
        return given


def _numbers(problem: Problem, skip: bool) -> None:
    """Lengths, the extended sequence and the loss."""
    st.header(_("The target"), anchor=False)
    frames = len(problem.probabilities)
    states = [problem.names[label] for label in ctc.extended(problem.target)]
    st.markdown(_("Extended with blanks: {sequence}").format(sequence=" ".join(f"`{name}`" for name in states)))
    needed = ctc.frames_needed(problem.target, skip=skip)
    stats = [
        Stat(name=_("Labels U"), value=number(len(problem.target))),
        Stat(name=_("Repeats r"), value=number(ctc.repeats(problem.target))),
        Stat(
            name=_("Frames needed"),
            value=number(needed),
            note=_("U + r") if skip else _("2U − 1, without the skip"),
            tone="bad" if frames < needed else "plain",
        ),
        Stat(name=_("Frames T"), value=number(frames)),
        Stat(name=_("Valid paths"), value=number(ctc.count_paths(problem.target, frames, skip=skip))),
    ]
    try:
        lattice = problem.lattice(skip=skip)
    except CTCError:
        stats.append(Stat(name=_("Loss"), value="∞", note=_("there is no path"), tone="bad"))
    else:
        stats += [
            Stat(name=_("P(target)"), value=significant(ctc_lab.probability(lattice.log_probability), 4)),
            Stat(name=_("Loss"), value=_nats(lattice.loss), note=_("nats, −ln P(target)")),
        ]
        if not skip:
            stats.append(
                Stat(
                    name=_("Loss as section 11.7 sums"),
                    value=_nats(-lattice.unfinished_log_probability),
                    note=_("all states of the last frame: paths that never finish count too"),
                    tone="warning",
                )
            )
    stat_strip(stats)


def _nats(value: float) -> str:
    return "∞" if value == float("inf") else number(value, 4)


def _too_short(problem: Problem, skip: bool) -> None:
    frames, needed = len(problem.probabilities), ctc.frames_needed(problem.target, skip=skip)
    sentence = ngettext(
        "No path exists: {frames} frame cannot hold this target, which needs {needed}.",
        "No path exists: {frames} frames cannot hold this target, which needs {needed}.",
        frames,
    ).format(frames=number(frames), needed=number(needed))
    if skip:
        repeats = ctc.repeats(problem.target)
        why = ngettext(
            "Each label takes a frame, and {repeats} repeat takes a blank before it, or the two would collapse into one.",
            "Each label takes a frame, and each of {repeats} repeats a blank before it, or the two would collapse into one.",
            repeats,
        ).format(repeats=number(repeats))
    else:
        why = _("Without the skip every blank between two labels takes a frame as well.")
    st.warning(f"{sentence} {why}", icon=":material/block:")
    st.markdown(_("Training refuses such a pair with one sentence instead of learning from an infinite loss (D19)."))


def _trellis(lattice: Lattice, problem: Problem) -> None:
    """The trellis, and the framed cell's number."""
    st.header(_("The trellis"), anchor=False)
    quantities = {"gamma": _("Posterior"), "alpha": _("Forward α"), "beta": _("Backward, the document's β")}
    quantity = cast(Quantity, url_state.choice(st.segmented_control, _("Shown"), quantities, key="show", required=True))
    best = ctc.best_path(lattice)
    cell = _cell(lattice)

    def frame_cell(point: Point) -> None:
        if isinstance(point.x, int | float) and isinstance(point.y, int | float):
            st.session_state[CELL] = f"{int(point.x)}.{int(point.y)}"

    drawn = figures.trellis_figure(lattice, problem.names, quantity=quantity, best=best.states, selected=cell)
    live_plot(
        drawn,
        key="ctc_trellis",
        height=max(280, 140 + figures.ROW_PX * len(lattice.states)),
        on_click=frame_cell,
        filename="ctc-trellis",
        alt=_("The trellis: frames across, states of the extended target down, the likeliest path drawn thick."),
    )
    st.caption(_("Click a state to see how its number is computed. Faint states lie on no valid path."))
    _step(lattice, problem, quantity, *cell)
    st.markdown(
        _("Likeliest path: {path}, which is {share} of P(target).").format(
            path=" ".join(f"`{problem.names[label]}`" for label in best.labels),
            share=percent(ctc_lab.probability(best.log_probability - lattice.log_probability))
            if lattice.loss != float("inf")
            else "–",
        )
    )


def _cell(lattice: Lattice) -> tuple[int, int]:
    """The framed frame and state, counted from 0; kept in the URL."""
    steps, states = lattice.alpha.shape
    text = str(st.session_state.get(CELL) or st.query_params.get(CELL) or "")
    first, _dot, second = text.partition(".")
    frame, state = url_state.whole_number(first, 1, steps, None), url_state.whole_number(second, 0, states - 1, None)
    if frame is None or state is None:
        url_state.remember(CELL, None)
        return min(1, steps - 1), min(1, states - 1)
    url_state.remember(CELL, text)
    return frame - 1, state


def _step(lattice: Lattice, problem: Problem, quantity: Quantity, t: int, s: int) -> None:
    """The framed state's number and where it comes from."""
    lines = {"alpha": _alpha, "beta": _beta, "gamma": _posterior}[quantity](lattice, problem, t, s)
    st.latex(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")  # short ones, for narrow screens


def _emitted(lattice: Lattice, problem: Problem, t: int, s: int) -> str:
    name = problem.names[lattice.states[s]]
    shown = r"\varnothing" if name == BLANK_NAME else rf"\text{{{name}}}"
    frame = _("frame")
    return rf"P({shown} \mid \text{{{frame} {t + 1}}})"


def _alpha(lattice: Lattice, problem: Problem, t: int, s: int) -> list[str]:
    left, result = rf"\alpha({t + 1}, {s}) &= ", ctc_lab.probability(float(lattice.alpha[t, s]))
    terms = ctc_lab.alpha_terms(lattice, t, s)
    if not terms:
        why = _("a path starts in state 0 or 1")
        start = rf"{_emitted(lattice, problem, t, s)} = {_tex(result)}" if s < 2 else rf"0 \quad \text{{({why})}}"
        return [left + start]
    values = [one.value for one in terms]
    emission = ctc_lab.emission(lattice, t, s)
    digits = significant_needed(lambda *given: sum(given[:-1]) * given[-1], *values, emission)
    letters = " + ".join(rf"\alpha({t}, {term.state})" for term in terms)
    return [
        rf"{left}({letters})",
        rf"&\quad \cdot {_emitted(lattice, problem, t, s)}",
        rf"&= ({' + '.join(_tex(one, digits) for one in values)}) \cdot {_tex(emission, digits)}",
        rf"&= {_tex(result)}",
    ]


def _beta(lattice: Lattice, problem: Problem, t: int, s: int) -> list[str]:
    left, result = rf"{BACKWARD}({t + 1}, {s}) &= ", ctc_lab.probability(float(lattice.beta[t, s]))
    terms = ctc_lab.beta_terms(lattice, t, s)
    if not terms:
        why = _("a path ends in one of the last two states")
        return [rf"{left}{_tex(result)} \quad \text{{({why})}}"]
    values = [each for one in terms for each in (one.value, one.emission)]
    digits = significant_needed(lambda *given: sum(a * b for a, b in zip(given[::2], given[1::2], strict=True)), *values)
    letters = [rf"{BACKWARD}({t + 2}, {one.state}) \cdot {_emitted(lattice, problem, t + 1, one.state)}" for one in terms]
    products = " + ".join(rf"{_tex(one.value, digits)} \cdot {_tex(one.emission, digits)}" for one in terms)
    return [left + letters[0], *(rf"&\quad + {one}" for one in letters[1:]), rf"&= {products}", rf"&= {_tex(result)}"]


def _posterior(lattice: Lattice, _problem: Problem, t: int, s: int) -> list[str]:
    alpha, beta, whole = (
        ctc_lab.probability(float(one)) for one in (lattice.alpha[t, s], lattice.beta[t, s], lattice.log_probability)
    )
    state = _("state")
    left = rf"P(\text{{{state} {s}}} \mid y) &= "
    formula = rf"{left}\frac{{\alpha({t + 1}, {s}) \cdot {BACKWARD}({t + 1}, {s})}}{{P(y)}}"
    if not whole:
        return [formula, r"&= \text{–} \quad P(y) = 0"]
    digits = significant_needed(lambda a, b, p: a * b / p, alpha, beta, whole)
    a, b, p = (_tex(one, digits) for one in (alpha, beta, whole))
    return [formula, rf"&= \frac{{{a} \cdot {b}}}{{{p}}}", rf"&= {_tex(float(lattice.posteriors[t, s]))}"]


def _tex(value: float, digits: int = 3) -> str:
    return significant(value, digits).replace(",", "{,}")


def _paths(lattice: Lattice, problem: Problem) -> None:
    st.header(_("All valid paths"), anchor=False)
    count = ctc.count_paths(lattice.target, len(lattice.alpha), skip=lattice.skip)
    if count > PATHS_LISTED:
        controls.notice(
            "empty",
            _("There are {count} paths: up to {most} are listed. The trellis sums them all.").format(
                count=number(count), most=number(PATHS_LISTED)
            ),
        )
        return
    rows = []
    for path in ctc.valid_paths(lattice, most=PATHS_LISTED):
        names = [problem.names[label] for label in path.labels]
        merged, sentence = ctc_lab.collapsed(names)
        rows.append(
            {
                _("Path"): " ".join(names),
                _("Repeats merged"): " ".join(merged),
                _("Blanks removed"): " ".join(sentence),
                _("Probability"): ctc_lab.probability(path.log_probability),
            }
        )
    table = pd.DataFrame(rows)
    shown = table.style.format({_("Probability"): significant})
    st.container(key="ctc_paths").dataframe(shown, hide_index=True, height="content" if len(table) <= 8 else 320)
    st.caption(
        _("They add up to {sum}, which is P(target) as the trellis gives it.").format(
            sum=significant(float(table[_("Probability")].sum()), 4)
        )
    )


def _gradient(lattice: Lattice, problem: Problem) -> None:
    st.header(_("The gradient"), anchor=False)
    if lattice.loss == float("inf"):
        controls.notice("empty", _("Every path has a frame that rules it out: the loss is infinite and has no gradient."))
        return
    st.markdown(_("Probability less posterior, for each frame and label: where it is negative, training raises the logit."))
    left, right = st.columns(2)
    with left:
        st.markdown(_("**Posteriors of the labels**, given the target"))
        static_plot(
            figures.frames_figure(lattice.label_posteriors, problem.names, keep="posteriors"),
            key="ctc_posteriors",
            alt=_("How likely each label is in each frame, given the target."),
        )
    with right:
        st.markdown(_("**Gradient** of the loss with respect to the logits"))
        static_plot(
            figures.gradient_figure(lattice.gradient, problem.names),
            key="ctc_gradient",
            alt=_("The loss's gradient for each frame and label, orange where it is negative."),
        )


def _collapse() -> None:
    st.header(_("Collapse a path of your own"), anchor=False)
    text = st.text_input(
        _("Path, labels apart by spaces, - for the blank"), value="H H ε O O L A", key="path", bind="query-params"
    )
    names = [BLANK_NAME if word in {"-", "_", "ε"} else word for word in text.split()]
    merged, sentence = ctc_lab.collapsed(names)
    st.markdown(
        _("Repeats merged: {merged} · blanks removed: {sentence}").format(
            merged=" ".join(f"`{name}`" for name in merged) or "–", sentence=" ".join(f"`{name}`" for name in sentence) or "–"
        )
    )


page()
