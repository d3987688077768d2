"""The training of the model that answers, from its card: accuracy by epoch beside the report's, and what came out."""

import streamlit as st

from core.checkpoints import CheckpointError
from core.figures.training import accuracy_figure
from core.runs.history import report_run, run_from_card
from core.vision.classifier import Classifier
from pages.shared import controls
from pages.shared.language import _, number, percent, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip


def draw_training(classifier: Classifier) -> None:
    """The view."""
    card = classifier.card
    try:
        run = run_from_card(card)
    except CheckpointError as error:
        controls.no_checkpoint(error)
        return
    report = report_run()
    last = report.epochs.iloc[-1]
    stats = [Stat(name=_("Parameters"), value=number(card["parameters"]), note=_("{n} epochs").format(n=number(len(run.epochs))))]
    if (test := card["metrics"].get("test")) is not None:
        stats.append(Stat(name=_("Test accuracy"), value=percent(test["accuracy"], 2), note=_("on images that chose nothing")))
    if (photographs := classifier.photographs) is not None:
        note = _("{n} that people took of garments; {share} flagged")
        note = note.format(n=number(photographs["samples"]), share=percent(photographs["flagged"], 0))
        stats.append(Stat(name=_("Photographs: accuracy"), value=percent(photographs["accuracy"], 1), note=note))
    gap = _("{points} points less than on training images, after {n} epochs").format(
        points=number(100 * last["gap"], 2), n=number(len(report.epochs))
    )
    stats.append(Stat(name=_("Report: test accuracy"), value=percent(last["held_out_accuracy"], 2), note=gap))
    stat_strip(stats)
    alt = _("Accuracy on training and validation images by epoch, and the report's.")
    live_plot(accuracy_figure(run, report), key="training_accuracy", height=320, alt=alt)
    controls.download_table(_("Epochs"), lambda: run.epochs, key="training_epochs", filename="garment-epochs")
    st.markdown(prose("garment_training"))
    st.caption(_("Trained with `{command}` on {date}.").format(command=card["command"], date=card["date"]))
