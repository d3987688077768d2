"""Predictions and scores of one recording, as files: `predictions/NAME.parquet` and `scores/NAME.json`.

What is there already for the same checkpoint and the same files is not made again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core.device import use_one_thread
from core.market.answers.predictions import predict_rows, score_head
from core.market.book import read_market
from core.market.labels import UNKNOWN
from core.market.predictor import Predictor, load_predictor
from core.market.scoring.recordings import RecordedDay, trained_on
from core.market.store.segments import write_bytes, write_table


@dataclass(frozen=True, kw_only=True)
class BackfillTask:
    """Task of one recording, without an open file or a network, so that another process can do it.

    Attributes:
        checkpoint, checkpoints: name and folder. out: where the files go. every: predict at every so many-th row.
    """

    day: RecordedDay
    checkpoint: str
    checkpoints: Path
    out: Path
    every: int = 1


def backfill(task: BackfillTask) -> dict[str, Any]:
    """Predict at every row of a recording, write the predictions and then their scores; returns the scores.

    Raises:
        BookError: where a file cannot be read. CheckpointError: where the checkpoint cannot be. OSError: where the disk refuses.
    """
    use_one_thread()
    predictor = _predictor(task.checkpoint, task.checkpoints)
    scores = task.out / "scores" / f"{task.day.name}.json"
    files = task.day.hashes()
    made_of = {"files": files, "weights": predictor.card["weights_sha256"], "every": task.every}
    if (known := _known(scores, made_of)) is not None:
        return known
    rows = read_market(task.day.paths)
    entry = predictor.market(task.day.name)
    found = predict_rows(predictor, rows, entry, every=task.every)
    predictions = task.out / "predictions" / f"{task.day.name}.parquet"
    for path in (predictions, scores):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_table(predictions, pa.Table.from_pandas(found.table(), preserve_index=False))
    heads = []
    for index, (label, horizon) in enumerate(predictor.heads):
        known_rows = int((found.truth[:, index] != UNKNOWN).sum())
        summary = score_head(found, entry, index).summary() if known_rows else {}
        heads.append({"label": label, "horizon": horizon, "scored": known_rows, **summary})
    answer = {
        "recording": task.day.name,
        "market": entry.name,
        "trained_on": trained_on(predictor.card, list(files.values())),
        "rows": len(rows),
        "predictions": len(found),
        "heads": heads,
        **made_of,
    }
    answer = json.loads(json.dumps(answer, default=_plain))
    write_bytes(scores, (json.dumps(answer, indent=1, ensure_ascii=False) + "\n").encode())  # last: then both are whole
    return answer


@lru_cache(maxsize=2)
def _predictor(name: str, folder: Path) -> Predictor:
    return load_predictor(name, folder=folder)


def _known(scores: Path, made_of: dict[str, Any]) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = json.loads(scores.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return values if all(values.get(key) == value for key, value in made_of.items()) else None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
