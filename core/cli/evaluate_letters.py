"""`python -m core evaluate letters`: share of letters and of spelled words read rightly from hands' landmarks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from core.cli import options


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the model to `evaluate`."""
    p = models.add_parser(
        "letters",
        help="IIGA on hands that spell letters",
        description="Score the letters of American Sign Language on hands given as 21 landmarks, and words spelled by random "
        "hands of their letters: the word of the list with the largest sum of log-probabilities is the answer.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="FILE", help="hands (.npz: points (n, 21, 2 or 3), letter (n,))")
    p.add_argument("--words", type=Path, default=None, metavar="FILE", help="a word a line; the bundled English list if left out")
    p.add_argument("--count", type=int, default=400, help="words drawn")
    p.add_argument("--aspect", type=float, default=None, help="width over height of the pictures; found out where left out")
    p.add_argument("--seed", type=int, default=0, help="of the words and hands that are drawn")
    options.add_checkpoint_input(p, default=None, note="; the shipped one where left out")
    options.add_json(p)
    p.set_defaults(run=run)


def run(o: argparse.Namespace) -> None:
    """Evaluate and print."""
    from core.signs.letters import evaluate_letters, read_hands
    from core.signs.lexicon import bundled, read_words
    from core.signs.recogniser import LETTERS, load_recogniser

    recogniser = load_recogniser(o.checkpoint or LETTERS, folder=o.folder)
    if not recogniser.spells:
        raise ValueError(f"the checkpoint {recogniser.name!r} does not read letters")
    words = bundled("en") if o.words is None else read_words(o.words)
    scores = evaluate_letters(recogniser.model, read_hands(o.data), words, count=o.count, seed=o.seed, aspect=o.aspect)
    answer = {"model": "letters", "checkpoint": recogniser.name, "seed": o.seed, **scores}
    if o.json:
        print(json.dumps(answer))
        return
    shown = "no word of the list can be spelled" if scores["words"] is None else f"words {scores['words']:.1%}"
    print(f"{recogniser.name}: {scores['samples']} hands, letters {scores['letters']:.1%}, {shown}")
    print("  " + "  ".join(f"{letter} {share:.0%}" for letter, share in scores["by_letter"].items()))
