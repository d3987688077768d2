"""Options that several commands share, worded once."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core import checkpoints
from core.market.answers.recordings import find_recordings
from core.training.recipe import add_rows

ASSETS: Final = checkpoints.FOLDER.parent
"""Folder of what the app ships."""
JSON: Final = ("json", False, "print one JSON object")
"""A row of `add_rows`: one object in place of a table."""


def print_answer(o: argparse.Namespace, answer: Mapping[str, Any]) -> None:
    """Print one JSON object; without `--json` a line for each plain value of it, and a table for parts that are alike."""
    if o.json:
        print(json.dumps(answer))
        return
    for name, value in _plain(answer).items():
        print(f"{name.replace('_', ' '):<24} {value}")
    for parts in answer.values():
        if isinstance(parts, dict) and parts and all(isinstance(one, dict) and _plain(one) for one in parts.values()):
            print(pd.DataFrame({name: _plain(one) for name, one in parts.items()}).T.to_string())


def _plain(values: Mapping[str, Any]) -> dict[str, str | float]:
    return {name: value for name, value in values.items() if isinstance(value, str | int | float)}


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
