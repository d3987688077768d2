"""`python -m core faithful`: deletion curves of each method's importance over the bundled sample, which pages show."""

import argparse
from collections.abc import Iterator
from typing import Any

from core import checkpoints
from core.cli import options
from core.device import use_one_thread
from core.explain import faithfulness
from core.explain.faithfulness import ExplainedInput, deletion_curves, to_dict
from core.models import MODELS
from core.training.recipe import MADE, OVERWRITE, add_rows
from core.vision.sight_files import SIGHT, SIGHT_CARD


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Delete the parts that each method calls most important, and random parts, over a bundled sample, and write the mean "
        "curves."
    )
    p.add_argument("checkpoint", help=f"name of a shipped checkpoint, or {SIGHT}: the network that sees anything")
    add_rows(
        p,
        ("folder", MADE, "where to write: the pages read assets/explain; trained where left out"),
        ("overwrite", False, OVERWRITE),
        ("most", int, "inputs of the sample to use; all where left out"),
        ("seed", 0, "of the random orders"),
        options.JSON,
    )
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from tqdm import tqdm

    options.keep_shipped(o, faithfulness.path_of(o.checkpoint, folder=o.folder))
    use_one_thread()
    card = SIGHT_CARD if o.checkpoint == SIGHT else checkpoints.read_card(o.checkpoint, folder=checkpoints.FOLDER)
    curves = []
    for place, one in enumerate(tqdm(_sample(card), unit="input", desc=o.checkpoint, disable=None)):
        if place == o.most:
            break
        curves.append(deletion_curves(one, seed=o.seed + place))
    if not curves:
        raise ValueError(f"{o.checkpoint} predicts nothing on the bundled sample, so that there is nothing to measure")
    command = f"python -m core faithful {o.checkpoint}" + (f" --most {o.most}" if o.most else "")
    path = faithfulness.write(o.checkpoint, card["weights_sha256"], command, curves, folder=o.folder)
    options.print_answer(o, to_dict(curves))
    if not o.json:
        print(f"wrote {path}")


def _sample(card: dict[str, Any]) -> Iterator[ExplainedInput]:
    """The bundled sample of the card's model.

    Raises:
        ValueError: for a model without importance methods.
    """
    name = card["name"]
    if card is SIGHT_CARD:
        from core.vision import sight_evidence
        from core.vision.sight import sight_reader

        return sight_evidence.sample(sight_reader())
    if MODELS.input_of(card["model"]) == "picture":
        from core.vision import evidence as of_pictures
        from core.vision.classifier import load_classifier

        return of_pictures.sample(load_classifier(name))
    if MODELS.input_of(card["model"]) == "clip":
        from core.signs import evidence as of_clips
        from core.signs.recogniser import load_recogniser

        return of_clips.sample(load_recogniser(name))
    if card["model"] == "tlob":
        from core.market import evidence as of_windows
        from core.market.predictor import load_predictor

        return of_windows.sample(load_predictor(name))
    measured = ", ".join((SIGHT, "tlob", *MODELS.reading("picture"), *MODELS.reading("clip")))
    raise ValueError(f"{name} is a {card['model']}: those of {measured} can be measured")
