"""Number of pairs of layers that TLOB needs: the document's claim beside an experiment that was run here."""

from __future__ import annotations

from core.figures.learn.experiments import pairs_figure
from core.lecture import pairs_experiment
from core.lecture.notebooks import on_screen
from core.lecture.pairs_experiment import CLAIMED, ExperimentError, PairsExperiment
from pages.learn.frame import passage
from pages.learn.lesson_page import LessonPage, Part, PartView, caption, markdown, plot, render, stats, table
from pages.shared.language import _, number, percent
from pages.shared.stat_strip import Stat


def show(it: PairsExperiment) -> PartView:
    """The figure, the table and what they say."""
    means = it.mean("test")
    best = int(means.argmax())
    points = _("{points} points")
    spread = points.format(points=number(100 * it.spread, 1)) if it.spread == it.spread else "–"
    rows = [
        {
            _("Pairs"): number(one),
            _("Parameters"): number(runs[0].parameters) if runs else "–",
            _("Test accuracy, seed by seed"): " · ".join(percent(run.test) for run in runs) or "–",
            _("Training part"): " · ".join(percent(run.train) for run in runs) or "–",
            _("Macro-F1"): " · ".join(number(run.macro_f1, 3) for run in runs) or "–",
            _("The document says"): percent(CLAIMED[one]) if one in CLAIMED else "–",
        }
        for one in sorted({*it.pairs, *CLAIMED})
        for runs in [it.of(one)]
    ]
    momentum, commonest = it.baselines["momentum"], it.baselines["commonest"]
    beside = _(
        "On the same test windows the momentum rule is right on {momentum} (macro-F1 {f1}), always answering the commonest "
        "class on {commonest}. {runs} of {asked} runs, {date}."
    ).format(
        momentum=percent(momentum["accuracy"]), f1=number(momentum["macro_f1"], 3), commonest=percent(commonest["accuracy"]),
        runs=number(len(it.runs)), asked=number(it.asked), date=it.date,
    )  # fmt: skip
    return PartView(
        figure=[
            stats(
                Stat(name=_("Best here"), value=number(it.pairs[best]), note=percent(float(means[best]))),
                Stat(name=_("Best in the document"), value="4", note=percent(CLAIMED[4])),
                Stat(name=_("Between numbers of pairs"), value=points.format(points=number(100 * it.gain, 1))),
                Stat(name=_("Between seeds"), value=spread),
            ),
            plot(pairs_figure(it), "pairs", _("Accuracy by number of pairs: every run here, and the document's numbers.")),
            markdown(_verdict(it)),
            table(rows),
            caption(beside),
        ],
        notes=[passage("pairs", "look")],
        taken=lambda: {
            "RUNS": [[run.pairs, run.seed, run.test] for run in it.runs],
            **on_screen({"means": means, "gain": it.gain}, digits=4),
        },
    )


def _verdict(it: PairsExperiment) -> str:
    s = it.settings
    scale = _(
        "Small scale: {files} bundled recordings ({days}), windows of {rows} rows, {steps} steps of {batch} windows a run, "
        "the label smoothed at {horizon} steps, {windows} test windows. The document gives no data, label, horizon, seeds or "
        "spread for its numbers."
    ).format(
        files=number(len(it.data)),
        days=", ".join(sorted({one["day"] for one in it.data})),
        rows=number(s["steps"]),
        steps=number(s["epochs"] * s["batches"]),
        batch=number(s["batch"]),
        horizon=number(s["head"][1]),
        windows=number(it.test_windows),
    )
    if any(len(it.of(one)) < 2 for one in it.pairs):
        said = _("Not every number of pairs has a second seed: **no difference between them can be told from chance here.**")
    elif it.gain <= it.spread:
        said = _(
            "Two seeds of one number of pairs differ as much as the numbers of pairs do: **this shows no best number of pairs.**"
        )
    else:
        said = _(
            "The numbers of pairs differ more ({gain} points) than two seeds of one number do ({spread}): with so few seeds that "
            "is a hint and no proof."
        ).format(gain=number(100 * it.gain, 1), spread=number(100 * it.spread, 1))
    return f"{said} {scale}"


render(
    lambda: LessonPage(
        "pairs",
        _("How many pairs?"),
        [Part("", "", dict, lambda: show(pairs_experiment.load()))],
        _("tlob-architecture sections 1.2 and 7.3, which attribute their numbers to the paper; D4, D8"),
        {ExperimentError: ("", "")},
    )
)
