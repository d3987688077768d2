"""`python -m core verify`: make a recording's journal of predictions again, from its rows and the weights."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from core.cli.options import JSON
from core.device import use_one_thread
from core.market.answers.recordings import find_recordings
from core.market.made_again import CERTIFIES_NOTHING, MadeAgain, known_predictors, make_again
from core.market.store.index import find_recording
from core.training.progress import counting_bar
from core.training.recipe import add_rows


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.epilog = "Exit code: 0 where all that can be replayed came out again, 1 where one did not, 2 without a journal."
    p.add_argument("recording", help="a folder of recordings, a file of rows, or a recording's name")
    weights = "folder of the weights; else the shipped ones and trained/"
    p.add_argument("--checkpoints", type=Path, action="append", default=[], help=weights)
    add_rows(p, JSON)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    use_one_thread()
    place = Path(o.recording)
    days = find_recordings([place]) if place.exists() else []
    files = [path for day in days for path in day.paths] or find_recording(o.recording).paths
    result = make_again(o.recording, files, known_predictors(*o.checkpoints), progress=counting_bar("step"))
    print(json.dumps(asdict(result)) if o.json else _in_words(result))
    if result.different is not None:
        raise SystemExit(1)


def _in_words(result: MadeAgain) -> str:
    lines = [
        f"{result.equal:,} of {result.predictions:,} made again, equal; {result.late:,} late; "
        f"{result.without_outcome:,} without an outcome"
    ]
    if result.beyond_replay:
        lines.append(
            f"{result.beyond_replay:,} are beyond replay, since hours of their journal were deleted or damaged: "
            "their recalibrated probabilities are not compared, nor anything of rows whose window is not whole now"
        )
    if result.leads:
        lines.append(
            f"{result.leads_equal:,} of {result.leads:,} leads over the naive rules made again, equal; "
            f"{result.leads_beyond:,} go on from files that are not there"
        )
    if result.without_leads:
        lines.append(f"{result.without_leads:,} files have no lead over the naive rules: none was written before December 2026")
    if result.early:
        lines.append(f"{result.early:,} say that they were written before their row: a clock was set back, or they were changed")
    if result.uncalled:
        lines.append(f"{result.uncalled:,} rows at the end have a whole window and no prediction")
    if result.different is not None:
        lines.append("the first that differs: {timestamp}, {head}: {why}".format(**result.different))
    return "\n".join([*lines, str(CERTIFIES_NOTHING)])
