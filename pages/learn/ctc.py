"""CTC: a target, probabilities frame by frame, and everything that follows from them: trellis, paths, gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final, cast

import streamlit as st

from core.figures import ctc as figures
from core.figures.matrix import Matrix
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import dot, significant_needed
from core.messages import Refusal
from core.signs import ctc, ctc_lab
from core.signs.ctc import Lattice
from core.signs.ctc_lab import Fill, Problem, Quantity
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from core.signs.vocabulary import BLANK_NAME
from pages.learn import frame
from pages.learn.frame import Dial, Worked, aligned, passage, tex_significant
from pages.learn.lesson_page import Drawn, Item, LessonPage, Part, PartView, caption, check, markdown, plot, render, stats, table
from pages.shared import url_state
from pages.shared.language import N_, _, number, percent, significant
from pages.shared.live_plot import Point
from pages.shared.stat_strip import Stat
from pages.signs import cached_results, clip_source

PATHS_LISTED: Final = 500
FACTORS: Final = 12
"""Frames up to which the likeliest path's product is written out."""
MAX_TARGET: Final = 400
"""Characters of a target: the lab takes some ten labels."""
BACKWARD: Final = r"\overleftarrow{\alpha}"
"""The document's β, a letter that names a norm's shift in the lecture."""
GIVEN: Final = "P(·|y)"
"""Name of the labels' probabilities given the target."""
SIGNED, FRAME, STATE = "signed", "at", "state"
SHOWN: Final = {"gamma": N_("Posterior"), "alpha": N_("Forward α"), "beta": N_("Backward, the document's β")}
"""Probabilities that the trellis shows."""
CLIPS: Final = ("frames", "tracks")
"""Sources of probabilities that are clips."""


@dataclass(frozen=True)
class ProbabilitySource:
    """Probabilities built around the target in a way of `kind`, or those of a shipped model for a clip."""

    kind: str
    clip: cached_results.Clip | None = None

    @property
    def reader(self) -> Recogniser:
        """The shipped model of such clips.

        Raises:
            Refusal: where there is none.
        """
        names = cached_results.model_names(self.kind)
        if not names:
            raise Refusal("There is no trained model for these clips yet: see the README on how to train one.")
        return cached_results.shipped(names[0])

    @property
    def recognition(self) -> Recognition:
        """The reader's answer on the clip."""
        assert self.clip is not None
        return cached_results.read(self.reader, self.clip)


def source() -> dict[str, ProbabilitySource]:
    """Asks for the source of the probabilities."""
    kinds = {
        "follow": _("Follow the target"),
        "peaks": _("Peaks among blanks"),
        "even": _("All alike"),
        "random": _("Random"),
        "frames": _("A film of digits, read by a model"),
        "tracks": _("An ASL sentence, read by a model"),
    }
    if st.query_params.pop("probs", "") == "clip":  # a link of before
        st.query_params["fill"] = st.query_params.pop("signs", CLIPS[0])
    kind = url_state.choice(st.segmented_control, _("Probabilities"), kinds, key="fill")
    it = ProbabilitySource(kind)
    if kind in CLIPS:
        it = replace(it, clip=clip_source.bundled(kind, it.reader, on_change=_forget_signed))
    return {"source": it}


def _forget_signed() -> None:
    """Another clip starts with its own sentence as target."""
    for key in (SIGNED, f"{SIGNED}:kept"):
        st.session_state.pop(key, None)


def target_dial(source: ProbabilitySource) -> Dial:
    """The target, at first what is signed in a clip."""

    def target(_values: Mapping[str, Any]) -> str:
        if source.clip is None:
            return url_state.text(_("Target: labels apart by spaces"), key="target", default="A B", max_chars=MAX_TARGET)
        signed = " ".join(source.clip.glosses or ())
        return url_state.text(_("Target: glosses apart by spaces"), key=SIGNED, default=signed, max_chars=MAX_TARGET)

    return Dial(_("Target"), target)


def length_dial(source: ProbabilitySource) -> Dial | None:
    """The number of frames; a clip has its own."""
    return frame.slider(_("Frames") + " T", 1, ctc_lab.MAX_FRAMES, key="length", default=6) if source.clip is None else None


@dataclass(frozen=True, kw_only=True)
class Lab:
    """The reader's target and probabilities; the fields but the source are the dials."""

    source: ProbabilitySource
    target: Annotated[str, target_dial]
    length: Annotated[int, length_dial] = 6
    noskip: Annotated[
        bool,
        frame.switch(_("The document's recursion (section 11.7), without the skip"), key="noskip", short=_("Without the skip")),
    ]

    @cached_property
    def problem(self) -> Problem:
        """Target and probabilities."""
        if self.source.clip is None:
            return ctc_lab.made(self.target.split(), self.length, cast(Fill, self.source.kind))
        probabilities = self.source.recognition.log_probabilities
        return ctc_lab.of_clip(probabilities, self.source.reader.vocabulary.names, self.target.split())

    @property
    def skip(self) -> bool:
        """Whether a blank between two different labels may be left out."""
        return not self.noskip

    @property
    def frames(self) -> int:
        """T."""
        return len(self.problem.probabilities)

    @property
    def needed(self) -> int:
        """The fewest frames that hold the target."""
        return ctc.frames_needed(self.problem.target, skip=self.skip)

    @cached_property
    def count(self) -> int:
        """Number of valid paths."""
        return ctc.count_paths(self.problem.target, self.frames, skip=self.skip)

    @cached_property
    def lattice(self) -> Lattice | None:
        """Forward and backward; None where the frames are too few."""
        return self.problem.lattice(skip=self.skip) if self.frames >= self.needed else None

    def asked(self) -> tuple[str, float]:
        """The number whose change a reader is asked to predict."""
        return _("the number of valid paths of the target"), float(self.count)

    def without_path(self) -> PartView:
        """Shows why there is no path."""
        return PartView(figure=[self.probabilities(), check(too_short(self), False), self.strip()], notes=(), asked=self.asked)

    def table(self, values: Any, name: str, key: str, alt: str, **more: Any) -> Drawn:
        """A number for each label and frame: labels down, frames across."""
        return plot(
            Matrix(values=values.T, name=name, rows=self.problem.names, x_title=_("Frame"), digits=3, **more),
            key,
            alt,
        )

    def probabilities(self) -> Drawn:
        """The probabilities of each frame."""
        alt = _("The probability of each label in each frame.")
        return self.table(self.problem.probabilities, "P", "ctc_frames", alt, signed=False, top=1.0)

    def strip(self) -> Item:
        """Lengths, paths and loss."""
        shown = [
            Stat(name=_("Labels U"), value=number(len(self.problem.target))),
            Stat(name=_("Repeats r"), value=number(ctc.repeats(self.problem.target))),
            Stat(
                name=_("Frames needed"),
                value=number(self.needed),
                note="U + r" if self.skip else _("2U − 1, without the skip"),
                tone="bad" if self.lattice is None else "plain",
            ),
            Stat(name=_("Frames") + " T", value=number(self.frames)),
            Stat(name=_("Valid paths"), value=number(self.count)),
        ]
        if self.lattice is None:
            return stats(*shown, Stat(name=_("Loss"), value="∞", note=_("there is no path"), tone="bad"))
        shown += [
            Stat(name=_("P(target)"), value=significant(math.exp(self.lattice.log_probability), 4)),
            Stat(name=_("Loss"), value=number(self.lattice.loss, 4), note=_("nats, −ln P(target)")),
        ]
        if not self.skip:
            note = _("all states of the last frame: paths that never finish count too")
            unfinished = number(-self.lattice.unfinished_log_probability, 4)
            shown.append(Stat(name=_("Loss as section 11.7 sums"), value=unfinished, note=note, tone="warning"))
        return stats(*shown)


def frame_dial(source: ProbabilitySource) -> Dial:
    """The frame that is read."""

    def frames(values: Mapping[str, Any]) -> int:
        return values["length"] if source.clip is None else len(source.recognition.log_probabilities)

    return frame.slider(_("Frame"), 1, frames, key=FRAME, default=2, reads=True)


def last_state(values: Mapping[str, Any]) -> int:
    """Of the target with its blanks."""
    return 2 * min(len(values["target"].split()), ctc_lab.MAX_LABELS)


def pick_path(_values: Mapping[str, Any]) -> str:
    """Asks for a path to collapse."""
    label = _("Collapse a path of your own: labels apart by spaces, - for the blank")
    return st.text_input(label, "H H ε O O L A", key="path", bind="query-params", max_chars=120)


def too_short(it: Lab) -> str:
    """Tells why a target has no path."""
    sentence = _("No path exists: frames there are {frames}, and this target needs {needed}.").format(
        frames=number(it.frames), needed=number(it.needed)
    )
    if not it.skip:
        return f"{sentence} " + _("Without the skip every blank between two labels takes a frame as well.")
    why = _("Each label takes a frame, and each repeat a blank before it, or the two would collapse into one: {repeats} here.")
    return f"{sentence} {why.format(repeats=number(ctc.repeats(it.problem.target)))}"


def trellis(
    it: Lab,
    show: Annotated[Quantity, replace(frame.choice(_("Shown"), SHOWN, key="show"), reads=True, elsewhere=None)],
    at: Annotated[int, frame_dial],
    state: Annotated[int, frame.slider(_("State"), 0, last_state, key=STATE, default=1, reads=True)],
) -> PartView:
    """All paths at once: forward, backward, and their product."""
    lattice, names = it.lattice, it.problem.names
    if lattice is None:
        return it.without_path()
    cell = min(at, it.frames) - 1, min(state, 2 * len(it.problem.target))
    best = ctc.best_path(lattice)

    def on_press(point: Point) -> None:
        if isinstance(point.x, int | float) and isinstance(point.y, int | float):
            st.session_state.update({FRAME: int(point.x), STATE: int(point.y)})

    drawn = figures.trellis_figure(lattice, names, quantity=show, best=best.states, selected=cell)
    alt = _("The trellis: frames across, states of the extended target down, the likeliest path drawn thick.")
    share = percent(math.exp(best.log_probability - lattice.log_probability))
    states = " ".join(f"`{names[label]}`" for label in ctc.extended(it.problem.target))
    path = " ".join(f"`{names[label]}`" for label in best.labels)
    return PartView(
        equation={"alpha": forward, "beta": backward, "gamma": posterior}[show](lattice, names, *cell),
        figure=[
            plot(drawn, "ctc_trellis", alt, filename="ctc-trellis", on_click=on_press),
            caption(_("Click a state to see how its number is computed. Faint states lie on no valid path.")),
            it.strip(),
            markdown(_("Extended with blanks: {sequence}").format(sequence=states)),
            markdown(_("Likeliest path: {path}, which is {share} of P(target).").format(path=path, share=share)),
        ],
        more=[it.probabilities(), markdown(passage("ctc", "document"))],
        asked=it.asked,
        notebook_values=lambda: {
            "P": it.problem.probabilities,
            "TARGET": list(it.problem.target),
            "SKIP": it.skip,
            **on_screen({"loss": lattice.loss}, 4),
        },
    )


def _emitted(lattice: Lattice, names: tuple[str, ...], t: int, s: int) -> str:
    name = names[lattice.states[s]]
    shown = r"\varnothing" if name == BLANK_NAME else rf"\text{{{name}}}"
    frame_name = _("Frame").lower()
    return rf"P({shown} \mid \text{{{frame_name} {t + 1}}})"


def forward(lattice: Lattice, names: tuple[str, ...], t: int, s: int) -> Worked:
    """α of a frame and a state, from those a step before."""
    left, result = rf"\alpha({t + 1}, {s})", tex_significant(math.exp(lattice.alpha[t, s]))
    emitted, emission = _emitted(lattice, names, t, s), ctc_lab.emission(lattice, t, s)
    if t == 0:
        return Worked(f"{left} = {emitted if s < 2 else 0}", f"{left} = {result}", _("A path starts in state 0 or 1."))
    sources = ctc.sources_of(lattice.states, s, skip=lattice.skip)
    values = [math.exp(lattice.alpha[t - 1, source]) for source in sources]
    digits = significant_needed(lambda *given: sum(given[:-1]) * given[-1], *values, emission)
    letters = " + ".join(rf"\alpha({t}, {source})" for source in sources)
    added = " + ".join(tex_significant(one, digits) for one in values)
    return Worked(
        aligned(rf"{left} &= ({letters})", rf"&\quad \cdot {emitted}"),
        aligned(rf"{left} &= ({added}) \cdot {tex_significant(emission, digits)}", f"&= {result}"),
    )


def backward(lattice: Lattice, names: tuple[str, ...], t: int, s: int) -> Worked:
    """The document's β of a frame and a state, from those a step later."""
    left, result = rf"{BACKWARD}({t + 1}, {s})", tex_significant(math.exp(lattice.beta[t, s]))
    if t == len(lattice.beta) - 1:
        return Worked(f"{left} = {result}", "", _("A path ends in one of the last two states."))
    targets = ctc_lab.targets_of(lattice, s)
    values = [math.exp(lattice.beta[t + 1, one]) for one in targets]
    emissions = [ctc_lab.emission(lattice, t + 1, one) for one in targets]
    digits = significant_needed(dot, *values, *emissions)
    first, *others = (rf"{BACKWARD}({t + 2}, {one}) \cdot {_emitted(lattice, names, t + 1, one)}" for one in targets)
    pairs = zip(values, emissions, strict=True)
    products = " + ".join(
        rf"{tex_significant(value, digits)} \cdot {tex_significant(emission, digits)}" for value, emission in pairs
    )
    return Worked(
        aligned(f"{left} &= {first}", *(rf"&\quad + {one}" for one in others)),
        aligned(f"{left} &= {products}", f"&= {result}"),
    )


def posterior(lattice: Lattice, _names: tuple[str, ...], t: int, s: int) -> Worked:
    """Probability of a state at a frame, given the target."""
    alpha, beta, whole = map(math.exp, (lattice.alpha[t, s], lattice.beta[t, s], lattice.log_probability))
    state = _("State").lower()
    left = rf"P(\text{{{state} {s}}} \mid y)"
    formula = rf"{left} = \frac{{\alpha({t + 1}, {s}) \cdot {BACKWARD}({t + 1}, {s})}}{{P(y)}}"
    if not whole:
        return Worked(formula, rf"{left} = \text{{–}}", "P(y) = 0")
    digits = significant_needed(lambda a, b, p: a * b / p, alpha, beta, whole)
    a, b, p = (tex_significant(one, digits) for one in (alpha, beta, whole))
    return Worked(formula, rf"{left} = \frac{{{a} \cdot {b}}}{{{p}}} = {tex_significant(float(lattice.posteriors[t, s]))}")


def paths(it: Lab, path: Annotated[str, Dial(_("A path of your own"), pick_path, reads=True)]) -> PartView:
    """Every valid path, and what a path collapses to."""
    lattice, names = it.lattice, it.problem.names
    if lattice is None:
        return it.without_path()
    listed = ctc.valid_paths(lattice, most=PATHS_LISTED) if it.count <= PATHS_LISTED else []
    rows = []
    for one in listed:
        labels = [names[label] for label in one.labels]
        merged, sentence = ctc_lab.collapsed(labels)
        rows.append(
            {
                _("Path"): " ".join(labels),
                _("Repeats merged"): " ".join(merged),
                _("Blanks removed"): " ".join(sentence),
                _("Probability"): significant(math.exp(one.log_probability), 4),
            }
        )
    there = _("There are {count} paths: up to {most} are listed. The trellis sums them all.")
    summed = sum(math.exp(path.log_probability) for path in listed)
    total = math.exp(lattice.log_probability)
    adds_up = _("They add up to {sum}, which is P(target) as the trellis gives it.").format(sum=significant(summed, 4))
    return PartView(
        equation=likeliest(lattice),
        figure=[
            table(rows, height="content" if len(rows) <= 8 else 320)
            if rows
            else caption(there.format(count=number(it.count), most=number(PATHS_LISTED))),
            *([check(adds_up, abs(summed - total) <= 1e-9 * total)] if rows else []),
            it.strip(),
        ],
        more=[collapse(path)],
        asked=it.asked,
    )


def likeliest(lattice: Lattice) -> Worked:
    """A target's probability is the sum over its paths; the likeliest one's product."""
    best = ctc.best_path(lattice)
    factors = [math.exp(row[label]) for row, label in zip(lattice.log_probabilities, best.labels, strict=True)]
    whole = math.exp(best.log_probability)
    product = f"= {tex_significant(whole)}"
    if len(factors) <= FACTORS:
        digits = significant_needed(lambda *given: math.prod(given), *factors)
        product = "= " + r" \cdot ".join(tex_significant(one, digits) for one in factors) + f" {product}"
    name = _("Likeliest path").lower()
    return Worked(
        r"P(y) = \sum_{\text{paths of } y} \; \prod_t P(\text{label} \mid t)",
        rf"P(\text{{{name}}}) {product}",
    )


def collapse(text: str) -> Item:
    """A typed path after both steps."""
    names = [BLANK_NAME if word in {"-", "_", "ε"} else word for word in text.split()]
    merged, sentence = (" ".join(f"`{name}`" for name in step) or "–" for step in ctc_lab.collapsed(names))
    steps = _("Repeats merged: {merged} · blanks removed: {sentence}").format(merged=merged, sentence=sentence)
    return markdown(f"**{_('A path of your own')}.** {steps}")


def gradient(it: Lab) -> PartView:
    """The loss's slope: what the model said, less what the target would have wanted."""
    lattice = it.lattice
    if lattice is None:
        return it.without_path()
    probabilities, wanted = it.problem.probabilities, lattice.label_posteriors
    of = {"frames": probabilities.T, "posteriors": wanted.T}
    alt = _("The loss's gradient for each frame and label, orange where it is negative.")
    slope = it.table(lattice.gradient, f"P − {GIVEN}", "ctc_gradient", alt, of=of)
    alt = _("How likely each label is in each frame, given the target.")
    posteriors = it.table(wanted, GIVEN, "ctc_posteriors", alt, signed=False, top=1.0)
    formula = r"\frac{\partial \mathcal{L}}{\partial \text{logit}} = P(\text{label} \mid t) - P(\text{label} \mid t, y)"
    return PartView(
        equation=Worked(formula, ""),
        figure=[slope, it.strip()],
        more=[[it.probabilities(), posteriors]],
        asked=it.asked,
    )


render(
    LessonPage(
        "ctc",
        _("CTC lab"),
        [
            Part("trellis", _("Trellis"), trellis, above=source),
            Part("paths", _("All valid paths"), paths, above=source),
            Part("gradient", _("Gradient"), gradient, above=source),
        ],
        "iiga-equations 10.2, 11; Graves et al. 2006; D17, D18, D19",
        {Refusal: ("", "")},
    )
)
