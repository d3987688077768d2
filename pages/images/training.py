"""The run that made the shipped ViT, beside the one that the report prints."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import checkpoints
from core.figures import training as figures
from core.figures.market import reliability_figure
from core.runs import history
from core.vision.classifier import DEFAULT
from core.vision.gallery import enlarged, mistake_images
from pages.images.class_names import garment
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, prose, significant
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

HEIGHT = 320


def header(card: dict[str, Any], run: history.Run) -> None:
    """The run in numbers."""
    test, held_out = card["metrics"].get("test"), card["metrics"]["validation"]
    report = history.report_run()
    stats = [
        Stat(name=_("Validation accuracy"), value=percent(held_out["accuracy"], 2), note=_("the epoch was chosen by it")),
        Stat(name=_("Parameters"), value=number(card["parameters"])),
        Stat(name=_("Epochs"), value=number(len(run.epoch))),
        Stat(
            name=_("Report: test accuracy"),
            value=percent(float(report.held_out_accuracy[-1]), 2),
            note=_("after {n} epochs").format(n=number(len(report.epoch))),
        ),
    ]
    if test:
        samples = number(test["samples"])
        stats = [
            Stat(
                name=_("Test accuracy"),
                value=percent(test["accuracy"], 2),
                note=_("{n} images, which chose nothing").format(n=samples),
            ),
            Stat(
                name=_("Calibration error"),
                value=percent(test["calibration_error"], 2),
                note=_("confidence against how often it is right"),
            ),
            *stats,
        ]
    stat_strip(stats)
    st.caption(_("Trained with `{command}` on {date}.").format(command=card["command"], date=card["date"]))


def curves(card: dict[str, Any], run: history.Run) -> None:
    """Accuracy, loss, gap and rate by epoch."""
    beside = st.toggle(_("Beside the report's 25 epochs"), value=True, key="report", bind="query-params")
    report = history.report_run() if beside else None
    left, right = st.columns(2)
    with left:
        st.subheader(_("Accuracy"), anchor=False)
        static_plot(
            figures.accuracy_figure(run, report),
            key="training_accuracy",
            height=HEIGHT,
            alt=_("Accuracy on training and validation images by epoch, and the report's."),
        )
        st.subheader(_("Gap between training and held-out images"), anchor=False)
        static_plot(
            figures.gap_figure(run, report),
            key="training_gap",
            height=HEIGHT,
            alt=_("Training accuracy less validation accuracy by epoch, in percentage points."),
        )
    with right:
        st.subheader(_("Loss"), anchor=False)
        static_plot(
            figures.loss_figure(run, report),
            key="training_loss",
            height=HEIGHT,
            alt=_("Cross-entropy with label smoothing less its floor, by epoch."),
        )
        st.subheader(_("Learning rate"), anchor=False)
        static_plot(
            figures.rate_figure(run),
            key="training_rate",
            height=HEIGHT,
            alt=_("The learning rate at the end of each epoch."),
        )
    st.caption(
        _(
            "The loss is shown above its floor of {floor} nats: under label smoothing even a perfect answer costs that much. "
            "The report prints learning rates as 0.0000; its text gives a peak of {peak} and an end of {end}."
        ).format(
            floor=number(run.floor, 4),
            peak=f"{history.REPORT_RATES[0]:.1e}",
            end=f"{history.REPORT_RATES[1]:.1e}",
        )
    )
    if card.get("teacher"):
        st.caption(
            _(
                "The last stage imitated a convolutional teacher, right on {share} of the validation images. Its answers are "
                "surer than smoothed labels, so the loss against those rises where the stage begins, while accuracy goes on "
                "rising."
            ).format(share=percent(card["teacher"]["validation_accuracy"], 1))
        )
    controls.download_table(_("Epochs"), run.table, key="training_epochs", filename="vit-epochs")


def errors(card: dict[str, Any]) -> None:
    """Confusion matrix, reliability and the worst mistakes, on the test images where they were read, else on validation."""
    parts = {"test": _("Test images"), "validation": _("Validation images")}
    there = {name: label for name, label in parts.items() if name in card["metrics"]}
    part = url_state.choice(st.segmented_control, _("Images"), there, key="part", required=True)
    found = card["metrics"][part]
    names = [garment(name) for name in card["classes"]]
    left, right = st.columns([3, 2])
    with left:
        st.subheader(_("Which is taken for which"), anchor=False)
        static_plot(
            figures.confusion_figure(history.counts(found["confusion"]), names),
            key="training_confusion",
            height=480,
            alt=_("Counts of true classes against the model's answers."),
        )
    with right:
        st.subheader(_("Is its confidence worth anything?"), anchor=False)
        static_plot(
            reliability_figure({"ViT": history.reliability_bins(found["reliability"])}),
            key="training_reliability",
            height=HEIGHT,
            alt=_("How often answers of each confidence were right, against the diagonal of perfect calibration."),
        )
        st.caption(
            _("Logits are divided by a temperature of {t}, fitted on the validation images. Calibration error: {e}.").format(
                t=significant(card["calibration"]["temperature"], 4), e=percent(found["calibration_error"], 2)
            )
        )


def mistakes(card: dict[str, Any]) -> None:
    """The wrong answers the model was surest of."""
    pictures = mistake_images()
    shown = [one for one in card.get("mistakes", []) if one["index"] in pictures]
    st.subheader(_("Its worst mistakes"), anchor=False)
    if not shown:
        controls.notice("empty", _("This checkpoint's card names no mistakes: they are found when the test images are read."))
        return
    st.markdown(
        _(
            "The test images it answered wrongly with the most confidence. Some labels are themselves open to doubt: "
            "judge for yourself."
        )
    )
    with st.container(horizontal=True):
        for one in shown:
            label, called = garment(card["classes"][one["label"]]), garment(card["classes"][one["called"]])
            with st.container(width=132):
                st.image(enlarged(pictures[one["index"]]), width=112)
                st.caption(
                    _("**{called}** {sure}  \nlabel: {label}  \ntest image {index}").format(
                        called=called, sure=percent(one["confidence"], 0), label=label, index=one["index"]
                    )
                )


controls.page_header(_("Training run"), prose("garment_training_lead"))
try:
    names = checkpoints.names("vit")
    if not names:
        controls.notice("empty", _("There is no trained ViT in assets/checkpoints: train one with `python -m core train vit`."))
        st.stop()
    chosen = names[0]
    if len(names) > 1:
        chosen = url_state.choice(st.selectbox, _("Checkpoint"), {name: name for name in names}, key="run", default=DEFAULT)
    card = checkpoints.read_card(chosen)
except checkpoints.CheckpointError as error:
    controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
    st.stop()
run = history.run_of(card)
header(card, run)
curves(card, run)
errors(card)
mistakes(card)
with st.expander(_("How it was trained, and how to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("garment_training"))
    st.json(card, expanded=1)
