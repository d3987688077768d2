"""`python -m core faithful`: put what maps call important to the test, over the bundled sample, and keep what comes of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options
from core.device import use_one_thread
from core.explain import findings
from core.explain.faithfulness import Evidence, deletion_curves, to_dict


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    p = commands.add_parser(
        "faithful",
        help="measure how faithful each map of a model is",
        description="Delete what each method calls most important, least important, and parts at random, over a bundled sample, "
        "and write the mean curves for the app's pages.",
    )
    p.add_argument("checkpoint", help="name of a shipped checkpoint")
    p.add_argument("--folder", type=Path, default=findings.FOLDER, help="where to write")
    p.add_argument("--most", type=int, default=None, help="inputs of the sample to use; all where left out")
    p.add_argument("--seed", type=int, default=0, help="of the random orders")
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from tqdm import tqdm

    use_one_thread()
    card = checkpoints.read_card(o.checkpoint, folder=checkpoints.FOLDER)
    curves = []
    for place, one in enumerate(tqdm(_sample(card), unit="input", desc=o.checkpoint, disable=None)):
        if place == o.most:
            break
        curves.append(deletion_curves(one, seed=o.seed + place))
    if not curves:
        raise ValueError(f"{o.checkpoint} says nothing of the bundled sample that could be put to the test")
    path = findings.write(
        o.checkpoint, card["weights_sha256"], f"python -m core faithful {o.checkpoint}", curves, folder=o.folder
    )
    told = to_dict(curves)
    print(json.dumps(told) if o.json else _table(told, path))


def _sample(card: dict[str, Any]) -> Iterator[Evidence]:
    """The bundled sample of a model of that kind.

    Raises:
        ValueError: for a kind without maps to test.
    """
    name = card["name"]
    if card["model"] == "vit":
        from core.vision import evidence as of_pictures
        from core.vision.classifier import load_classifier

        return of_pictures.sample(load_classifier(name))
    if card["model"] == "iiga":
        from core.signs import evidence as of_clips
        from core.signs.recogniser import load_recogniser

        return of_clips.sample(load_recogniser(name))
    if card["model"] == "tlob":
        from core.market import evidence as of_windows
        from core.market.predictor import load_predictor

        return of_windows.sample(load_predictor(name))
    raise ValueError(f"{name} is a {card['model']}: tlob, vit and iiga checkpoints can be put to the test")


def _table(told: dict[str, Any], path: Path) -> str:
    lines = [f"{told['samples']} inputs; mean area under random orders {told['chance']:.4f}"]
    lines += [f"{'method':<12} {'most first':>10} {'least first':>11} {'below chance':>13} {'':>8} {'better':>7}"]
    for name, one in told["verdicts"].items():
        areas = f"{one['most']:>10.4f} {one['least']:>11.4f} {one['gain']:>+13.4f} ±{one['error']:>7.4f}"
        lines.append(f"{name:<12} {areas} {one['better']:>7.0%}")
    return "\n".join([*lines, f"wrote {path.name}"])
