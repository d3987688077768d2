"""The command line, one file per command; `options` has the options that commands share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from core.cli import backfill, bench, evaluate, faithful, pairs, record, setup, train, verify

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None, *, program: str = "python -m core", more: str = "") -> int:
    """Run one command; returns 0 on success, 2 for bad input (one sentence on stderr), 130 where it was interrupted.

    Args:
        program: what the help calls it. more: a sentence for the help's end.
    """
    parser = argparse.ArgumentParser(
        prog=program, description="Train, evaluate, record and measure the observatory's models.", epilog=more
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (train, evaluate, backfill, faithful, pairs, record, verify, setup, bench):
        command.add_parser(commands)
    options = parser.parse_args(verify.with_kind(sys.argv[1:] if arguments is None else arguments))
    return told(lambda: options.run(options), f"{parser.prog} {options.command}")


def told(run: Callable[[], object], program: str) -> int:
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
