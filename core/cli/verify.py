"""`python -m core verify`: make a recording's journal of predictions again, from its rows and the weights."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from core.cli import options
from core.device import use_one_thread
from core.market.answers.recordings import find_recordings
from core.market.made_again import CERTIFIES_NOTHING, MadeAgain, has_journal, known_predictors, make_again
from core.market.store.index import find_recording
from core.training.progress import counting_bar


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.epilog = "Exit code: 0 where every prediction came out again, 1 where one did not, 2 where there is no journal."
    p.add_argument("recording", help="a folder of recordings, a file of rows, or a recording's name")
    p.add_argument(
        "--checkpoints", type=Path, action="append", default=[], help="folder of the weights; else the shipped ones and trained/"
    )
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    use_one_thread()
    place, predictors = Path(o.recording), known_predictors(*o.checkpoints)
    days = find_recordings([place]) if place.exists() else []
    files = {day.name: day.paths for day in days} or {o.recording: find_recording(o.recording).paths}
    with_calls = {name: paths for name, paths in files.items() if has_journal(paths)} or dict(list(files.items())[:1])
    result = MadeAgain()
    for name, paths in with_calls.items():
        result += make_again(name, paths, predictors, progress=counting_bar("step"))
    print(json.dumps(asdict(result)) if o.json else _in_words(result))
    if result.equal < result.predictions:
        raise SystemExit(1)


def _in_words(result: MadeAgain) -> str:
    lines = [
        f"{result.equal:,} of {result.predictions:,} made again, equal; {result.late:,} late; "
        f"{result.without_outcome:,} without an outcome"
    ]
    if result.different is not None:
        lines.append("the first that differs: {timestamp}, {head}: {why}".format(**result.different))
    return "\n".join([*lines, str(CERTIFIES_NOTHING)])
