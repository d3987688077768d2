"""`python -m core evaluate vit`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli.garment_files import ready
from core.training.vit_run import evaluate
from core.vision.classifier import DEFAULT, load_classifier
from core.vision.idx import read_part


def add_parser(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "vit",
        help="ViT on Fashion-MNIST's test images",
        description="Score the ViT on the 10,000 test images, with the temperature and the threshold of its card.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of the IDX files; fetched where missing")
    p.add_argument("--checkpoint", default=DEFAULT)
    p.add_argument("--folder", type=Path, default=checkpoints.FOLDER, help="where the checkpoint is")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    classifier = load_classifier(o.checkpoint, folder=o.folder)
    ready(o.data, "t10k")
    answer = {"model": "vit", "checkpoint": o.checkpoint, **evaluate(classifier, read_part(o.data, "t10k"))}
    if o.json:
        print(json.dumps(answer))
        return
    print(f"{o.checkpoint} on {answer['samples']:,} test images")
    print(f"  accuracy {answer['accuracy']:.4f}   expected calibration error {answer['calibration_error']:.4f}")
    for name, row in zip(classifier.class_names, answer["confusion"], strict=True):
        print(f"  {name:<12} {'  '.join(f'{count:>4}' for count in row)}")
