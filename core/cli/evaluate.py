"""`python -m core evaluate MODEL`: prints one JSON object, or a table; of TLOB, recordings by any checkpoints."""

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core import checkpoints
from core.cli import LazyParser, add_options_of, options
from core.device import use_one_thread
from core.market.answers import report as reports
from core.market.answers.naive import A_THIRD_EACH, NAIVE
from core.market.answers.recordings import ScoredDay, Scoring, find_recordings, score_day
from core.market.answers.table import Table
from core.market.book import BookError
from core.market.grid import STALLED_MS
from core.market.labels import LABEL_KINDS, Head
from core.market.made_again import TRAINED, has_journal, known_predictors, make_again
from core.market.predictor import DEFAULT, Predictor, load_predictor
from core.market.store.index import Recording
from core.messages import BadValue, compose
from core.training.progress import counting_bar
from core.training.recipe import add_rows

LABORATORY: Final = {
    "vit": ("lab.commands.evaluate_vit", "ViT on Fashion-MNIST's test images, or on photographs of garments"),
    "iiga": ("lab.commands.evaluate_iiga", "IIGA on photographed digits or tracked sentences"),
}
"""Model -> its file in the laboratory, and a line about it."""
ROWS_PER_REPORT = 5
"""Scores with fewer rows than so many times the horizon mean nothing and are refused."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models, each with its options."""
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL", parser_class=LazyParser)
    p = models.add_parser(
        "tlob",
        help="TLOB on order-book files",
        description="Score TLOB beside the naive rules. Label thresholds, constants and call rules are the card's. "
        "Files that the card was trained on are scored on their test part alone, others whole.",
    )
    data = "Parquet or CSV files, or folders; of several recordings the mean is given"
    p.add_argument("--data", nargs="+", required=True, type=Path, metavar="FILE_OR_FOLDER", help=data)
    p.add_argument("--label", choices=LABEL_KINDS, help="forward where left out, if the card has it")
    options.add_checkpoint_input(p, default=DEFAULT)
    p.add_argument("--part", choices=("auto", "test", "all"), default="auto", help="score the last 20 %% or everything")
    thresholds = "with --adaptive: label thresholds from the card, or from the file's own first quarter hour"
    p.add_argument("--thresholds", choices=("card", "past"), default="card", help=thresholds)
    adaptive = (
        "recalibrate the probabilities from the file's own past, and score after the first 1,000 outcomes (docs/value.md); files "
        "of one market are then one recording"
    )
    add_rows(
        p,
        ("horizon", int, "steps ahead; the label's first on the card where left out"),
        ("market", str, "entry of the card to use; recognised from the files' names where left out"),
        ("adaptive", False, adaptive),
        options.JSON,
        ("every", 1, "score every so many-th row"),
        ("out", Path, "write report.json and the tables here"),
    )
    p.add_argument("--beside", nargs="+", default=[], metavar="NAME", help="other checkpoints on the same rows")
    p.set_defaults(run=_run_tlob)
    for name, (module, text) in LABORATORY.items():
        models.add_parser(name, help=text).fill = partial(add_options_of, module)
    _add_writer(models)


def _run_tlob(o: argparse.Namespace) -> None:
    answer = scored(o)
    print(json.dumps(answer) if o.json else table(answer))


def _add_writer(models: Any) -> None:
    """Add the model to `evaluate`'s."""
    p = models.add_parser(
        "writer",
        help="SmolLM2 on a text",
        description="Bits a byte that SmolLM2 needs for a text in UTF-8, beside those by the frequencies of the text's own "
        "tokens. Needs `make writer`.",
    )
    p.add_argument("--data", required=True, type=Path, metavar="FILE", help="a text")
    add_rows(p, options.JSON)
    p.set_defaults(run=_run_writer)


def _run_writer(o: argparse.Namespace) -> None:
    from core.words.writer import writer
    from core.words.writer_scores import bits_per_byte

    scores = bits_per_byte(writer(), o.data.read_text(encoding="utf-8"), progress=counting_bar("window"))
    options.print_answer(o, {"model": "smollm2", "file": o.data.name, **scores})


# -- recordings -----------------------------------------------------------------------------------------------------------------


def scored(o: argparse.Namespace) -> dict[str, Any]:
    """Score every recording; returns what is printed.

    Raises:
        ValueError: where nothing can be scored.
    """
    if o.every < 1:
        raise BadValue("every {every}-th row is none: give 1 or more", every=o.every)
    days = find_recordings(o.data)
    if o.adaptive:
        days = _by_market(days)
    names = list(dict.fromkeys([o.checkpoint, *o.beside]))
    models = {name: load_predictor(name, folder=o.folder) for name in names}
    first = models[o.checkpoint]
    head: Head = first.heads[first.head_or_first(o.label, o.horizon)]
    sums, skipped = _score_all(days, models, head, o)
    if not sums:
        raise ValueError(next(iter(skipped.values())))
    rows = Table.joined({day.recording: day.table for day in sums})
    tables = reports.all_tables(rows)
    answer = _answer(o.checkpoint, rows, sums, skipped, tables)
    if o.out is not None:
        write(o.out, answer, rows, tables)
    return answer


def _by_market(days: Iterable[Recording]) -> list[Recording]:
    """One recording a market, of all its days, named by the first: a market is recalibrated from its own past alone."""
    markets: dict[str, list[Recording]] = {}
    for day in days:
        markets.setdefault(day.market, []).append(day)
    return [replace(own[0], files=tuple(file for day in own for file in day.files)) for own in markets.values()]


def _with_journal(day: Recording, scored: ScoredDay, folder: Path) -> ScoredDay:
    """The same, with what came of making its journal of predictions again, where it has one."""
    if not has_journal(day.paths):
        return scored
    try:
        journal = asdict(make_again(day.name, day.paths, known_predictors(folder, checkpoints.FOLDER, TRAINED)))
    except BookError as error:  # the rows were read: it is the calls
        journal = {"refused": str(error)}
    return replace(scored, about=scored.about | {"journal": journal})


def _score_all(
    days: list[Recording], models: Mapping[str, Predictor], head: Head, o: argparse.Namespace
) -> tuple[list[ScoredDay], dict[str, str]]:
    """The recordings that could be scored, and by name why the others could not."""
    use_one_thread()
    bar = counting_bar("window")
    by = Scoring(head=head, market=o.market, every=o.every, part=o.part, thresholds=o.thresholds if o.adaptive else None)
    scored: list[ScoredDay] = []
    skipped: dict[str, str] = {}
    for day in days:
        try:
            one = score_day(day, models, by, progress=bar)
            if o.out is not None:
                one = _with_journal(day, one, o.folder.resolve())
        except (ValueError, OSError) as error:
            if len(days) == 1:
                raise
            skipped[day.name] = str(error)
            continue
        if len(one.table) < ROWS_PER_REPORT:
            skipped[day.name] = str(compose("no stretch without a gap is long enough for a window and the horizon"))
        else:
            scored.append(one)
    return scored, skipped


def _answer(
    checkpoint: str, rows: Table, scored: list[ScoredDay], skipped: dict[str, str], tables: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """Answer that is printed as JSON (docs/evaluate_json.md)."""
    lines = {line.pop("forecaster"): _with_interval(line) for line in reports.plain(tables["forecasters"])}
    pooled = {line.pop("forecaster"): line for line in reports.plain(tables["pooled"])}
    mine = lines[checkpoint]
    return {
        "model": "tlob",
        "checkpoint": checkpoint,
        "label": rows.head[0],
        "horizon": rows.head[1],
        **mine,
        "independent_samples": reports.independent_samples(rows),
        "baselines": {name: lines[name] for name in NAIVE},
        "forecasters": lines,
        "pooled": pooled,
        "recordings": [_recording(day) for day in scored],
        "skipped": skipped,
        **{name: reports.plain(tables[name]) for name in ("groups", "pairs", "worst", "calibration", "losses")},
    }


def _recording(day: ScoredDay) -> dict[str, Any]:
    """One scored recording as JSON's object."""
    timestamps = day.table.column("timestamp")
    return {
        "recording": day.recording,
        "market": day.market,
        "part": day.part,
        "rows": len(timestamps),
        "alpha": day.alpha,
        "first_ms": int(timestamps[0]),
        "last_ms": int(timestamps[-1]),
        "stalled": day.stalled,
        **day.about,
    }


def _with_interval(line: dict[str, Any]) -> dict[str, Any]:
    """A line whose bounds stand in one entry, `interval`: measure -> [low, high]."""
    bounds = {name.removesuffix("_low") for name in line if name.endswith("_low")}
    interval = {name: [line[f"{name}_low"], line[f"{name}_high"]] for name in sorted(bounds) if line[f"{name}_low"] is not None}
    kept = {key: value for key, value in line.items() if not key.endswith(("_low", "_high"))}
    return kept | {"interval": interval}


def write(folder: Path, answer: dict[str, Any], rows: Table, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write `report.json`, each table as CSV and Parquet, and `rows.parquet`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_parquet(folder / f"{name}.parquet", index=False)
    reports.row_table(rows).to_parquet(folder / "rows.parquet", index=False)
    (folder / "report.json").write_text(json.dumps(answer, ensure_ascii=False) + "\n", encoding="utf-8")  # last: it is whole then


def table(answer: dict[str, Any]) -> str:
    """The scores as lines of text: the mean over recordings with its interval, all rows together, and what to know of them."""
    count = len(answer["recordings"])
    of = "the mean over them, with 95 % intervals" if count > 1 else "with 95 % intervals"
    lines = [
        f"{count} recording{'s' * (count > 1)}, {answer['samples']:,} rows, "
        f"{answer['label']} label, {answer['horizon']} steps; {of}"
    ]
    lines += score_lines(answer["forecasters"])
    if count > 1:
        lines += ["all rows together, which a rule that sees no book (frequencies) must be beaten on:"]
        lines += score_lines(answer["pooled"])
    for one in answer["recordings"]:
        if "weights" in one:
            lines.append("  recalibrated by   " + "   ".join(f"{name} {weight:.0%}" for name, weight in one["weights"].items()))
        if one["stalled"]:
            still = f"{one['stalled']:,} rows of a book that had not changed for {STALLED_MS // 1000} s"
            lines.append(f"  {one['recording']}: {still} are not scored")
    lines += [f"left out {name}: {why}" for name, why in answer["skipped"].items()]
    return "\n".join([*lines, *worse_than_nothing(answer)])


def score_lines(scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line of text for each forecaster: macro-F1, Matthews correlation, accuracy and log-loss, with intervals where known."""

    def number(one: Mapping[str, Any], name: str) -> str:
        bounds = one.get("interval", {}).get(name)
        return f"{one[name]:.4f}" + (f" ({bounds[0]:.4f} to {bounds[1]:.4f})" if bounds else "")

    names = {"macro_f1": "macro-F1", "matthews": "Matthews", "accuracy": "accuracy", "log_loss": "log-loss"}
    return [
        f"  {rule:<14} " + "   ".join(f"{name} {number(one, key)}" for key, name in names.items() if one.get(key) is not None)
        for rule, one in scores.items()
    ]


def worse_than_nothing(answer: Mapping[str, Any]) -> list[str]:
    """Sentences where the log-loss is above that of saying a third each: in the mean, and the recordings of several."""
    lines, count = [], len(answer["recordings"])
    if answer["log_loss"] is not None and answer["log_loss"] > A_THIRD_EACH:
        lines.append(f"  log-loss {answer['log_loss']:.4f} is above ln 3 = {A_THIRD_EACH:.4f}: worse than saying a third each")
    mine = [one for one in answer["groups"] if (one["by"], one["forecaster"]) == ("recording", answer["checkpoint"])]
    worse = [one["group"] for one in mine if one["log_loss"] is not None and one["log_loss"] > A_THIRD_EACH]
    if count > 1 and worse:
        lines.append(f"  worse than that on {len(worse)} of {count} recordings: {', '.join(worse)}")
    return lines
