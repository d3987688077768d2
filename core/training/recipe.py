"""A recipe is a model's training as the command line offers it: the options, and what runs with them.

`core.training.RECIPES` names the file of each; `core.cli.train` finds them there. Options are read into dataclasses by their
fields' names (`from_options`), so that an option is written once: where it is added.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from core import checkpoints
from core.training.loop import Callback, LoopSettings
from core.training.progress import progress_bar

MADE: Final = Path("trained")
"""Folder, of the one that a command is run in, for what it makes where no other is named."""
OVERWRITE: Final = "replace a file that the app ships"


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """A model's training as the command line offers it.

    Attributes:
        add_options: adds them to the command's parser. run: trains by them; returns the card's path.
        description: stands above the options. settle: fills in those whose defaults depend on the others.
        data: what `run` takes besides the options is read by `core.cli`, with packages that training does without.
    """

    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[..., Path]
    description: str | None = None
    settle: Callable[[argparse.Namespace], None] = lambda o: None


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A run's name, its place and its course.

    Attributes:
        name: of the checkpoint. folder: where it is written.
        state: where the run keeps what it needs to be resumed; see `core.training.loop.fit`.
        start: state or card of an earlier run, whose best weights this one begins with; the card describes both.
        test: whether to score the test part, which variants that are only compared with each other should not read.
    """

    name: str
    folder: Path = checkpoints.FOLDER
    state: Path | None = None
    start: Path | None = None
    test: bool = True
    callbacks: Sequence[Callback] = ()


T = TypeVar("T")


def from_options(kind: Callable[..., T], o: argparse.Namespace, **others: Any) -> T:
    """A dataclass from the options that have its fields' names; `others` go before them."""
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]  # a dataclass: mypy has no name for their kind
    return kind(**{name: value for name, value in vars(o).items() if name in names} | others)


def loop_of(o: argparse.Namespace, *, steps: int, **others: Any) -> LoopSettings:
    """The training loop's settings, for an epoch of so many steps."""
    return from_options(LoopSettings, o, steps_per_epoch=steps, peak_rate=o.rate, **others)


def run_of(o: argparse.Namespace, loop: LoopSettings | None) -> TrainingRun:
    """The run, with a bar where the loop is known."""
    return from_options(TrainingRun, o, callbacks=[] if loop is None else [progress_bar(loop, title=o.name)])


def add_rows(p: argparse._ActionsContainer, *rows: tuple[str, Any, str | None]) -> None:
    """Options of a table: name, default, help. A default says the type; False makes a flag, a type an option that has none."""
    for name, default, text in rows:
        kind = default if isinstance(default, type) else type(default)
        how: dict[str, Any] = {"type": kind, "default": None if default is kind else default}
        if issubclass(kind, Path):
            how["metavar"] = "PATH"
        p.add_argument(f"--{name}", help=text, **{"action": "store_true"} if default is False else how)


def add_run(
    p: argparse.ArgumentParser,
    *,
    name: str | type[str],
    rate: float | type[float],
    weight_decay: float | type[float],
    ema: float,
    warmup: int | type[int],
) -> None:
    """Options of every run, with their defaults or their types: its checkpoint, how it is repeated and resumed, the optimiser."""
    add_rows(
        p,
        ("name", name, "name of the checkpoint"),
        ("folder", MADE, "where to write it"),
        ("overwrite", False, OVERWRITE),
        ("rate", rate, "AdamW's rate at the peak of warm-up cosine"),
        ("weight-decay", weight_decay, None),
        ("ema", ema, "decay of the weights' moving average, 0 for none"),
        ("warmup", warmup, "steps to the peak of the rate"),
        ("seed", 0, None),
        ("state", Path, "keep the run's state here after each epoch, and resume from it where it exists"),
    )


def add_test(p: argparse.ArgumentParser, *, part: str = "the test part") -> None:
    """`--test` and `--no-test`: whether the test part is scored for the card."""
    p.add_argument("--test", action=argparse.BooleanOptionalAction, default=True, help=f"score {part} for the card")
