"""Number of pairs of layers that TLOB needs: the document's claim beside an experiment that was run here."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures.learn.pairs import pairs_figure
from core.lecture import notebooks, pairs_experiment
from core.lecture.pairs_experiment import CLAIMED, ExperimentError, PairsExperiment
from pages.learn import frame
from pages.shared import controls
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "pairs"


def show(found: PairsExperiment) -> dict[str, Any]:
    """The figure, the table and what they say; returns the values for the notebook."""
    means = found.mean("test")
    best = int(means.argmax())
    stat_strip(
        [
            Stat(name=_("Best here"), value=number(found.pairs[best]), note=percent(float(means[best]))),
            Stat(name=_("Best in the document"), value="4", note=percent(CLAIMED[4])),
            Stat(name=_("Between numbers of pairs"), value=_("{points} points").format(points=number(100 * found.gain, 1))),
            Stat(
                name=_("Between seeds"),
                value=_("{points} points").format(points=number(100 * found.spread, 1)) if found.spread == found.spread else "–",
            ),
        ]
    )
    static_plot(
        pairs_figure(found), key="pairs", alt=_("Accuracy by number of pairs: every run here, and the document's numbers.")
    )
    st.markdown(_verdict(found))
    rows = [
        {
            _("Pairs"): number(one),
            _("Parameters"): number(runs[0].parameters) if runs else "–",
            _("Test accuracy, seed by seed"): " · ".join(percent(run.test) for run in runs) or "–",
            _("Training part"): " · ".join(percent(run.train) for run in runs) or "–",
            _("Macro-F1"): " · ".join(number(run.macro_f1, 3) for run in runs) or "–",
            _("The document says"): percent(CLAIMED[one]) if one in CLAIMED else "–",
        }
        for one in sorted({*found.pairs, *CLAIMED})
        for runs in [found.of(one)]
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    momentum, commonest = found.baselines["momentum"], found.baselines["commonest"]
    st.caption(
        _(
            "On the same test windows the momentum rule is right on {momentum} (macro-F1 {f1}), always answering the commonest "
            "class on {commonest}. {runs} of {asked} runs; `{command}`, {date}."
        ).format(
            momentum=percent(momentum["accuracy"]),
            f1=number(momentum["macro_f1"], 3),
            commonest=percent(commonest["accuracy"]),
            runs=number(len(found.runs)),
            asked=number(found.asked),
            command=found.command,
            date=found.date,
        )
    )
    runs = [[run.pairs, run.seed, run.test] for run in found.runs]
    return {"RUNS": runs, **notebooks.on_screen({"means": means, "gain": found.gain}, digits=4)}


def _verdict(found: PairsExperiment) -> str:
    s = found.settings
    scale = _(
        "Small scale: {files} bundled recordings ({days}), windows of {rows} rows, {steps} steps of {batch} windows a run, "
        "the label smoothed at {horizon} steps, {windows} test windows. The document gives no data, label, horizon, seeds or "
        "spread for its numbers."
    ).format(
        files=number(len(found.data)),
        days=", ".join(sorted({one["day"] for one in found.data})),
        rows=number(s["steps"]),
        steps=number(s["epochs"] * s["batches"]),
        batch=number(s["batch"]),
        horizon=number(s["head"][1]),
        windows=number(found.test_windows),
    )
    if any(len(found.of(one)) < 2 for one in found.pairs):
        said = _("Not every number of pairs has a second seed: **no difference between them can be told from chance here.**")
    elif found.gain <= found.spread:
        said = _(
            "Two seeds of one number of pairs differ as much as the numbers of pairs do: **this shows no best number of pairs.**"
        )
    else:
        said = _(
            "The numbers of pairs differ more ({gain} points) than two seeds of one number do ({spread}): with so few seeds that "
            "is a hint and no proof."
        ).format(gain=number(100 * found.gain, 1), spread=number(100 * found.spread, 1))
    return f"{said} {scale}"


frame.open_page(PAGE, _("How many pairs?"))
try:
    experiment = pairs_experiment.load()
except ExperimentError as error:
    controls.error_box(str(error))
    frame.link_only()
else:
    values = show(experiment)
    frame.look_for(frame.passage(PAGE, "look"))
    frame.close_page(
        PAGE,
        sources=_("tlob-architecture sections 1.2 and 7.3, which attribute their numbers to the paper; D4, D8"),
        values=values,
    )
