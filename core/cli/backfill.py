"""`python -m core backfill --data FOLDER --out FOLDER`: predictions and scores over every recording of a folder."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from core.cli import options
from core.device import use_one_thread
from core.files import write_bytes
from core.market.answers.predictions import predict_rows, score_head
from core.market.answers.recordings import RecordedDay, find_recordings, trained_on
from core.market.labels import UNKNOWN
from core.market.predictor import DEFAULT, load_predictor
from core.market.store.rows import read_market
from core.market.store.segments import write_table
from core.parallel import each
from core.training.progress import counting_bar
from core.training.recipe import place


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Writes predictions/NAME.parquet and scores/NAME.json for each recording; what is there already for the "
        "same checkpoint and files is not made again."
    )
    p.add_argument(
        "--data",
        nargs="+",
        required=True,
        type=place,
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
    if o.every < 1:
        raise ValueError(f"every {o.every}-th row is none: give 1 or more")
    days = find_recordings(options.here(o.data))
    work = partial(backfill, checkpoint=o.checkpoint, folder=o.folder.resolve(), out=o.out.resolve(), every=o.every)
    bar = counting_bar("recording")
    scored: dict[int, dict[str, Any]] = {}
    skipped: dict[str, str] = {}
    for done, (number, answer) in enumerate(each(work, days, ray=o.ray), 1):
        if isinstance(answer, Exception):
            skipped[days[number].name] = str(answer)
        else:
            scored[number] = answer
        bar(done, len(days))
    if not scored:
        raise ValueError(next(iter(skipped.values())))
    answer = {"checkpoint": o.checkpoint, "recordings": [scored[number] for number in sorted(scored)], "skipped": skipped}
    print(json.dumps(answer) if o.json else table(answer))


def backfill(day: RecordedDay, *, checkpoint: str, folder: Path, out: Path, every: int = 1) -> dict[str, Any]:
    """Predict at every row of a recording, write the predictions and then their scores; returns the scores.

    What is there already for the same checkpoint and the same files is not made again.

    Raises:
        BookError: where a file cannot be read. CheckpointError: where the checkpoint cannot be. OSError: where the disk refuses.
    """
    use_one_thread()
    predictor = load_predictor(checkpoint, folder=folder)
    scores = out / "scores" / f"{day.name}.json"
    files = day.hashes()
    made_of = {"files": files, "weights": predictor.card["weights_sha256"], "every": every}
    if (known := _known(scores, made_of)) is not None:
        return known
    rows = read_market(day.paths)
    entry = predictor.market(day.name)
    predicted = predict_rows(predictor, rows, entry, every=every)
    predictions = out / "predictions" / f"{day.name}.parquet"
    for path in (predictions, scores):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_table(predictions, pa.Table.from_pandas(predicted.table(), preserve_index=False))
    heads = []
    for index, (label, horizon) in enumerate(predictor.heads):
        known_rows = int((predicted.truth[:, index] != UNKNOWN).sum())
        summary = score_head(predicted, entry, index).summary() if known_rows else {}
        heads.append({"label": label, "horizon": horizon, "scored": known_rows, **summary})
    answer = {
        "recording": day.name,
        "market": entry.name,
        "trained_on": trained_on(predictor.card, list(files.values())),
        "rows": len(rows),
        "predictions": len(predicted),
        "heads": heads,
        **made_of,
    }
    write_bytes(scores, (json.dumps(answer, indent=1, ensure_ascii=False) + "\n").encode())  # last: then both are whole
    return answer


def _known(scores: Path, made_of: dict[str, Any]) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = json.loads(scores.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if all(values.get(key) == value for key, value in made_of.items()) else None


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
