"""`python -m core evaluate iiga`: WER on photographed digits or on tracked sentences, whichever the folder holds."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.cli import options
from core.training.iiga import is_photos
from core.training.progress import counting_bar

HELD_OUT = "dev"


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    p.add_argument(
        "--split",
        default=None,
        help="part of the folder: all photos, or the test sentences, where left out; "
        f"{HELD_OUT} is what training holds out: of photos the dev signers, of tracked sentences the test sentences",
    )
    options.add_checkpoint_input(p, default=None, note="; the shipped one for this kind where left out")
    p.add_argument(
        "--clips", type=int, default=None, help="clips put together from photos, 500 where left out (of landmarks 100)"
    )
    p.add_argument("--hard", action="store_true", help="clips as varied as those that the model learnt from")
    p.add_argument(
        "--frame",
        type=float,
        default=None,
        metavar="SHARE",
        help="side of the hand's photo as a share of the frame's height, placed anywhere in it; about 0.8 to 1.2 where left out",
    )
    p.add_argument("--tilt", type=float, default=None, metavar="DEGREES", help="the hand is tilted up to so far either way")
    p.add_argument(
        "--backgrounds",
        type=Path,
        default=None,
        metavar="DIR",
        help="lay the hands over this folder's pictures, each clip over one",
    )
    p.add_argument(
        "--empty",
        action="store_true",
        help="films of the backgrounds without a hand, 30 where --clips is left out: count glosses",
    )
    options.add_json(p)
    p.set_defaults(run=run)


def run(o: argparse.Namespace) -> None:
    """Evaluate and print."""
    from core.signs.evaluation import evaluate_empty, evaluate_photos, evaluate_tracks
    from core.signs.recogniser import ASL, load_recogniser
    from core.signs.synthetic import clips
    from core.signs.tracks import read_sentences

    photos = is_photos(o.data)
    name = o.checkpoint or (_of_photos(o.folder) if photos else ASL)
    recogniser = load_recogniser(name, folder=o.folder)
    if (recogniser.front == "frames") is not photos:
        raise ValueError(f"the checkpoint {recogniser.name!r} reads {recogniser.front}, and {o.data.name} holds none")
    answer: dict[str, Any] = {"model": "iiga", "checkpoint": recogniser.name}
    if photos:
        from core.signs.synthetic.photos import read_photos, read_scenes

        scenes = None if o.backgrounds is None else read_scenes(o.backgrounds, recogniser.image_size)
        if o.empty:
            if scenes is None:
                raise ValueError("films without hands show pictures: name their folder by --backgrounds")
            count = 30 if o.clips is None else o.clips
            answer |= evaluate_empty(recogniser, scenes, count=count, progress=counting_bar("film"))
            print(json.dumps(answer) if o.json else f"{answer['films_with_gloss']} of {count} films without a hand got a gloss")
            return
        count = o.clips if o.clips is not None else 100 if recogniser.reads_hands else clips.SENTENCES
        if count < 1:
            raise ValueError(f"a word error rate takes one clip or more, not {count}")
        variety = clips.framed(clips.TRAINING if o.hard else clips.SCORING, side=o.frame, tilt=o.tilt)
        if scenes is not None:
            variety = replace(variety, replace=1.0)
        photo_set = read_photos(o.data, o.split)
        scores = evaluate_photos(
            recogniser, photo_set, count=count, variety=variety, scenes=scenes, progress=counting_bar("clip")
        )
        answer |= {"split": o.split or "all", "clips": "synthetic sentences of real photos", "seed": clips.SEED}
        answer |= {"frame": o.frame, "tilt": variety.turn, "backgrounds": o.backgrounds.name if o.backgrounds else None}
        answer |= scores.summary()
    else:
        if o.frame is not None or o.tilt is not None or o.backgrounds is not None or o.empty:
            raise ValueError(
                "--frame, --tilt, --backgrounds and --empty place photographed hands: tracked sentences take none of them"
            )
        split = "test" if o.split == HELD_OUT else o.split or "test"
        scores = evaluate_tracks(recogniser, read_sentences(o.data, split), progress=counting_bar("sentence"))
        answer |= {"split": split, **scores.summary()}
        unseen = scores.unseen(set(recogniser.card.get("training_sentences", ())))
        answer["unseen_sentences"] = len(unseen)
        answer["wer_unseen"] = round(scores.wer_of(unseen), 6) if unseen else None
    print(json.dumps(answer) if o.json else _table(answer))


def _of_photos(folder: Path) -> str:
    """The checkpoint that reads photographed hands best: on landmarks, where it is there and hands can be found."""
    from core import checkpoints
    from core.signs.hands import model_files
    from core.signs.recogniser import DIGITS, HANDS

    there = HANDS in checkpoints.names("iiga", folder=folder)
    return HANDS if there and model_files.available() else DIGITS


def _table(answer: dict[str, Any]) -> str:
    lines = [
        f"{answer['checkpoint']} ({answer['split']}, {answer['sentences']} sentences, {answer['words']} words): "
        f"WER {answer['wer']:.2%}, {answer['sentences_right']} sentences right"
    ]
    lines.append(f"  {answer['substitutions']} substitutions, {answer['deletions']} deletions, {answer['insertions']} insertions")
    if answer.get("wer_unseen") is not None:
        lines.append(f"  {answer['unseen_sentences']} sentences that training did not hold: WER {answer['wer_unseen']:.2%}")
    if "clips" in answer:
        lines.append(f"  {answer['clips']}, seed {answer['seed']}")
    return "\n".join(lines)
