"""`python -m core faithful`: deletion curves of each method's importance over the bundled sample, which pages show."""

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from tqdm import tqdm

from core import checkpoints
from core.cli import options
from core.device import use_one_thread
from core.explain import faithfulness
from core.explain.attribution import GradientError
from core.explain.faithfulness import ExplainedInput, deletion_curves, to_dict
from core.market.book import STEP_MS
from core.market.evidence import explain_window
from core.market.labels import STATIONARY
from core.market.predictor import Predictor, load_predictor, windows_of
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.market.windows import window_ends
from core.models import MODELS
from core.models.vit import CLASSES
from core.signs import bundled_measures
from core.signs.decoding import gloss_spans
from core.signs.evidence import bundled_clips, explain_frame
from core.signs.recogniser import ASL, DIGITS, Recogniser, load_recogniser
from core.training.recipe import MADE, OVERWRITE, add_rows
from core.vision.analysis import analyse
from core.vision.classifier import Classifier, load_classifier
from core.vision.evidence import explain_picture
from core.vision.gallery import gallery, photograph_gallery
from core.vision.pictures import decode
from core.vision.preprocessing import Recipe
from core.vision.uprightness import prepare_upright

MOST_GLOSSES: Final = 60
WINDOWS_PER_RECORDING: Final = 12
"""Windows that the sample takes from each bundled recording, at most."""
SPACING_S: Final = 5
"""Seconds between the windows from which the sample is drawn."""


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Delete the parts that each method calls most important, and random parts, over a bundled sample, and write the mean "
        "curves. Beside the shipped ones of signs, what counted in the bundled clips is written, too."
    )
    p.add_argument("checkpoint", help="name of a shipped checkpoint")
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
    options.keep_shipped(o, faithfulness.path_of(o.checkpoint, folder=o.folder))
    use_one_thread()
    card = checkpoints.read_card(o.checkpoint, folder=checkpoints.FOLDER)
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
    if o.checkpoint in (DIGITS, ASL) and o.folder.resolve() == faithfulness.FOLDER:
        bundled_measures.write([load_recogniser(name) for name in (DIGITS, ASL)])


def _sample(card: dict[str, Any]) -> Iterator[ExplainedInput]:
    """The bundled sample of the card's model.

    Raises:
        ValueError: for a model without importance methods.
    """
    name = card["name"]
    if MODELS.input_of(card["model"]) == "picture":
        return _pictures(load_classifier(name))
    if MODELS.input_of(card["model"]) == "clip":
        return _glosses(load_recogniser(name))
    if card["model"] == "tlob":
        return _windows(load_predictor(name))
    measured = ", ".join(("tlob", *MODELS.reading("picture"), *MODELS.reading("clip")))
    raise ValueError(f"{name} is a {card['model']}: those of {measured} can be measured")


def _pictures(classifier: Classifier) -> Iterator[ExplainedInput]:
    """Every bundled picture of the kind that the model answers (D30), for its most probable class."""
    if classifier.class_names == CLASSES:
        images = classifier.enlarged(gallery()[0])
    else:
        recipe = Recipe(manner=classifier.manner)
        pictures = [decode(one.data, name=one.file) for one in photograph_gallery() if one.name in classifier.class_names]
        images = np.stack([prepare_upright(classifier, one, recipe).image for one in pictures])
    for image in images:
        analysis = analyse(classifier, image)
        yield explain_picture(analysis, analysis.likeliest)


def _glosses(recogniser: Recogniser) -> Iterator[ExplainedInput]:
    """Glosses of the bundled clips, each at its peak, `MOST_GLOSSES` of them, evenly spaced, where there are more."""
    glosses = [
        (clip, speaker, gloss)
        for clip, speaker in bundled_clips(recogniser).values()
        for gloss in gloss_spans(recogniser.log_probabilities(clip, speaker=speaker))
    ]
    for place in np.unique(np.linspace(0, len(glosses) - 1, min(MOST_GLOSSES, len(glosses))).round().astype(int)):
        clip, speaker, gloss = glosses[place]
        yield explain_frame(recogniser, clip, frame=gloss.peak, label=gloss.label, speaker=speaker)


def _windows(predictor: Predictor) -> Iterator[ExplainedInput]:
    """Windows that the first head calls UP or DOWN, spread evenly over every bundled recording.

    Windows called STATIONARY are left out: deleting makes a book stand still, so their answer could not fall.
    """
    for one in recordings():
        rows = read_market([one.path])
        entry = predictor.market(one.name)
        ends = window_ends(rows.timestamps, predictor.window)[:: SPACING_S * 1000 // STEP_MS]
        calls = predictor.predict(windows_of(rows.levels, ends, predictor.window), entry).calls[:, 0]
        moving = np.flatnonzero(calls != STATIONARY)
        if not len(moving):
            continue
        for place in moving[np.unique(np.linspace(0, len(moving) - 1, WINDOWS_PER_RECORDING).round().astype(int))]:
            levels = rows.levels[ends[place] - predictor.window + 1 : ends[place] + 1]
            with contextlib.suppress(GradientError):  # raw columns of a market of another price scale (D9)
                yield explain_window(predictor, entry, levels, head=0, label=int(calls[place]))
