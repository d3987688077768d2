"""`python -m core backfill --data FOLDER --out FOLDER`: predictions and scores over every recording of a folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core.cli import options
from core.cli.progress import counting_bar
from core.parallel import each


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    from core.market.predictor import DEFAULT

    p = commands.add_parser(
        "backfill",
        help="predict at every row of every recording of a folder, and score it",
        description="Writes predictions/NAME.parquet and scores/NAME.json for each recording; what is there already for the "
        "same checkpoint and files is not made again.",
    )
    p.add_argument(
        "--data",
        nargs="+",
        required=True,
        type=options.place,
        metavar="FILE_OR_FOLDER",
        help="folders of recordings, files, or a store's URL (s3://...)",
    )
    p.add_argument("--out", required=True, type=Path, help="folder for predictions and scores")
    p.add_argument("--every", type=int, default=1, help="predict at every so many-th row")
    options.add_checkpoint_input(p, default=DEFAULT)
    options.add_ray(p)
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.market.scoring.backfill import BackfillTask, backfill
    from core.market.scoring.recordings import find_recordings

    if o.every < 1:
        raise ValueError(f"every {o.every}-th row is none: give 1 or more")
    days = find_recordings(options.here(o.data))
    tasks = [
        BackfillTask(day=day, checkpoint=o.checkpoint, checkpoints=o.folder.resolve(), out=o.out.resolve(), every=o.every)
        for day in days
    ]
    bar = counting_bar("recording")
    scored: dict[int, dict[str, Any]] = {}
    skipped: dict[str, str] = {}
    for done, (number, found) in enumerate(each(backfill, tasks, ray=o.ray), 1):
        if isinstance(found, Exception):
            skipped[days[number].name] = str(found)
        else:
            scored[number] = found
        bar(done, len(tasks))
    if not scored:
        raise ValueError(next(iter(skipped.values())))
    answer = {"checkpoint": o.checkpoint, "recordings": [scored[number] for number in sorted(scored)], "skipped": skipped}
    print(json.dumps(answer) if o.json else table(answer))


def table(answer: dict[str, Any]) -> str:
    """The scores as lines of text."""
    lines = [f"{answer['checkpoint']}: {len(answer['recordings'])} recordings"]
    for one in answer["recordings"]:
        seen = ", trained on it" if one["trained_on"] else ""
        lines.append(f"  {one['recording']} ({one['market']}{seen}): {one['predictions']:,} predictions")
        for head in one["heads"]:
            score = f"macro-F1 {head['macro_f1']:.4f}   Matthews {head['matthews']:.4f}" if head["scored"] else "nothing to score"
            lines.append(f"    {head['label']} {head['horizon']:<4} {score}")
    return "\n".join([*lines, *(f"  left out {name}: {why}" for name, why in answer["skipped"].items())])
