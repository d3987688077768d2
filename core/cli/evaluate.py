"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import (
    evaluate_forecasters,
    evaluate_iiga,
    evaluate_recordings,
    evaluate_tlob_adaptive,
    evaluate_vit,
    options,
)
from core.market.answers.intervals import score_intervals
from core.market.answers.predictions import predict_scorable, score_head, summarise_value
from core.market.answers.recalibration import score_recalibrated
from core.market.answers.recordings import find_recordings
from core.market.book import BookRows, read_market
from core.market.labels import LABEL_KINDS, UNKNOWN
from core.market.predictor import DEFAULT, MarketCard, Predictor, load_predictor
from core.training.progress import counting_bar
from core.training.recipe import place
from core.training.tlob import VALIDATION_END


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its models."""
    parser = commands.add_parser("evaluate", help="score a checkpoint on data")
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
    p = models.add_parser(
        "tlob",
        help="TLOB on order-book files",
        description="Score TLOB beside the naive rules. Label thresholds, constants and call rules are the card's. "
        "Files that the card was trained on are scored on their test part alone, others whole.",
    )
    p.add_argument(
        "--data",
        nargs="+",
        required=True,
        type=place,
        metavar="FILE_OR_FOLDER",
        help="Parquet or CSV files, folders or a store's URL (s3://...); of several recordings the mean is given",
    )
    p.add_argument("--horizon", type=int, default=None, help="steps ahead; the label's first on the card where left out")
    p.add_argument("--label", choices=LABEL_KINDS, default=None, help="forward where left out, if the card has it")
    options.add_checkpoint_input(p, default=DEFAULT)
    p.add_argument("--market", default=None, help="entry of the card to use; recognised from the files' names where left out")
    p.add_argument("--part", choices=("auto", "test", "all"), default="auto", help="score the last 20 %% or everything")
    evaluate_tlob_adaptive.add_options(p)
    evaluate_forecasters.add_option(p)
    evaluate_recordings.add_options(p)
    options.add_json(p)
    p.set_defaults(run=_run_tlob)
    evaluate_vit.add_parser(models)
    evaluate_iiga.add_parser(models)


def _run_tlob(o: argparse.Namespace) -> None:
    o.data = options.here(o.data)
    if o.out is not None or o.ray is not None or any(place.is_dir() for place in o.data) or _several(o):
        scored = evaluate_recordings.run(o)
        print(json.dumps(scored) if o.json else evaluate_recordings.table(scored))
        return
    predictor = load_predictor(o.checkpoint, folder=o.folder)
    head = predictor.head_or_first(o.label, o.horizon)
    rows = read_market(o.data)
    entry = _market(predictor, o)
    part = o.part if o.part != "auto" else ("test" if _trained_on(predictor, o.data) else "all")
    first = _test_start(predictor, rows) if part == "test" else 0
    found = predict_scorable(predictor, rows, entry, first=first, heads=[head], progress=counting_bar("window"))
    if o.adaptive:
        result = score_recalibrated(found, rows, entry, head, thresholds=o.thresholds)
    else:
        result = score_head(found, entry, head).summary()
    known = found.truth[:, head] != UNKNOWN
    recording = evaluate_recordings.recording_entry(
        o.data[0].stem, entry.name, part, entry.alphas[head], found.timestamps[known], found.score_apart(head)
    )
    answer: dict[str, Any] = {
        "model": "tlob",
        "checkpoint": o.checkpoint,
        "market": entry.name,
        "part": part,
        "alpha": entry.alphas[head],
        **result,
        "recordings": [recording],
    }
    if not o.adaptive:
        bounds = score_intervals(
            found.truth[known, head], found.calls[known, head], found.probabilities[known, head], predictor.heads[head][1]
        )
        answer["interval"] = {name: [round(low, 4), round(high, 4)] for name, (low, high) in bounds.items()}
    answer |= summarise_value(found, head)
    if o.forecaster:
        answer["forecasters"] = evaluate_forecasters.scores(predictor, rows, entry, o, first=first, head=head, found=found)
    print(json.dumps(answer) if o.json else _table(answer))


def _several(o: argparse.Namespace) -> bool:
    """Tells whether the files are of several recordings. With `--adaptive` they are one market's, joined in time order."""
    return len(o.data) > 1 and not o.adaptive and len(find_recordings(o.data)) > 1


def _market(predictor: Predictor, o: argparse.Namespace) -> MarketCard:
    """The market named, or recognised in the first file's name."""
    if o.market is None:
        return predictor.market(o.data[0].name)
    if o.market not in predictor.markets:
        raise ValueError(f"the card of {o.checkpoint!r} has no market {o.market!r}: it has {', '.join(predictor.markets)}")
    return predictor.markets[o.market]


def _trained_on(predictor: Predictor, paths: list[Path]) -> bool:
    known = {row["sha256"] for row in predictor.card["data"]}
    return any(checkpoints.sha256(path) in known for path in paths)


def _test_start(predictor: Predictor, rows: BookRows) -> int:
    """First row of the test part whose window starts after the last validation label is known (D10)."""
    return int(len(rows) * VALIDATION_END) + predictor.window + max(horizon for _, horizon in predictor.heads)


def _table(answer: dict[str, Any]) -> str:
    lines = [
        f"{answer['checkpoint']} on {answer['market']} ({answer['part']}, {answer['samples']:,} samples), "
        f"{answer['label']} label, {answer['horizon']} steps"
    ]
    lines += evaluate_recordings.score_lines({"tlob": answer, **answer["baselines"]})
    lines += [*evaluate_recordings.worse_than_nothing(answer), *evaluate_recordings.apart_lines(answer)]
    lines += evaluate_tlob_adaptive.table(answer)
    return "\n".join([*lines, *evaluate_forecasters.table(answer.get("forecasters"))])
