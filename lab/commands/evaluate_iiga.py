"""`python -m core evaluate iiga`: word error rates on photographed digits and on tracked sentences."""

import argparse
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options
from core.signs.hands.model_files import HAND_FILES
from core.signs.recogniser import ASL, DIGITS, HANDS, Recogniser, load_recogniser
from core.training.progress import counting_bar
from core.training.recipe import add_rows
from lab.signs import clips
from lab.signs.evaluation import evaluate_photos, evaluate_tracks
from lab.signs.photos import read_photos
from lab.signs.tracked_sentences import read_sentences
from lab.training.iiga import is_photos

HELD_OUT = "dev"


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Score IIGA by the word error rate of its greedy answer, without a language model; wer_best_path counts the "
        "glosses that the card's least probability leaves out, too. "
        "A folder with manifest.csv holds photos, from which clips are put together with a committed seed: synthetic sentences "
        "of real photos. A folder with hands_condensed.csv holds tracked sentences."
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
        options.JSON,
    )
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    photos = is_photos(o.data)
    # photographed hands are read best on landmarks, where that model is there and hands can be found
    on_landmarks = HANDS in checkpoints.names("iiga", folder=o.folder) and HAND_FILES.available()
    recogniser = load_recogniser(o.checkpoint or (ASL if not photos else HANDS if on_landmarks else DIGITS), folder=o.folder)
    if (recogniser.front == "frames") is not photos:
        raise ValueError(f"the checkpoint {recogniser.name!r} reads {recogniser.front}, and {o.data.name} holds none")
    answer = {"model": "iiga", "checkpoint": recogniser.name, **(_photos if photos else _tracks)(o, recogniser)}
    options.print_answer(o, answer)


def _photos(o: argparse.Namespace, recogniser: Recogniser) -> dict[str, Any]:
    """Scores on synthetic sentences of photographed hands."""
    count = o.clips if o.clips is not None else 100 if recogniser.reads_hands else clips.SENTENCES
    if count < 1:
        raise ValueError(f"a word error rate takes one clip or more, not {count}")
    variety = clips.framed(clips.TRAINING if o.hard else clips.SCORING, side=o.frame, tilt=o.tilt)
    scores = evaluate_photos(
        recogniser, read_photos(o.data, o.split), count=count, variety=variety, progress=counting_bar("clip")
    )
    about = {"split": o.split or "all", "clips": "synthetic sentences of real photos", "seed": clips.SEED}
    return about | {"frame": o.frame, "tilt": variety.turn} | scores.summary()


def _tracks(o: argparse.Namespace, recogniser: Recogniser) -> dict[str, Any]:
    """Scores on tracked sentences, and apart on those that were not trained on."""
    if o.frame is not None or o.tilt is not None:
        raise ValueError("--frame and --tilt place photographed hands: tracked sentences take neither")
    split = "test" if o.split == HELD_OUT else o.split or "test"
    scores = evaluate_tracks(recogniser, read_sentences(o.data, split), progress=counting_bar("sentence"))
    return {"split": split, **scores.summary(), **scores.unseen(set(recogniser.card.get("training_sentences", ())))}
