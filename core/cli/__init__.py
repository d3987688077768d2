"""The command line, one file per command; `options` has the options that commands share."""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

ROOT = Path(__file__).parents[2]
COMMANDS: Final = {
    "train": "train a model and write its checkpoint",
    "evaluate": "score a checkpoint on data",
    "faithful": "measure how faithful each importance method is for a model",
    "record": "record a live order book to Parquet files",
    "verify": "make a recording's journal of predictions again, and compare",
    "inspect": "say what is in order-book files",
    "setup": "fetch the networks that find hands, read, see and write",
    "bench": "measure speed on this machine, as ratios to references in the same run",
}
"""Command -> a line about it; the file of the same name adds its options and runs it."""
LABORATORY: Final = {"bench": "lab.commands.bench", "faithful": "lab.commands.faithful"}
"""Command -> its file, where it is one of the laboratory."""


class LazyParser(argparse.ArgumentParser):
    """A parser whose options are added when it is chosen: listing the commands imports none of them, nor torch."""

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # argparse's own types are overloads
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)
        return super().parse_known_args(args, namespace)


def main(arguments: list[str] | None = None, *, program: str = "python -m core", more: str = "") -> int:
    """Run one command; returns 0 on success, 2 for bad input (one sentence on stderr), 130 where it was interrupted.

    Args:
        program: what the help calls it. more: a sentence for the help's end.
    """
    parser = argparse.ArgumentParser(
        prog=program, description="Train, evaluate, record and measure the observatory's models.", epilog=more
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=LazyParser)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text).fill = partial(add_options_of, LABORATORY.get(name, f"core.cli.{name}"))
    given = sys.argv[1:] if arguments is None else arguments

    def run() -> None:
        options = parser.parse_args(given)  # imports the command
        options.run(options)

    return exit_code(run, " ".join([parser.prog, *given[:1]]))


def add_options_of(module: str, parser: argparse.ArgumentParser) -> None:
    """Add the options of a command, or of a part of it, by the name of its file."""
    find_module(module).add_options(parser)


def find_module(name: str) -> ModuleType:
    """A module by its name. Those of the laboratory are found where it lies beside `core`: no file imports them.

    Raises:
        ValueError: where it is not there.
    """
    if name.startswith("lab.") and not (ROOT / "lab").is_dir():
        raise ValueError("this needs the laboratory (lab/), which an installed package does not have: run it in the repository")
    return import_module(name)


def exit_code(run: Callable[[], object], program: str) -> int:
    """Run; returns what the process ends with: bad input, or a package that is not there, becomes a sentence on stderr."""
    try:
        run()
    except ModuleNotFoundError as error:
        package = {"sklearn": "scikit-learn"}.get(str(error.name), error.name)
        pins = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.txt", "pyproject.toml"))
        pin = re.search(rf"^\W*({package}==[\w.]+)", pins, re.MULTILINE)
        if pin is None:  # not a package of ours, so a mistake of ours
            raise
        print(f"{program}: {package} is not installed: pip install {pin[1]} installs it", file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        absent = error.filename if isinstance(error, FileNotFoundError) else None
        print(f"{program}: {error if absent is None else f'there is no {absent}'}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{program}: stopped", file=sys.stderr)
        return 130
    return 0
