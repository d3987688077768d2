"""Options that several commands share, worded once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from core import checkpoints
from core.cli.progress import counting_bar
from core.market.store.places import copied, is_store

if TYPE_CHECKING:
    from core.training.loop import LoopSettings


MADE: Final = Path("trained")
"""Folder, of the one that a command is run in, for what it makes where no other is named."""
ASSETS: Final = checkpoints.FOLDER.parent
"""Folder of what the app ships."""


def add_checkpoint_output(p: argparse.ArgumentParser, *, name: str | None) -> None:
    """`--name`, `--folder` and `--overwrite`: which checkpoint a training run writes, and where."""
    p.add_argument("--name", default=name, help="name of the checkpoint")
    p.add_argument("--folder", type=Path, default=MADE, help="where to write it")
    add_overwrite(p)


def add_overwrite(p: argparse.ArgumentParser) -> None:
    """`--overwrite`: whether a file that the app ships may be replaced."""
    p.add_argument("--overwrite", action="store_true", help="replace a file that the app ships")


def keep_shipped(o: argparse.Namespace, *written: Path) -> None:
    """Compare what a command is going to write with what the app ships.

    Raises:
        ValueError: where a file of `ASSETS` would be replaced without `--overwrite`.
    """
    for path in written:
        if not o.overwrite and path.exists() and path.resolve().is_relative_to(ASSETS):
            shown = path.resolve().relative_to(ASSETS.parent)
            raise ValueError(f"{shown} comes with the app: write elsewhere, or replace it with --overwrite")


def add_checkpoint_input(p: argparse.ArgumentParser, *, default: str | None, note: str = "") -> None:
    """`--checkpoint` and `--folder`: which checkpoint is read, and from where.

    Args:
        note: is added to the help of `--checkpoint`.
    """
    p.add_argument("--checkpoint", default=default, help=f"name of the checkpoint{note}")
    p.add_argument("--folder", type=Path, default=checkpoints.FOLDER, help="folder of the checkpoint")


def add_run(p: argparse.ArgumentParser) -> None:
    """`--seed` and `--state`: how a training run can be repeated and resumed."""
    p.add_argument("--seed", type=int, default=0)
    p.add_argument(
        "--state", type=Path, default=None, help="keep the run's state here after each epoch, and resume from it where it exists"
    )


def add_optimiser(
    p: argparse.ArgumentParser, *, rate: float | None, weight_decay: float | None, ema: float | None, warmup: int | None = None
) -> None:
    """`--rate`, `--weight-decay`, `--ema` and, where its default is given, `--warmup`."""
    p.add_argument("--rate", type=float, default=rate, help="AdamW's rate at the peak of warm-up cosine")
    p.add_argument("--weight-decay", type=float, default=weight_decay)
    p.add_argument("--ema", type=float, default=ema, help="decay of the weights' moving average, 0 for none")
    if warmup is not None:
        p.add_argument("--warmup", type=int, default=warmup, help="steps to the peak of the rate")


def loop_settings(o: argparse.Namespace, *, steps: int, **further: Any) -> LoopSettings:
    """The training loop's settings by `--epochs`, `add_optimiser` and `add_run`.

    Args:
        steps: of an epoch. further: settings that are not in every command.
    """
    from core.training.loop import LoopSettings

    return LoopSettings(
        epochs=o.epochs,
        steps_per_epoch=steps,
        peak_rate=o.rate,
        weight_decay=o.weight_decay,
        warmup=o.warmup,
        ema=o.ema,
        seed=o.seed,
        **further,
    )


def add_test(p: argparse.ArgumentParser, *, part: str = "the test part") -> None:
    """`--test` and `--no-test`: whether the test part is scored for the card."""
    p.add_argument("--test", action=argparse.BooleanOptionalAction, default=True, help=f"score {part} for the card")


def place(text: str) -> Path | str:
    """A path, or the URL of a store or of a file in one, as it was typed: `here` makes a path of it."""
    return text if is_store(text) else Path(text)


def here(places: Iterable[Path | str]) -> list[Path]:
    """Paths of this machine: those given, and up-to-date copies of what lies at URLs.

    Raises:
        BookError: where a store does not answer.
    """
    return [one if isinstance(one, Path) else copied(one, progress=counting_bar("file")) for one in places]


def add_ray(p: argparse.ArgumentParser) -> None:
    """`--ray`: whether recordings are spread over a Ray cluster."""
    p.add_argument(
        "--ray",
        nargs="?",
        const="local",
        default=None,
        metavar="ADDRESS",
        help="spread the recordings over the Ray cluster at this address; over this machine's cores without one",
    )


def add_json(p: argparse.ArgumentParser) -> None:
    """`--json`: one JSON object in place of a table."""
    p.add_argument("--json", action="store_true", help="print one JSON object")
