"""The command line, one file per command; `options` has the options that commands share."""

from __future__ import annotations

import argparse
import sys

from core.cli import backfill, bench, evaluate, faithful, pairs, record, setup, train, verify


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
    try:
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog} {options.command}: stopped", file=sys.stderr)
        return 130
    return 0
