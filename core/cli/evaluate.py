"""`python -m core evaluate MODEL`: prints one JSON object, or a table."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from core import checkpoints
from core.cli import evaluate_iiga, evaluate_letters, evaluate_recordings, evaluate_vit, options
from core.market.answers.intervals import block_length
from core.market.answers.naive import BOOKLESS
from core.market.answers.predictions import RowPredictions, predict_scorable, score_head, summarise_value
from core.market.answers.recalibration import score_recalibrated
from core.market.answers.recordings import entry_of, find_recordings, trained_on
from core.market.answers.table import ahead, in_short, intervals
from core.market.book import BookRows, read_market
from core.market.forecasters.catalogue import find_forecaster
from core.market.forecasters.comparison import compare, names_of
from core.market.forecasters.protocol import task_of
from core.market.labels import LABEL_KINDS, UNKNOWN
from core.market.predictor import DEFAULT, MarketCard, Predictor, load_predictor
from core.training.progress import counting_bar
from core.training.recipe import place
from core.training.tlob import VALIDATION_END


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, each with its options."""
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
    p.add_argument(
        "--adaptive",
        action="store_true",
        help="recalibrate the probabilities from the file's own past, and score after the first 1,000 outcomes (docs/value.md)",
    )
    p.add_argument(
        "--thresholds",
        choices=("card", "past"),
        default="card",
        help="with --adaptive: label thresholds from the card, or from the file's own first quarter hour",
    )
    p.add_argument(
        "--forecaster",
        nargs="+",
        default=[],
        metavar="NAME_OR_FILE_OR_ADDRESS",
        help="score these beside TLOB: momentum, stationary, lightgbm, deeplob, an entry point, a .csv or .parquet file of "
        "probabilities, or http://127.0.0.1:PORT/ (docs/forecasters.md)",
    )
    evaluate_recordings.add_options(p)
    options.add_json(p)
    p.set_defaults(run=_run_tlob)
    evaluate_vit.add_parser(models)
    evaluate_iiga.add_parser(models)
    evaluate_letters.add_parser(models)


def _run_tlob(o: argparse.Namespace) -> None:
    o.data = options.here(o.data)
    if o.out is not None or o.ray is not None or any(place.is_dir() for place in o.data) or _several(o):
        scored = evaluate_recordings.run(o)
        print(json.dumps(scored) if o.json else evaluate_recordings.table(scored))
        return
    predictor = load_predictor(o.checkpoint, folder=o.folder)
    head = predictor.head_or_first(o.label, o.horizon)
    rows = read_market(o.data)
    entry = entry_of(predictor, o.market or o.data[0].name, named=o.market is not None)
    seen = trained_on(predictor.card, [checkpoints.sha256(path) for path in o.data])
    part = o.part if o.part != "auto" else ("test" if seen else "all")
    # the first row whose window starts after the last validation label is known (D10)
    first = int(len(rows) * VALIDATION_END) + predictor.window + max(h for _, h in predictor.heads) if part == "test" else 0
    predicted = predict_scorable(predictor, rows, entry, first=first, heads=[head], progress=counting_bar("window"))
    if o.adaptive:
        result = score_recalibrated(predicted, rows, entry, head, thresholds=o.thresholds)
    else:
        result = score_head(predicted, entry, head).summary()
    known = predicted.truth[:, head] != UNKNOWN
    recording = evaluate_recordings.recording_entry(
        o.data[0].stem, entry.name, part, entry.alphas[head], predicted.timestamps[known], predicted.score_apart(head)
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
    table = predicted.of_head(head)
    answer["ahead"] = {rule: in_short(ahead(table, "tlob", rule)) for rule in BOOKLESS}
    if not o.adaptive:
        bounds = intervals(table, "tlob")
        answer["interval"] = {name: [round(low, 4), round(high, 4)] for name, (low, high) in bounds.items()}
    answer |= summarise_value(predicted, head)
    if o.forecaster:
        answer["forecasters"] = _forecasters(predictor, rows, entry, o, first=first, head=head, predicted=predicted)
    print(json.dumps(answer) if o.json else _table(answer))


def _several(o: argparse.Namespace) -> bool:
    """Tells whether the files are of several recordings. With `--adaptive` they are one market's, joined in time order."""
    return len(o.data) > 1 and not o.adaptive and len(find_recordings(o.data)) > 1


def _forecasters(
    predictor: Predictor,
    rows: BookRows,
    market: MarketCard,
    o: argparse.Namespace,
    *,
    first: int,
    head: int,
    predicted: RowPredictions,
) -> dict[str, Any]:
    """Every forecaster's scores on one head, TLOB's first, as JSON's objects.

    Raises:
        ForecasterError: where a forecaster cannot be used.
    """
    spelling = o.market or o.data[0].name
    task = task_of(predictor, market, spelling)
    peers = {name: find_forecaster(wanted, task) for wanted, name in names_of(o.forecaster).items()}
    comparison = compare(
        predictor,
        rows,
        market,
        peers,
        spelling=spelling,
        first=first,
        known=predicted,
        progress=counting_bar("window"),
    )
    boards = comparison.scores(head)
    for board in boards:
        if board.reason:
            print(board.reason, file=sys.stderr)
    fit_rows = int(comparison.fit.sum())
    fitted_on = "validation rows" if first else "the first fifth of the rows"
    return {
        "rules_fitted_on": fitted_on if fit_rows else "nothing, as there are too few rows",
        "fit_rows": fit_rows,
        "block": block_length(boards[0].scores.samples, predictor.heads[head][1]),
        "coverage": 0.95,
        "scores": {board.name: board.summary() for board in boards},
    }


def _table(answer: dict[str, Any]) -> str:
    lines = [
        f"{answer['checkpoint']} on {answer['market']} ({answer['part']}, {answer['samples']:,} samples), "
        f"{answer['label']} label, {answer['horizon']} steps"
    ]
    lines += evaluate_recordings.score_lines({"tlob": answer, **answer["baselines"]})
    lines += evaluate_recordings.ahead_lines(answer["ahead"])
    lines += [*evaluate_recordings.worse_than_nothing(answer), *evaluate_recordings.apart_lines(answer)]
    if answer.get("adaptive"):
        lines += _adaptive_lines(answer)
    if "forecasters" in answer:
        lines += forecaster_lines(answer["forecasters"])
    return "\n".join(lines)


def _adaptive_lines(answer: dict[str, Any]) -> list[str]:
    """Calibration before and after, and coverage, as lines of text."""
    lines = [
        f"  {name:<12} log-loss {one['log_loss']:.4f}   calibration error {one['ece']:.4f}"
        for name, one in (("as written", answer["before"]), ("recalibrated", answer))
    ]
    lines.append("  weights      " + "   ".join(f"{name} {weight:.0%}" for name, weight in answer["weights"].items()))
    c = answer["coverage"]
    lines.append(
        f"  sets         promised {c['promised']:.0%}   delivered {c['delivered']:.1%}, lately {c['delivered_last']:.1%}"
        f"   {c['mean_size']:.2f} classes on average"
    )
    return lines


def forecaster_lines(forecasters: dict[str, Any]) -> list[str]:
    """The scores of `--forecaster` as lines of text."""
    lines = [f"on equal terms (rules fitted on {forecasters['rules_fitted_on']}):"]
    for name, one in forecasters["scores"].items():
        missing = f"   missing {sum(one['missing'].values()):,}" if one["missing"] else ""
        if not one["rows"]:
            lines.append(f"  {name:<12} no answer to score{missing}")
            continue
        line = f"  {name:<12} Matthews {one['matthews']:.4f}   log-loss {one['log_loss']:.4f}   rows {one['rows']:,}"
        for score, d in one["less_tlob"].items():
            line += f"   {score} less TLOB {d['value']:+.4f} [{d['low']:+.4f}, {d['high']:+.4f}]"
        lines.append(line + missing)
    return lines
