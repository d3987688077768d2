"""`python -m core evaluate vit`."""

from __future__ import annotations

import argparse
import json
from functools import cache, partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from core.cli import options
from core.training.cct import VALIDATION_SPLIT
from core.training.progress import counting_bar
from core.training.vit import evaluate, fetch_missing, validation_part
from core.vision.classifier import DEFAULT, Classifier, classifier_names, default_name, load_classifier
from core.vision.idx import read_part
from core.vision.photographs import photograph_files, photographs


def add_parser(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "vit",
        help="ViT on Fashion-MNIST's test images, or on photographs of garments",
        description="Score the ViT with the temperature and the threshold of its card: on the 10,000 test images of a folder of "
        "IDX files, or on the photographs of a folder of Parquet files with the columns file, kind and jpeg.",
    )
    p.add_argument(
        "--data",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder of Parquet files of photographs, or of the IDX files, which are fetched where missing",
    )
    p.add_argument(
        "--split",
        default=None,
        help="the Parquet file of this name, all where left out; "
        f"{VALIDATION_SPLIT} of IDX files: the images that trainings hold out",
    )
    options.add_checkpoint_input(p, default=None, note=f"; {DEFAULT} for IDX files, the one that answers uploads for photographs")
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    held_out = o.split == VALIDATION_SPLIT and not any(o.data.glob("*.parquet"))
    files = [] if held_out else photograph_files(o.data, o.split)
    names = classifier_names(o.folder)
    name = o.checkpoint or default_name(names, photograph=bool(files))
    classifier = load_classifier(name, folder=o.folder)
    answer: dict[str, Any] = {"model": "vit", "checkpoint": name}
    if files:
        from core.vision.photograph_scores import evaluate_photographs  # decodes by Pillow, which training machines lack
        from core.vision.preprocessing import model_for

        loaded = cache(partial(load_classifier, folder=o.folder))
        rows = list(chain.from_iterable(map(photographs, files)))
        counted, bar = count(1), counting_bar("photograph")
        answer |= {"files": [path.name for path in files]}
        answer |= evaluate_photographs(
            lambda picture: loaded(o.checkpoint or model_for(picture, names)),
            rows,
            progress=lambda: bar(next(counted), len(rows)),
        )
    else:
        if held_out:
            answer |= {"split": o.split}
        fetch_missing(o.data, "train" if held_out else "t10k")
        part = validation_part(o.data) if held_out else read_part(o.data, "t10k")
        answer |= evaluate(classifier, part, progress=counting_bar("image"))
        answer |= {"flagged": answer["strange"], "ece": answer["calibration_error"]}
    print(json.dumps(answer) if o.json else _table(answer, classifier))


def _table(answer: dict[str, Any], classifier: Classifier) -> str:
    images = "the training file's validation images" if "split" in answer else "the test images"
    what = ", ".join(answer["files"]) if "files" in answer else images
    lines = [
        f"{answer['checkpoint']} on {what}: {answer['samples']:,} images",
        f"  accuracy {answer['accuracy']:.4f}   flagged {answer['flagged']:.4f}   expected calibration error {answer['ece']:.4f}",
    ]
    if "files" not in answer:
        rows = zip(classifier.class_names, answer["confusion"], strict=True)
        return "\n".join([*lines, *(f"  {name:<12} {'  '.join(f'{count:>4}' for count in row)}" for name, row in rows)])
    for kind, scores in answer["by_kind"].items():
        lines.append(
            f"  {kind:<12} {scores['samples']:>6,}   accuracy {scores['accuracy']:.4f}   flagged {scores['flagged']:.4f}"
        )
    if answer["left_out"]:
        lines.append(f"  {answer['left_out']:,} photographs of other kinds were left out")
    return "\n".join(lines)
