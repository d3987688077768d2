"""`python -m core train iiga`: digits or tracked sentences, decided by what the folder holds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options
from core.cli.evaluate_iiga import is_photos
from core.models.iiga import IIGAConfig
from core.training.iiga_digits import POLISH_STEPS, DigitsTraining
from core.training.iiga_tracks import TracksTraining
from core.training.loop import LoopSettings, progress_bar

PHOTO_DEFAULTS = {"name": "iiga_digits", "epochs": 50, "width": 128, "window": 4, "dropout": 0.1, "rate": 2.5e-3, "ema": 0.99}
TRACK_DEFAULTS = {"name": "iiga_asl", "epochs": 100, "width": 96, "window": 4, "dropout": 0.1, "rate": 1.5e-3, "ema": 0.99}


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser(
        "iiga",
        help="IIGA on photographed digits or tracked sentences",
        description="Train IIGA on a folder of photos (manifest.csv) or of tracked sentences (hands_condensed.csv). "
        "Options left out take the values of the shipped checkpoint of that kind.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of photos or of tracked sentences")
    options.add_checkpoint_output(p, name=None)
    p.add_argument("--epochs", type=int, default=None, help="of the stills (photos), or of the sentences (tracks)")
    p.add_argument("--width", type=int, default=None, help="D")
    p.add_argument("--heads", type=int, default=4, help="N")
    p.add_argument("--layers", type=int, default=2, help="L")
    p.add_argument("--window", type=int, default=None, help="w of intra-gloss attention, frames to either side")
    p.add_argument("--expansion", type=int, default=2, help="hidden width of a FFN over D")
    p.add_argument("--residual", choices=("norm_of_sum", "sum_of_norm"), default="norm_of_sum", help="D15")
    p.add_argument("--dropout", type=float, default=None)
    options.add_optimiser(p, rate=None, weight_decay=None, ema=None)
    p.add_argument("--batch", type=int, default=None, help="stills or sentences a batch")
    p.add_argument("--held-out", type=float, default=None, help="share of signers, or number of sentences, to choose on")
    options.add_test(p, part="dev signers or test sentences once")
    options.add_run(p)
    p.add_argument(
        "--start",
        type=Path,
        default=None,
        help="begin with the weights of the run that kept its state here, "
        "or, of photos, with those of the checkpoint whose card this is and train on whole clips alone",
    )
    p.add_argument("--warmup", type=int, default=None, help="steps to the peak of the rate")
    photos = p.add_argument_group("photos")
    photos.add_argument("--image-size", type=int, default=64)
    photos.add_argument("--width-multiplier", type=float, default=0.5, help="of MobileNetV2")
    photos.add_argument("--image-channels", type=int, default=320, help="MobileNetV2's last channels")
    photos.add_argument("--hard", type=float, default=0.34, help="share of the stills that vary most")
    photos.add_argument("--empty", type=float, default=0.12, help="share of the stills that show no whole digit")
    photos.add_argument("--clips", type=int, default=160, help="clips that attention learns from")
    photos.add_argument("--clip-epochs", type=int, default=25, help="epochs of the attention")
    photos.add_argument("--whole-epochs", type=int, default=8, help="of all of it on whole clips, 25 batches each; 0 for none")
    photos.add_argument("--whole-rate", type=float, default=7e-5, help="peak rate of those")
    photos.add_argument("--whole-hard", type=float, default=0.15, help="share of those clips that vary most")
    photos.add_argument("--whole-ema", type=float, default=0.98, help="decay of the weights' moving average in those")
    photos.add_argument("--checked", type=int, default=60, help="clips of the held-out signers that weights are chosen on")
    tracks = p.add_argument_group("tracks")
    tracks.add_argument("--convolutions", type=int, default=2, help="of the front end, over time")
    tracks.add_argument("--vary", type=json.loads, default={}, metavar="JSON", help="settings of TracksTraining, as an object")
    tracks.add_argument("--chosen-on", type=json.loads, default=None, metavar="JSON", help="for the card")
    p.set_defaults(run=_run)


def usual_name(folder: Path) -> str:
    """The checkpoint's name where none is given, by what the folder of data holds."""
    return str((PHOTO_DEFAULTS if is_photos(folder) else TRACK_DEFAULTS)["name"])


def _run(o: argparse.Namespace) -> None:
    photos = is_photos(o.data)
    for option, value in (PHOTO_DEFAULTS if photos else TRACK_DEFAULTS).items():
        if getattr(o, option) is None:
            setattr(o, option, value)
    shape = {key: getattr(o, key) for key in ("width", "heads", "layers", "window", "expansion", "residual", "dropout")}
    loop = {"peak_rate": o.rate, "ema": o.ema, "seed": o.seed, "steps_per_epoch": 1}
    path = (_photos if photos else _tracks)(o, shape, loop)
    print(f"wrote {path} and its weights")


def _photos(o: argparse.Namespace, shape: dict[str, Any], loop: dict[str, Any]) -> Path:
    from core.signs.synthetic.photos import MANIFEST, read_photos
    from core.training.iiga_run import DigitsFiles, go_on_digits, run_digits

    config = IIGAConfig(
        **shape,
        front="frames",
        vocabulary=11,
        image_size=o.image_size,
        width_multiplier=o.width_multiplier,
        image_channels=o.image_channels,
    )
    decay = 0.05 if o.weight_decay is None else o.weight_decay
    stills = LoopSettings(**loop, epochs=o.epochs, weight_decay=decay, warmup=100 if o.warmup is None else o.warmup)
    attention = LoopSettings(**{**loop, "peak_rate": 1e-3}, epochs=o.clip_epochs, weight_decay=0.02, warmup=20)
    whole = None
    if o.whole_epochs:
        gentle = {**loop, "peak_rate": o.whole_rate, "ema": o.whole_ema, "steps_per_epoch": POLISH_STEPS}
        whole = LoopSettings(**gentle, epochs=o.whole_epochs, weight_decay=0.02, warmup=25)
    files = DigitsFiles(
        train=read_photos(o.data, "train"),
        dev=read_photos(o.data, "dev") if o.test else None,
        described=checkpoints.describe_files([o.data / MANIFEST]),
    )
    how = DigitsTraining(
        batch=o.batch or 32, hard=o.hard, empty=o.empty, clips=o.clips, polish_hard=o.whole_hard, checked=o.checked, seed=o.seed
    )
    where: dict[str, Any] = {
        "held_out": 0.12 if o.held_out is None else o.held_out,
        "folder": o.folder,
        "state": o.state,
    }
    if o.start is not None and o.start.suffix == ".json":
        if whole is None:
            raise SystemExit("nothing to train: --start with a card trains on whole clips, so --whole-epochs must be 1 or more")
        bar = progress_bar(whole, title=o.name)
        return go_on_digits(o.name, files, o.start, how, whole, callbacks=[bar], **where)
    return run_digits(o.name, files, config, how, stills, attention, whole, start=o.start, **where)


def _tracks(o: argparse.Namespace, shape: dict[str, Any], loop: dict[str, Any]) -> Path:
    from core.training.iiga_run import run_tracks

    how = TracksTraining(**{"batch": o.batch or 16, "seed": o.seed, **o.vary})
    settings = LoopSettings(
        **loop,
        epochs=o.epochs,
        weight_decay=0.02 if o.weight_decay is None else o.weight_decay,
        warmup=50 if o.warmup is None else o.warmup,
    )
    return run_tracks(
        o.name,
        o.data,
        IIGAConfig(**shape, front="tracks", track_convolutions=o.convolutions),
        how,
        settings,
        held_out=int(o.held_out or 0),
        test=o.test,
        folder=o.folder,
        state=o.state,
        start=o.start,
        chosen_on=o.chosen_on,
    )
