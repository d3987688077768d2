"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import cache, partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import checkpoints
from core.cli import evaluate_recordings, options
from core.market.labels import LABEL_KINDS
from core.market.predictor import DEFAULT
from core.training.cct import VALIDATION_SPLIT
from core.training.iiga import is_photos
from core.training.progress import counting_bar
from core.training.recipe import add_rows
from core.training.vit import evaluate, fetch_missing, validation_part
from core.vision.classifier import DEFAULT as VIT
from core.vision.classifier import classifier_names, default_name, load_classifier
from core.vision.idx import read_part
from core.vision.photographs import photograph_files, photographs

if TYPE_CHECKING:
    from core.signs.recogniser import Recogniser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, each with its options."""
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
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
    _add_vit(models)
    _add_iiga(models)


def _run_tlob(o: argparse.Namespace) -> None:
    answer, _ = evaluate_recordings.scored(o)
    print(json.dumps(answer) if o.json else evaluate_recordings.table(answer))


def _add_vit(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "vit",
        help="ViT on Fashion-MNIST's test images, or on photographs of garments",
        description="Score the ViT with the temperature and the threshold of its card: on the 10,000 test images of a folder of "
        "IDX files, or on the photographs of a folder of Parquet files with the columns file, kind and jpeg.",
    )
    data = "folder or file of photographs (Parquet), or folder of the IDX files, which are fetched where missing"
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help=data)
    options.add_checkpoint_input(p, default=None, note=f"; {VIT} for IDX files, the one that answers uploads for photographs")
    split = f"the Parquet file of this name, all where left out; {VALIDATION_SPLIT} of IDX files: the images held out of training"
    add_rows(p, ("split", str, split), options.JSON)
    p.set_defaults(run=_run_vit)


def _run_vit(o: argparse.Namespace) -> None:
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
    options.print_answer(o, answer)


HELD_OUT = "dev"


def _add_iiga(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the model to `evaluate`."""
    p = models.add_parser(
        "iiga",
        help="IIGA on photographed digits or tracked sentences",
        description="Score IIGA by the word error rate of its greedy answer, without a language model; wer_best_path counts the "
        "glosses that the card's least probability leaves out, too. "
        "A folder with manifest.csv holds photos, from which clips are put together with a committed seed: synthetic sentences "
        "of real photos. A folder with hands_condensed.csv holds tracked sentences.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="a folder of photos or of tracked sentences")
    options.add_checkpoint_input(p, default=None, note="; the shipped one for this kind where left out")
    split = (
        f"part of the folder: all photos, or the test sentences, where left out; {HELD_OUT} is what training holds out: "
        "of photos the dev signers, of tracked sentences the test sentences"
    )
    frame = "side of the hand's photo as a share of the frame's height, placed anywhere in it; about 0.8 to 1.2 where left out"
    add_rows(
        p,
        ("split", str, split),
        ("clips", int, "clips put together from photos, 500 where left out (of landmarks 100)"),
        ("hard", False, "clips as varied as those that the model learnt from"),
        ("frame", float, frame),
        ("tilt", float, "degrees that the hand is tilted up to, either way"),
        ("backgrounds", Path, "lay the hands over this folder's pictures, each clip over one"),
        ("empty", False, "films of the backgrounds without a hand, 30 where --clips is left out: count glosses"),
        options.JSON,
    )
    p.set_defaults(run=run)


def run(o: argparse.Namespace) -> None:
    """Evaluate and print."""
    from core.signs.recogniser import ASL, load_recogniser

    photos = is_photos(o.data)
    name = o.checkpoint or (_of_photos(o.folder) if photos else ASL)
    recogniser = load_recogniser(name, folder=o.folder)
    if (recogniser.front == "frames") is not photos:
        raise ValueError(f"the checkpoint {recogniser.name!r} reads {recogniser.front}, and {o.data.name} holds none")
    answer = {"model": "iiga", "checkpoint": recogniser.name, **(_photos if photos else _tracks)(o, recogniser)}
    options.print_answer(o, answer)


def _photos(o: argparse.Namespace, recogniser: Recogniser) -> dict[str, Any]:
    """Scores on synthetic sentences of photographed hands; with `--empty` on films without any."""
    from core.signs.evaluation import evaluate_empty, evaluate_photos
    from core.signs.synthetic import clips
    from core.signs.synthetic.photos import read_photos, read_scenes

    scenes = None if o.backgrounds is None else read_scenes(o.backgrounds, recogniser.image_size)
    if o.empty:
        if scenes is None:
            raise ValueError("films without hands show pictures: name their folder by --backgrounds")
        return evaluate_empty(recogniser, scenes, count=30 if o.clips is None else o.clips, progress=counting_bar("film"))
    count = o.clips if o.clips is not None else 100 if recogniser.reads_hands else clips.SENTENCES
    if count < 1:
        raise ValueError(f"a word error rate takes one clip or more, not {count}")
    variety = clips.framed(clips.TRAINING if o.hard else clips.SCORING, side=o.frame, tilt=o.tilt)
    if scenes is not None:
        variety = replace(variety, replace=1.0)
    photo_set = read_photos(o.data, o.split)
    scores = evaluate_photos(recogniser, photo_set, count=count, variety=variety, scenes=scenes, progress=counting_bar("clip"))
    answer = {"split": o.split or "all", "clips": "synthetic sentences of real photos", "seed": clips.SEED}
    answer |= {"frame": o.frame, "tilt": variety.turn, "backgrounds": o.backgrounds.name if o.backgrounds else None}
    return answer | scores.summary()


def _tracks(o: argparse.Namespace, recogniser: Recogniser) -> dict[str, Any]:
    """Scores on tracked sentences, and apart on those that were not trained on."""
    from core.signs.evaluation import evaluate_tracks
    from core.signs.tracks import read_sentences

    if o.frame is not None or o.tilt is not None or o.backgrounds is not None or o.empty:
        raise ValueError(
            "--frame, --tilt, --backgrounds and --empty place photographed hands: tracked sentences take none of them"
        )
    split = "test" if o.split == HELD_OUT else o.split or "test"
    scores = evaluate_tracks(recogniser, read_sentences(o.data, split), progress=counting_bar("sentence"))
    unseen = scores.unseen(set(recogniser.card.get("training_sentences", ())))
    wer = round(scores.wer_of(unseen), 6) if unseen else None
    return {"split": split, **scores.summary(), "unseen_sentences": len(unseen), "wer_unseen": wer}


def _of_photos(folder: Path) -> str:
    """The checkpoint that reads photographed hands best: on landmarks, where it is there and hands can be found."""
    from core.signs.hands.model_files import HAND_FILES
    from core.signs.recogniser import DIGITS, HANDS

    there = HANDS in checkpoints.names("iiga", folder=folder)
    return HANDS if there and HAND_FILES.available() else DIGITS
