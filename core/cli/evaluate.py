"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Final

from core.cli import LazyParser, evaluate_recordings, find_module, options
from core.market.labels import LABEL_KINDS
from core.market.predictor import DEFAULT
from core.training.recipe import add_rows

LABORATORY: Final = {
    "vit": ("lab.commands.evaluate_vit", "ViT on Fashion-MNIST's test images, or on photographs of garments"),
    "iiga": ("lab.commands.evaluate_iiga", "IIGA on photographed digits or tracked sentences"),
}
"""Model -> its file in the laboratory, and a line about it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, each with its options."""
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL", parser_class=LazyParser)
    p = models.add_parser(
        "tlob",
        help="TLOB on order-book files",
        description="Score TLOB beside the naive rules. Label thresholds, constants and call rules are the card's. "
        "Files that the card was trained on are scored on their test part alone, others whole.",
    )
    data = "Parquet or CSV files, or folders; of several recordings the mean is given"
    p.add_argument("--data", nargs="+", required=True, type=Path, metavar="FILE_OR_FOLDER", help=data)
    p.add_argument("--label", choices=LABEL_KINDS, help="forward where left out, if the card has it")
    options.add_checkpoint_input(p, default=DEFAULT)
    p.add_argument("--part", choices=("auto", "test", "all"), default="auto", help="score the last 20 %% or everything")
    thresholds = "with --adaptive: label thresholds from the card, or from the file's own first quarter hour"
    p.add_argument("--thresholds", choices=("card", "past"), default="card", help=thresholds)
    adaptive = (
        "recalibrate the probabilities from the file's own past, and score after the first 1,000 outcomes (docs/value.md); files "
        "of one market are then one recording"
    )
    add_rows(
        p,
        ("horizon", int, "steps ahead; the label's first on the card where left out"),
        ("market", str, "entry of the card to use; recognised from the files' names where left out"),
        ("adaptive", False, adaptive),
        options.JSON,
    )
    evaluate_recordings.add_options(p)
    p.set_defaults(run=_run_tlob)
    for name, (module, text) in LABORATORY.items():
        models.add_parser(name, help=text).fill = partial(_fill, module)


def _fill(module: str, parser: argparse.ArgumentParser) -> None:
    find_module(module).add_options(parser)


def _run_tlob(o: argparse.Namespace) -> None:
    answer, _ = evaluate_recordings.scored(o)
    print(json.dumps(answer) if o.json else evaluate_recordings.table(answer))
