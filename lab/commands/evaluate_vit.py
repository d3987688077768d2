"""`python -m core evaluate vit`: the models of garments on Fashion-MNIST's images, or on photographs."""

import argparse
from functools import cache, partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from core.cli import options
from core.training.progress import counting_bar
from core.training.recipe import add_rows
from core.vision.classifier import DEFAULT as VIT
from core.vision.classifier import classifier_names, default_name, load_classifier
from core.vision.photographs import photograph_files, photographs
from lab.training.cct import VALIDATION_SPLIT
from lab.training.vit import SPLIT_SEED, VALIDATION, evaluate
from lab.vision.idx import IdxPart, fetch_missing, read_part, stratified_split


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Score the ViT with the temperature and the threshold of its card: on the 10,000 test images of a folder of "
        "IDX files, or on the photographs of a folder of Parquet files with the columns file, kind and jpeg."
    )
    data = "folder or file of photographs (Parquet), or folder of the IDX files, which are fetched where missing"
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help=data)
    options.add_checkpoint_input(p, default=None, note=f"; {VIT} for IDX files, the one that answers uploads for photographs")
    split = f"the Parquet file of this name, all where left out; {VALIDATION_SPLIT} of IDX files: the images held out of training"
    add_rows(p, ("split", str, split), options.JSON)
    p.set_defaults(run=_run_vit)


def _run_vit(o: argparse.Namespace) -> None:
    unlearnt = o.split == VALIDATION_SPLIT and not any(o.data.glob("*.parquet"))
    files = [] if unlearnt else photograph_files(o.data, o.split)
    names = classifier_names(o.folder)
    name = o.checkpoint or default_name(names, photograph=bool(files))
    classifier = load_classifier(name, folder=o.folder)
    answer: dict[str, Any] = {"model": "vit", "checkpoint": name}
    if files:
        from core.vision.preprocessing import model_for  # decodes by Pillow, which training machines lack
        from lab.vision.photograph_scores import evaluate_photographs

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
        source = "train" if unlearnt else "t10k"
        fetch_missing(o.data, source)
        part = read_part(o.data, source)
        if unlearnt:
            kept = stratified_split(part.labels, VALIDATION, seed=SPLIT_SEED)[1]
            answer, part = answer | {"split": o.split}, IdxPart(images=part.images[kept], labels=part.labels[kept])
        answer |= evaluate(classifier, part, progress=counting_bar("image"))
        answer |= {"flagged": answer["strange"], "ece": answer["calibration_error"]}
    options.print_answer(o, answer)
