"""Train a small model on this machine: a run made beforehand, one of the reader's own, and what it makes of a photograph."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core.figures import training as figures
from core.figures.pictures import ranking_figure
from core.models.vit import ViTConfig
from core.runs import data_folders, history
from core.runs.local_run import RunStatus, TrainError
from core.runs.local_training import Plan
from core.service.access import Action, NotAllowed
from core.service.runs import PICTURES
from core.vision.classifier import Classifier
from core.vision.pictures import Picture
from core.vision.preprocessing import Recipe
from pages.images import cached_results, picture_source
from pages.shared import controls, permissions, url_state
from pages.shared.language import _, duration, number, percent, prose
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip

EVERY_S: Final = 1.0
HEIGHT: Final = 300
SMOOTHING: Final = 0.1
PATCHES: Final = (2, 4, 7, 14)
IMAGES: Final = (1_000, 2_000, 4_000, 6_000, 12_000, 30_000, 60_000)
EXAMPLE: Final = Path(__file__).resolve().parents[2] / "assets" / "experiments" / "train_here.json"
"""A run with the settings that the page opens with: its command, seconds of processor time and epochs."""
LARGEST_MB: Final = 30
ASKED: Final = 7
"""The bundled test image that is asked about before the reader gives a picture."""


@cache
def example() -> dict[str, Any]:
    """The run made beforehand."""
    run: dict[str, Any] = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return run


def settings() -> Plan:
    """The controls."""
    default = Plan(data=data_folders.BUNDLED)
    folder = _folder()
    kinds = {"convolutions": _("Convolutions: it learns from few images"), "patches": _("Patches, as the documented ViT's")}
    tokens = url_state.choice(st.segmented_control, _("Tokens are made of"), kinds, key="tokens", required=True)
    first, second, third = st.columns(3)
    with first:
        few = folder == data_folders.BUNDLED  # a widget of its own: the other's choice may be more than there are
        offered = [count for count in IMAGES if not few or count <= data_folders.BUNDLED_IMAGES]
        images = st.select_slider(
            _("Images"), offered, min(6_000, offered[-1]), key="few" if few else "images", bind="query-params",
            help=_("A tenth of them, at most 5,000, only validate."),
        )  # fmt: skip
        epochs = st.slider(_("Epochs"), 1, 40, default.epochs, key="epochs", bind="query-params")
    with second:
        width = st.select_slider(_("Model width"), (24, 48, 64, 96, 128), default.width, key="width", bind="query-params")
        layers = st.slider(_("Layers"), 1, 8, default.layers, key="layers", bind="query-params")
    with third:
        rate = st.select_slider(
            _("Peak learning rate"), (1e-4, 3e-4, 1e-3, 3e-3), default.rate, key="rate", bind="query-params",
            format_func=lambda r: f"{r:.0e}",
        )  # fmt: skip
        patch = default.patch
        if tokens == "patches":
            patch = st.select_slider(_("Patch side (pixels)"), PATCHES, default.patch, key="patch", bind="query-params")
    return Plan(data=folder, images=images, epochs=epochs, width=width, layers=layers, patch=patch, rate=rate, tokens=tokens)


def _folder() -> Path:
    """One of the folders that whoever runs the app has allowed."""
    folders = {str(place): folder for place, folder in enumerate(data_folders.folders())}
    chosen = "0"
    if len(folders) > 1:
        bundled = _("The bundled {count} images").format(count=number(data_folders.BUNDLED_IMAGES))
        names = {place: bundled if folder == data_folders.BUNDLED else folder.name for place, folder in folders.items()}
        chosen = url_state.choice(st.selectbox, _("Data set"), names, key="folder", width=320)
    if folders[chosen] != data_folders.BUNDLED:
        sentence = _(
            "Trains on the files in the folder {name}. Whoever runs this app can allow others: `{setting}`, see the README."
        )
        st.caption(sentence.format(name=folders[chosen].name, setting=data_folders.SETTING))
    return folders[chosen]


def start(plan: Plan) -> None:
    """The start button, and whether it will download the data set first."""
    allowed, running = permissions.guard(Action.TRAIN), PICTURES.run.status().running
    closed = running or not allowed
    if st.button(_("Start training"), type="primary", icon=":material/play_arrow:", disabled=closed, key="train_start"):
        who = permissions.visitor()
        try:
            PICTURES.opened(who).start(plan.started_by(who.owner))
        except (TrainError, OSError, NotAllowed) as error:
            controls.error_box(str(error))
            return
        st.rerun()
    if allowed and plan.needs_download and not running:
        st.caption(
            _("The training files are not in that folder: about 26 MB will be downloaded first and checked against their MD5.")
        )


@st.fragment(run_every=EVERY_S if PICTURES.run.status().running else None)
def watch(was_running: bool) -> None:
    """The run's progress and curves, every second while it lasts; those of the run made beforehand where there is none."""
    status = PICTURES.run.status()
    if status.running != was_running:
        st.rerun()
    if status.phase == "idle":
        made = example()
        sentence = _(
            "**{share}** of {held} images that it never saw, after {seconds} of one processor core: a run made beforehand, with "
            "{count} of Fashion-MNIST's training images, which come with the app. Press Start to see one of your own."
        )
        sentence = sentence.format(
            share=percent(made["history"][-1]["validation_accuracy"], 1), held=number(made["held_out"]),
            seconds=duration(made["seconds"]), count=number(data_folders.BUNDLED_IMAGES),
        )  # fmt: skip
        st.markdown(sentence)
        _curves(made["history"])
        return
    _progress(status)
    if status.history:
        _curves(status.history)


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


def _curves(rows: list[dict[str, float]]) -> None:
    run = history.run_from_history(rows, smoothing=SMOOTHING, classes=ViTConfig().classes)
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


def try_it() -> None:
    """Answer of the finished run to a photograph, beside the shipped model, and its files: for whoever started it."""
    run = PICTURES.run
    status, card, who = run.status(), run.card(), permissions.visitor()
    if card is None or status.phase != "finished" or status.plan is None or status.plan.owner != who.owner:
        return
    st.header(_("Try it on your photo"), anchor=False)
    st.caption(_("It is yours alone, until the app ends or another training begins: take its files if you want to keep it."))
    given, *answers = st.columns([2, 3, 3], gap="medium")
    with given:
        file = st.file_uploader(_("A picture of a garment"), key="here_photo", max_upload_size=LARGEST_MB)
        bundled = cached_results.gallery_picture(ASKED)
        picture = bundled if file is None else picture_source.decoded(file.getvalue(), file.name)
        if picture is not None:
            st.image(picture.rgb, width=180, alt=picture.name)
        controls.download_bytes(
            _("Its files (.zip)"),
            PICTURES.opened(who).packed,
            key="here_files",
            filename="my-garment-model.zip",
            mime="application/zip",
        )
    if picture is None:
        return
    shipped = cached_results.classifier_of("vit")
    asked = {"yours": (_("Yours"), cached_results.trained_here(run.work, card)), "shipped": (_("The app's"), shipped)}
    for place, (key, (title, classifier)) in zip(answers, asked.items(), strict=True):
        with place:
            st.markdown(f"**{title}**")
            _answer(classifier, picture, key)


def _answer(classifier: Classifier, picture: Picture, key: str) -> None:
    prepared = cached_results.prepare(classifier, picture, Recipe(manner=classifier.manner))
    analysis = cached_results.analyse(classifier, prepared.image)
    names = [_(name) for name in classifier.class_names]
    likeliest = analysis.likeliest
    st.markdown(f"### {names[likeliest]}, {percent(analysis.probabilities[likeliest], 0)}")
    live_plot(
        ranking_figure(names, analysis.probabilities, write=percent, height=HEIGHT),
        key=f"here_{key}",
        height=HEIGHT,
        alt=_("All ten classes by their probability, the most probable first."),
    )


controls.page_header(_("Train here"), prose("garment_train_here"))
button = st.container()
watch(PICTURES.run.status().running)
try_it()
with st.expander(_("Settings"), icon=":material/tune:"):
    plan = settings()
with button:
    start(plan)
if (box := controls.opened(_("Details"), icon=":material/terminal:", key="train_here_details")) is not None:
    card = PICTURES.run.card()
    box.caption(_("The run can be repeated with this command:"))
    box.code(example()["command"] if card is None else card["command"], language="bash", wrap_lines=True)
controls.link_to_view()
