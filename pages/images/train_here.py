"""Train a small ViT on this machine: settings, progress and curves; the run continues while the visitor is on other pages."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.figures import training as figures
from core.models.vit import ViTConfig
from core.runs import data_folders, history
from core.runs.local_run import RunStatus, TrainError
from core.runs.local_training import Plan
from core.service.access import Action, NotAllowed
from core.service.runs import PICTURES
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, duration, number, percent, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

EVERY_S = 1.0
HEIGHT = 300
SMOOTHING = 0.1
PATCHES = (2, 4, 7, 14)
IMAGES = (1_000, 2_000, 4_000, 6_000, 12_000, 30_000, 60_000)
EXAMPLE = "fashion-mnist"
"""Name of such a folder, shown where none is typed."""


def settings() -> Plan | None:
    """The controls; None while they name no folder."""
    folder = _typed_folder() if data_folders.any_folder() else _known_folder()
    first, second, third = st.columns(3)
    with first:
        few = folder == data_folders.BUNDLED  # a widget of its own: the other's choice may be more than there are
        offered = [count for count in IMAGES if not few or count <= data_folders.BUNDLED_IMAGES]
        images = st.select_slider(
            _("Images"), offered, min(6_000, offered[-1]), key="few" if few else "images", bind="query-params",
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
    if folder is None:
        controls.notice("empty", _("Name a folder to begin: the data set is not part of this app."))
        return None
    return Plan(data=folder, images=images, epochs=epochs, width=width, layers=layers, patch=patch, rate=rate)


def _known_folder() -> Path:
    """One of the folders that whoever runs the app has allowed."""
    folders = {str(place): folder for place, folder in enumerate(data_folders.folders())}
    chosen = "0"
    if len(folders) > 1:
        bundled = _("The bundled {count} images").format(count=number(data_folders.BUNDLED_IMAGES))
        names = {place: bundled if folder == data_folders.BUNDLED else folder.name for place, folder in folders.items()}
        chosen = url_state.choice(st.selectbox, _("Data set"), names, key="folder", width=320)
    if folders[chosen] == data_folders.BUNDLED:
        st.caption(
            _("Trains on {count} of Fashion-MNIST's training images, which come with this app: press Start.").format(
                count=number(data_folders.BUNDLED_IMAGES)
            )
        )
        return folders[chosen]
    st.caption(
        _(
            "Trains on the files in the folder {name}. Whoever runs this app can allow others: `{setting}`, see the README."
        ).format(name=folders[chosen].name, setting=data_folders.SETTING)
    )
    return folders[chosen]


def _typed_folder() -> Path | None:
    """Any folder of the machine, which whoever runs the app has allowed; None while none is typed."""
    folder = st.text_input(
        _("Folder of Fashion-MNIST's four IDX files"),
        key="data",
        bind="query-params",
        placeholder=EXAMPLE,
        help=_(
            "A folder on the machine that runs this app. What is missing there is downloaded from the data set's own address."
        ),
    ).strip()
    return Path(folder).expanduser() if folder else None


def start(plan: Plan | None) -> None:
    """The start button, and whether it will download the data set first."""
    plan = plan if permissions.guard(Action.TRAIN) else None
    running = PICTURES.run.status().running
    label = _("Start training")
    if (
        st.button(label, type="primary", icon=":material/play_arrow:", disabled=plan is None or running, key="train_start")
        and plan
    ):
        try:
            PICTURES.opened(permissions.visitor()).start(plan)
        except (TrainError, OSError, NotAllowed) as error:
            controls.error_box(str(error))
            return
        st.rerun()
    if plan is not None and plan.needs_download and not running:
        st.caption(
            _("The training files are not in that folder: about 26 MB will be downloaded first and checked against their MD5.")
        )


@st.fragment(run_every=EVERY_S if PICTURES.run.status().running else None)
def watch(was_running: bool) -> None:
    """The run's progress and curves, every second while it lasts."""
    status = PICTURES.run.status()
    if status.running != was_running:
        st.rerun()
    if status.phase == "idle":
        return
    _progress(status)
    if status.history:
        _curves(status)


def _progress(status: RunStatus) -> None:
    if status.phase == "failed":
        controls.error_box(_("The training ended with an error: {why}").format(why=status.message))
        return
    if status.phase == "starting":
        st.progress(0.0, text=_("Starting: reading the images, or downloading them."))
        if status.message:
            st.caption(status.message)
    elif status.running:
        left = status.remaining_s
        st.progress(
            status.share,
            text=_("Epoch {epoch} of {epochs}, step {step} of {total}; {left} to go").format(
                epoch=min(status.epoch + 1, status.epochs),
                epochs=status.epochs,
                step=number(status.step),
                total=number(status.total),
                left=duration(left) if left is not None else _("some time"),
            ),
        )
    if (
        status.running
        and permissions.visitor().may(Action.TRAIN)
        and st.button(_("Stop"), icon=":material/stop:", key="train_stop")
    ):
        PICTURES.opened(permissions.visitor()).stop()
        st.rerun()
    stats = [Stat(name=_("Time"), value=duration(status.elapsed_s))]
    if status.loss is not None:
        stats.append(Stat(name=_("Loss, newest step"), value=number(status.loss, 3)))
    if status.history:
        best = max(status.history, key=lambda row: row["score"])
        stats.append(
            Stat(
                name=_("Best validation accuracy"),
                value=percent(best["validation_accuracy"], 2),
                note=_("after epoch {n}").format(n=int(best["epoch"]) + 1),
            )
        )
    stat_strip(stats)


def _curves(status: RunStatus) -> None:
    run = history.run_from_history(status.history, smoothing=SMOOTHING, classes=ViTConfig().classes)
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
    """The controls that put a finished run among the checkpoints."""
    card = PICTURES.run.card()
    if card is None or PICTURES.run.status().phase != "finished" or not permissions.visitor().may(Action.TRAIN):
        return
    st.header(_("Keep it"), anchor=False)
    st.caption(_("It can be repeated with `{command}`.").format(command=card["command"]))
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    name = left.text_input(_("Name of the checkpoint"), value="my-vit", key="keep_name", max_chars=40).strip()
    if right.button(_("Keep as a checkpoint"), icon=":material/save:", key="train_keep"):
        try:
            path = PICTURES.opened(permissions.visitor()).keep(name)
        except (TrainError, OSError, NotAllowed) as error:
            controls.error_box(str(error))
        else:
            st.success(
                _("Kept as {name} ({n} parameters): choose it on the training-run page.").format(
                    name=path.stem, n=number(card["parameters"])
                ),
                icon=":material/check:",
            )


controls.page_header(_("Train here"), prose("garment_train_here"))
start(settings())
watch(PICTURES.run.status().running)
keep()
controls.link_to_view()
