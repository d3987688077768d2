"""`python -m core train cct`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.cli import options
from core.models.cct import CCTConfig
from core.training.lite_start import PACKAGE
from core.training.loop import progress_bar
from core.training.vit_mixed import MixedTraining
from core.vision.photographs import photograph_files, photographs


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser(
        "cct",
        help="compact convolutional transformer on photographs of garments",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="Parquet files; validation.parquet is held out")
    p.add_argument(
        "--others", type=Path, nargs="*", default=[], metavar="PATH",
        help="pictures of no garments: Parquet files with a column jpeg, or folders with a manifest.csv",
    )  # fmt: skip
    options.add_checkpoint_output(p, name="cct")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--steps", type=int, default=110, help="of an epoch")
    for name, default, what in (
        ("photos", MixedTraining.photographs, "photographs in a batch"),
        ("none", MixedTraining.others, "pictures of no garments in a batch"),
    ):
        p.add_argument(f"--{name}", type=int, default=default, help=what)
    p.add_argument("--smoothing", type=float, default=MixedTraining.smoothing, help="label smoothing")
    for name, what in (
        ("side", "of the image, pixels: a multiple of 16"),
        ("width", "channels of a token"),
        ("heads", "of a layer"),
        ("layers", "after the convolutions"),
        ("hidden", "middle width of the feed-forward networks"),
    ):
        p.add_argument(f"--{name}", type=int, default=getattr(CCTConfig, name), help=what)
    p.add_argument("--dropout", type=float, default=CCTConfig.dropout)
    p.add_argument(
        "--imagenet", type=Path, default=None, metavar="FILE",
        help=f"begin with the convolutions of EfficientNet-Lite0: the .pth file of {PACKAGE}",
    )  # fmt: skip
    p.add_argument("--early", type=float, default=MixedTraining.early, help="share of the rate for the first convolutions")
    p.add_argument("--convolutions", type=float, default=MixedTraining.convolutions, help="share of the rate for the others")
    p.add_argument("--start", type=Path, default=None, help="begin with this card's weights, a CCT's, or a run's state")
    p.add_argument("--teacher", type=Path, default=None, metavar="FILE", help="of scripts/photograph_teacher.py")
    p.add_argument("--soft", type=float, default=1.0, help="weight of the teacher's shares")
    p.add_argument("--hints", type=float, default=1.0, help="weight of the teacher's features")
    p.add_argument(
        "--turned",
        type=float,
        default=0.0,
        help="share of the photographs turned by 90, 180 or 270 degrees; an output tells them",
    )
    p.add_argument("--mirrored", action="store_true", help="answer with the mean of the image and its mirror image")
    options.add_optimiser(p, rate=1e-3, weight_decay=0.05, ema=0.998, warmup=100)
    options.add_run(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.cli.garment_photographs import read_others, read_photographs
    from core.training.photograph_teacher import Lessons
    from core.training.vit_mixed_run import PhotographFiles, run
    from core.training.vit_photographs import VALIDATION_SPLIT
    from core.vision.photograph_scores import evaluate_photographs

    training = MixedTraining(
        photographs=o.photos,
        others=o.none,
        smoothing=o.smoothing,
        turned=o.turned,
        soft=o.soft,
        hints=o.hints,
        early=o.early,
        convolutions=o.convolutions,
        seed=o.seed,
    )
    loop = options.loop_settings(o, steps=o.steps)
    files = photograph_files(o.data)
    (held_out,) = photograph_files(o.data, VALIDATION_SPLIT)
    train = read_photographs((path for path in files if path != held_out), o.side)
    found = PhotographFiles(
        train=train,
        lessons=None if o.teacher is None else Lessons.read(o.teacher, len(train)),
        held_out=read_photographs([held_out], o.side),
        others=read_others(o.others, o.side),
        files=(*files, *(path / "manifest.csv" if path.is_dir() else path for path in o.others)),
        score=lambda classifier: evaluate_photographs(lambda _picture: classifier, photographs(held_out)),
    )
    path = run(
        o.name,
        found,
        CCTConfig(
            side=o.side,
            width=o.width,
            heads=o.heads,
            layers=o.layers,
            hidden=o.hidden,
            dropout=o.dropout,
            turns=o.turned > 0,
            mirrored=o.mirrored,
        ),
        training,
        loop,
        folder=o.folder,
        state=o.state,
        start=o.start,
        imagenet=o.imagenet,
        callbacks=[progress_bar(loop, title=o.name)],
    )
    print(f"wrote {path} and its weights")
