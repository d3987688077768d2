"""`python -m core train vit`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.cli import options
from core.cli.garment_files import fetch_missing
from core.device import best_device
from core.models.cct_28 import CCT28Config
from core.models.garment_teacher import TeacherConfig
from core.models.vit import ViTConfig
from core.training.augment import Augmentation
from core.training.loop import LoopSettings, progress_bar
from core.training.progress_file import progress_file
from core.training.vit import VALIDATION, ViTTraining

WHOLE = 60_000
"""Images in the training file."""


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser("vit", help="ViT on Fashion-MNIST's IDX files", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add_common(p, name="vit", epochs=25)
    p.add_argument("--patch", type=int, default=4, help="side of a patch, pixels")
    p.add_argument("--width", type=int, default=96)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--hidden", type=int, default=192, help="middle width of the feed-forward networks")
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument(
        "--tokens", choices=("patches", "convolutions"), default="patches",
        help="what a token is made of: the documented ViT's patches, or a compact convolutional transformer's cells",
    )  # fmt: skip
    p.add_argument("--stem", type=int, default=CCT28Config.stem, help="channels of the first convolution")
    p.add_argument("--stages", type=int, nargs=2, default=CCT28Config.stages, help="of the convolutions at 14 x 14 and 7 x 7")
    p.add_argument(
        "--mirrored", action="store_true", help="answer with the mean of the image and its mirror image (convolutions)"
    )
    p.add_argument("--init", choices=("plain", "local"), default="local", help="weights before training")
    p.add_argument("--images", type=int, default=None, help="training images to use, validation included; all if left out")
    p.add_argument("--progress", type=Path, default=None, help="keep a JSON file up to date with how the run stands")
    p.add_argument("--keep", type=int, default=None, help="patches of each training image that the model sees; all if left out")
    p.add_argument("--keep-all-last", type=int, default=0, help="epochs at the end that see every patch")
    p.add_argument("--teacher", default=None, help="checkpoint of a teacher in the same folder, whose answers are imitated")
    p.add_argument("--soft", type=float, default=0.8, help="weight of the teacher's answers beside the labels")
    p.add_argument("--temperature", type=float, default=2.0, help="of the teacher's answers")
    p.add_argument("--hints", type=float, default=1.0, help="weight of matching, patch by patch, what the teacher sees halfway")
    p.add_argument("--start", type=Path, default=None, help="begin with the best weights of the run that kept its state here")
    options.add_test(p, part="the test images")
    p.set_defaults(run=_run)


def add_common(p: argparse.ArgumentParser, *, name: str, epochs: int) -> None:
    """Options that the student and the teacher share."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of the IDX files; fetched where missing")
    options.add_checkpoint_output(p, name=name)
    p.add_argument("--epochs", type=int, default=epochs)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--smoothing", type=float, default=0.1, help="label smoothing")
    options.add_optimiser(p, rate=1e-3, weight_decay=0.05, ema=0.999, warmup=800)
    p.add_argument("--shift", type=int, default=2, help="largest move of a training image, pixels")
    p.add_argument("--warp", type=float, default=0.5, help="share of the images that are also turned, stretched and sheared")
    p.add_argument("--erase", type=float, default=0.0, help="share of the images that lose a rectangle")
    p.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="compile the step (torch.compile); on a GPU if left out",
    )
    p.add_argument(
        "--bf16", action=argparse.BooleanOptionalAction, default=None, help="forward pass in bfloat16; on a GPU if left out"
    )
    options.add_run(p)


def settings(o: argparse.Namespace, *, images: int, **more: Any) -> tuple[ViTTraining, LoopSettings]:
    """The task's and the loop's settings from the shared options, for an epoch of `images` images."""
    training = ViTTraining(
        batch=o.batch,
        epochs=o.epochs,
        smoothing=o.smoothing,
        augmentation=Augmentation(shift=o.shift, warp=o.warp, erase=o.erase),
        seed=o.seed,
        **more,
    )
    loop = options.loop_settings(o, steps=images // o.batch, bf16=on_gpu(o.bf16))
    return training, loop


def on_gpu(wanted: bool | None) -> bool:
    """Returns what was wanted, or, where nothing was said, whether there is a GPU."""
    return best_device().type == "cuda" if wanted is None else wanted


def _run(o: argparse.Namespace) -> None:
    from core.training.vit_run import held_out_of, run

    for part in ("train", "t10k") if o.test else ("train",):
        fetch_missing(o.data, part)
    shape: dict[str, Any] = {key: getattr(o, key) for key in ("patch", "width", "heads", "layers", "hidden", "dropout")}
    shape["start"] = o.init
    if o.mirrored and o.tokens == "patches":
        raise ValueError("--mirrored is of a model with --tokens convolutions: the documented ViT answers on the image alone")
    config = (
        ViTConfig(**shape)
        if o.tokens == "patches"
        else (CCT28Config(**shape, stem=o.stem, stages=tuple(o.stages), mirrored=o.mirrored))
    )
    images = (o.images or WHOLE) - held_out_of(o.images)
    extra = {"keep": o.keep, "keep_all_last": o.keep_all_last, "soft": o.soft, "temperature": o.temperature, "hints": o.hints}
    training, loop = settings(o, images=images, **extra)
    callbacks = [progress_bar(loop, title=o.name), *([] if o.progress is None else [progress_file(o.progress, loop)])]
    path = run(
        o.name,
        o.data,
        config,
        training,
        loop,
        folder=o.folder,
        state=o.state,
        start=o.start,
        teacher=o.teacher,
        compiled=on_gpu(o.compile),
        images=o.images,
        test=o.test,
        callbacks=callbacks,
    )
    print(f"wrote {path} and its weights")


def add_teacher_parser(models: Any) -> None:
    """Add the teacher to `train`'s models."""
    p = models.add_parser(
        "vit-teacher",
        help="a convolutional teacher for the ViT, on the same images",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add_common(p, name="vit-teacher", epochs=10)
    p.add_argument("--stem", type=int, default=TeacherConfig.stem, help="channels at 28 x 28")
    p.add_argument("--stages", type=int, nargs=3, default=TeacherConfig.stages, help="channels at 14 x 14, 7 x 7 and 4 x 4")
    p.set_defaults(run=_run_teacher)


def _run_teacher(o: argparse.Namespace) -> None:
    from core.training.vit_teacher import run

    fetch_missing(o.data, "train")
    training, loop = settings(o, images=WHOLE - VALIDATION)
    path = run(
        o.name,
        o.data,
        TeacherConfig(stem=o.stem, stages=tuple(o.stages)),
        training,
        loop,
        folder=o.folder,
        state=o.state,
        compiled=on_gpu(o.compile),
        callbacks=[progress_bar(loop, title=o.name)],
    )
    print(f"wrote {path} and its weights")
