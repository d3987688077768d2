"""Options that several commands share, worded once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from core import checkpoints
from core.market.answers.recordings import find_recordings
from core.training.recipe import add_rows

ASSETS: Final = checkpoints.FOLDER.parent
"""Folder of what the app ships."""
JSON: Final = ("json", False, "print one JSON object")
"""A row of `add_rows`: one object in place of a table."""


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
    add_rows(p, ("checkpoint", default or str, f"its name{note}"), ("folder", checkpoints.FOLDER, "of the checkpoint"))


def market_files(o: argparse.Namespace) -> list[list[Path]]:
    """The files of each market of `train tlob`."""
    return [_files_of(group) for group in o.data]


def _files_of(places: list[Path]) -> list[Path]:
    """The files of one market: those named, and all of the folders named."""
    if all(place.is_file() for place in places):
        return places
    days = find_recordings(places)
    markets = sorted({day.market for day in days})
    if len(markets) > 1:
        names = ", ".join(markets)
        raise ValueError(f"the folder holds {len(markets)} markets ({names}): give each its own --data")
    return [path for day in days for path in sorted(day.paths)]
