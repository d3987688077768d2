"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any, Final

from core.cli import LazyParser, evaluate_recordings, find_module, options
from core.market.labels import LABEL_KINDS
from core.market.predictor import DEFAULT
from core.training.progress import counting_bar
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
    _add_writer(models)


def _fill(module: str, parser: argparse.ArgumentParser) -> None:
    find_module(module).add_options(parser)


def _run_tlob(o: argparse.Namespace) -> None:
    answer, _ = evaluate_recordings.scored(o)
    print(json.dumps(answer) if o.json else evaluate_recordings.table(answer))


def _add_writer(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "writer",
        help="SmolLM2 on a text",
        description="Bits a byte that SmolLM2 needs for a text in UTF-8, beside those by the frequencies of the text's own "
        "tokens. Needs `make writer`.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="FILE", help="a text")
    add_rows(p, options.JSON)
    p.set_defaults(run=_run_writer)


def _run_writer(o: argparse.Namespace) -> None:
    from core.words.writer import writer
    from core.words.writer_scores import bits_per_byte

    scores = bits_per_byte(writer(), o.data.read_text(encoding="utf-8"), progress=counting_bar("window"))
    options.print_answer(o, {"model": "smollm2", "file": o.data.name, **scores})
