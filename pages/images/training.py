"""The training run of the shipped ViT beside the report's: curves and scores."""

from __future__ import annotations

import streamlit as st

from core import checkpoints
from core.figures import training as figures
from core.figures.market import reliability_figure
from core.runs import history
from core.runs.history import TrainingRecord
from core.vision.classifier import DEFAULT, classifier_names
from pages.images.model_choice import no_model
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, prose, scientific, significant
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

HEIGHT = 320


def header(record: TrainingRecord) -> None:
    """The run's scores and size."""
    test, validation = record.parts.get("test"), record.parts.get("validation")
    report = history.report_run().epochs
    stats = []
    if test:
        images = _("{n} images, not used to choose anything").format(n=number(test.samples or 0))
        stats += [
            Stat(name=_("Test accuracy"), value=percent(test.accuracy, 2), note=images),
            Stat(
                name=_("Calibration error"),
                value=percent(test.calibration_error, 2),
                note=_("confidence against how often it is right"),
            ),
        ]
    if (photographs := record.photographs) is not None:
        note = _("{n} that people took of garments; {share} flagged")
        note = note.format(n=number(photographs.samples), share=percent(photographs.flagged, 0))
        stats.append(Stat(name=_("Photographs: accuracy"), value=percent(photographs.accuracy, 1), note=note))
    if validation:
        note = _("used to choose the epoch")
        stats.append(Stat(name=_("Validation accuracy"), value=percent(validation.accuracy, 2), note=note))
    stats += [
        Stat(name=_("Parameters"), value=number(record.parameters)),
        Stat(name=_("Epochs"), value=number(len(record.run.epochs))),
        Stat(
            name=_("Report: test accuracy"),
            value=percent(float(report["held_out_accuracy"].iloc[-1]), 2),
            note=_("after {n} epochs").format(n=number(len(report))),
        ),
    ]
    stat_strip(stats)


def curves(record: TrainingRecord) -> None:
    """Accuracy, loss, gap and learning rate by epoch, beside the report's."""
    run = record.run
    plots: dict[figures.Curve, tuple[str, str]] = {
        "accuracy": (_("Accuracy"), _("Accuracy on training and validation images by epoch, and the report's.")),
        "loss": (_("Loss"), _("Cross-entropy with label smoothing less its floor, by epoch.")),
        "gap": (_("Gap between training and held-out images"), _("Training accuracy less validation accuracy by epoch.")),
        "rate": (_("Learning rate"), _("The learning rate at the end of each epoch.")),
    }
    for column, (curve, (title, alt)) in zip(2 * st.columns(2), plots.items(), strict=True):
        with column:
            st.header(title, anchor=False)
            figure = figures.curve_figure(curve, run, history.report_run())
            live_plot(figure, key=f"training_{curve}", height=HEIGHT, alt=alt)
    st.caption(
        _(
            "The loss is shown above its floor of {floor} nats: under label smoothing even a perfect answer costs that much. "
            "The report prints learning rates as 0.0000; its text gives a peak of {peak} and an end of {end}."
        ).format(
            floor=number(run.floor, 4),
            peak=scientific(history.REPORT_RATES[0]),
            end=scientific(history.REPORT_RATES[1]),
        )
    )
    if record.teacher_accuracy is not None:
        st.caption(
            _(
                "The last stage imitated a convolutional teacher, right on {share} of the validation images. Its answers are "
                "surer than smoothed labels, so the loss against those rises where the stage begins, while accuracy goes on "
                "rising."
            ).format(share=percent(record.teacher_accuracy, 1))
        )
    controls.download_table(_("Epochs"), lambda: run.epochs, key="training_epochs", filename="vit-epochs")


def errors(record: TrainingRecord) -> None:
    """Confusion matrix and reliability, on the test images where they were read, or on the validation images."""
    scores = record.parts.get("test", record.parts.get("validation"))
    if scores is None:
        return
    names = [_(name) for name in record.class_names]
    left, right = st.columns([3, 2])
    with left:
        st.header(_("Which class is taken for which"), anchor=False)
        live_plot(
            figures.confusion_figure(scores.confusion, names),
            key="training_confusion",
            height=480,
            alt=_("Counts of true classes against the model's answers."),
        )
    with right:
        st.header(_("Is its confidence calibrated?"), anchor=False)
        live_plot(
            reliability_figure({"ViT": scores.reliability}),
            key="training_reliability",
            height=HEIGHT,
            alt=_("How often answers of each confidence were right, against the diagonal of perfect calibration."),
        )
        st.caption(
            _("Logits are divided by a temperature of {t}, fitted on the validation images. Calibration error: {e}.").format(
                t=significant(record.temperature, 4), e=percent(scores.calibration_error, 2)
            )
        )


controls.page_header(_("Training run"), prose("garment_training_lead"))
try:
    names = classifier_names(checkpoints.FOLDER)
    if not names:
        no_model()
        st.stop()
    chosen = names[0]
    if len(names) > 1:
        chosen = url_state.choice(st.selectbox, _("Checkpoint"), {name: name for name in names}, key="run", default=DEFAULT)
    card = checkpoints.read_card(chosen, folder=checkpoints.FOLDER)
    record = history.read_record(card)
except checkpoints.CheckpointError as error:
    controls.no_checkpoint(error)
    st.stop()
header(record)
curves(record)
errors(record)
controls.link_to_view()
with st.expander(_("How it was trained, and how to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("garment_training"))
    st.caption(_("Trained with `{command}` on {date}.").format(command=record.command, date=record.date))
    st.json(card, expanded=1)
