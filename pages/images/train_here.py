"""Train a small ViT on this machine and watch it learn; the run goes on while the visitor looks at other pages."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.figures import training as figures
from core.models.vit import ViTConfig
from core.runs import history
from core.runs.local_training import Plan, Standing, TrainError, trainer
from pages.shared import controls
from pages.shared.language import _, duration, number, percent, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

EVERY_S = 1.0
HEIGHT = 300
SMOOTHING = 0.1
PATCHES = (2, 4, 7, 14)
EXAMPLE = "fashion-mnist"
"""What such a folder is called."""


def ask() -> Plan | None:
    """The choices; None where they do not name a folder."""
    folder = st.text_input(
        _("Folder of Fashion-MNIST's four IDX files"),
        key="data",
        bind="query-params",
        placeholder=EXAMPLE,
        help=_(
            "A folder on the machine that runs this app. What is missing there is downloaded from the data set's own address."
        ),
    ).strip()
    first, second, third = st.columns(3)
    with first:
        images = st.select_slider(
            _("Images"), (1_000, 2_000, 4_000, 6_000, 12_000, 30_000, 60_000), 6_000, key="images", bind="query-params",
            help=_("A tenth of them, at most 5,000, only validate."),
        )  # fmt: skip
        epochs = st.slider(_("Epochs"), 1, 40, 5, key="epochs", bind="query-params")
    with second:
        width = st.select_slider(_("Model width"), (24, 48, 64, 96, 128), 48, key="width", bind="query-params")
        layers = st.slider(_("Layers"), 1, 8, 3, key="layers", bind="query-params")
    with third:
        patch = st.select_slider(_("Patch side (pixels)"), PATCHES, 4, key="patch", bind="query-params")
        rate = st.select_slider(
            _("Peak learning rate"),
            (1e-4, 3e-4, 1e-3, 3e-3),
            1e-3,
            key="rate",
            bind="query-params",
            format_func=lambda r: f"{r:.0e}",
        )
    if not folder:
        controls.notice("empty", _("Name a folder to begin: the data set is not part of this app."))
        return None
    return Plan(data=Path(folder).expanduser(), images=images, epochs=epochs, width=width, layers=layers, patch=patch, rate=rate)


def begin(plan: Plan | None) -> None:
    """The start button, and what it will do."""
    running = trainer().standing().running
    label = _("Start training")
    if (
        st.button(label, type="primary", icon=":material/play_arrow:", disabled=plan is None or running, key="train_start")
        and plan
    ):
        try:
            trainer().start(plan)
        except (TrainError, OSError) as error:
            controls.error_box(str(error))
            return
        st.rerun()
    if plan is not None and plan.to_fetch and not running:
        st.caption(
            _("The training files are not in that folder: about 26 MB will be downloaded first and checked against their MD5.")
        )


@st.fragment(run_every=EVERY_S if trainer().standing().running else None)
def watch(was_running: bool) -> None:
    """The run, while it lasts and after it."""
    standing = trainer().standing()
    if standing.running != was_running:
        st.rerun()
    if standing.phase == "idle":
        return
    _words(standing)
    if standing.history:
        _curves(standing)


def _words(standing: Standing) -> None:
    if standing.phase == "failed":
        controls.error_box(_("The training ended with an error: {why}").format(why=standing.said))
        return
    if standing.phase == "starting":
        st.progress(0.0, text=_("Starting: reading the images, or downloading them."))
        if standing.said:
            st.caption(standing.said)
    elif standing.running:
        left = standing.remaining_s
        st.progress(
            standing.share,
            text=_("Epoch {epoch} of {epochs}, step {step} of {total}; {left} to go").format(
                epoch=min(standing.epoch + 1, standing.epochs),
                epochs=standing.epochs,
                step=number(standing.step),
                total=number(standing.total),
                left=duration(left) if left is not None else _("some time"),
            ),
        )
    if standing.running and st.button(_("Stop"), icon=":material/stop:", key="train_stop"):
        trainer().stop()
        st.rerun()
    stats = [Stat(name=_("Time"), value=duration(standing.elapsed_s))]
    if standing.loss is not None:
        stats.append(Stat(name=_("Loss, newest step"), value=number(standing.loss, 3)))
    if standing.history:
        best = max(standing.history, key=lambda row: row["score"])
        stats.append(
            Stat(
                name=_("Best validation accuracy"),
                value=percent(best["validation_accuracy"], 2),
                note=_("after epoch {n}").format(n=int(best["epoch"]) + 1),
            )
        )
    stat_strip(stats)


def _curves(standing: Standing) -> None:
    run = history.from_history(standing.history, smoothing=SMOOTHING, classes=ViTConfig().classes)
    left, right = st.columns(2)
    with left:
        live_plot(
            figures.accuracy_figure(run),
            key="here_accuracy",
            height=HEIGHT,
            alt=_("Accuracy on training and validation images by epoch, as far as the run has come."),
        )
    with right:
        live_plot(
            figures.loss_figure(run),
            key="here_loss",
            height=HEIGHT,
            alt=_("Loss above its floor by epoch, as far as the run has come."),
        )


def keep() -> None:
    """Put a finished run among the checkpoints, or look at its card."""
    card = trainer().card()
    if card is None or trainer().standing().phase != "finished":
        return
    st.subheader(_("Keep it"), anchor=False)
    st.caption(_("It can be repeated with `{command}`.").format(command=card["command"]))
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    name = left.text_input(_("Name of the checkpoint"), value="my-vit", key="keep_name", max_chars=40).strip()
    if right.button(_("Keep as a checkpoint"), icon=":material/save:", key="train_keep"):
        try:
            path = trainer().keep(name)
        except (TrainError, OSError) as error:
            controls.error_box(str(error))
        else:
            st.success(
                _("Kept as {name} ({n} parameters): choose it on the training-run page.").format(
                    name=path.stem, n=number(card["parameters"])
                ),
                icon=":material/check:",
            )


controls.page_header(_("Train here"), prose("garment_train_here"))
begin(ask())
watch(trainer().standing().running)
keep()
