"""The browser's modules under Node's own test runner, on frames that Python encodes. Node is the one that playwright brings."""

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import playwright

from core.market.bands import BandChange, Ladder
from core.market.session_view import View
from core.market.stream import BREAK, SCHEMA, SCORES, FrameKind, encode
from core.words.desk import TEMPERATURES, TOP_PS, next_words
from tests.core.market.helpers import random_book

NODE = Path(playwright.__file__).parent / "driver" / "node"
FOLDER = Path(__file__).parent
HEADS = 3


def frame(kind: FrameKind, rows: int, trades: int, outcomes: int, bands: list[int | None]) -> tuple[bytes, dict[str, Any]]:
    """A frame of random numbers, and the object that a reader should make of it."""
    rng = np.random.default_rng(rows)
    book = random_book(max(rows, 1), 0)
    times, levels = book.timestamps[:rows], book.levels[:rows]
    fields = [("timestamp", "i8"), ("recalibrated", "f8", (HEADS, 3)), *((one, "i1", HEADS) for one in ("answered", "came"))]
    predictions = np.zeros(rows // 2, dtype=fields)
    predictions["timestamp"] = times[: rows // 2]
    predictions["recalibrated"] = rng.random((rows // 2, HEADS, 3))
    for name in ("answered", "came"):
        predictions[name] = rng.integers(0, 3, (rows // 2, HEADS))
    taken, told, scores = rng.random((trades, 4)), rng.random((outcomes, 3)), rng.random((HEADS, len(SCORES)))
    breaks = rng.random((trades, 2))
    keys = [None if count is None else rng.integers(0, 2**20, count).astype(np.int32) for count in bands]
    changes = [
        None if key is None else BandChange(1.5, 2.5, i == 0, key, rng.random(len(key)).astype(np.float32))
        for i, key in enumerate(keys)
    ]
    content = View(
        step=7,
        warm=5,
        scores=scores,
        received_ms=1.5,
        heard_ms=1.25,
        provisional=2,
        tick=0.01,
        ladder=Ladder(1.0, 20.0),
        timestamps=times,
        levels=levels,
        bands=changes,
        predictions=predictions,
        trades=taken,
        outcomes=told,
        breaks=breaks,
    )
    made: list[dict[str, Any]] = []
    for i in range(rows):
        known = i < len(predictions)
        made.append(
            {
                "time": times[i],
                "levels": levels[i],
                "mid": (levels[i, 0] + levels[i, 2]) / 2,
                "predicted": known,
                "probabilities": predictions["recalibrated"][i].ravel() if known else [0] * 3 * HEADS,
                "calls": predictions["answered"][i] if known else [0] * HEADS,
                "truth": predictions["came"][i] if known else [-1] * HEADS,
            }
        )
    for row, change in zip(made[rows - len(bands) :], changes, strict=True):
        if change is not None:
            row["bands"] = dict(zip(("low", "high", "whole", "keys", "sizes"), change, strict=True))
    expected = {
        "kind": int(kind), "step": 7, "heads": HEADS, "rows": made, "bands": sum(len(key) for key in keys if key is not None),
        "trades": [dict(zip(("time", "price", "size", "side"), one, strict=True)) for one in taken],
        "outcomes": [dict(zip(("time", "head", "truth"), one, strict=True)) for one in told],
        "breaks": [dict(zip(BREAK, one, strict=True)) for one in breaks],
        "scores": [dict(zip(SCORES, one, strict=True)) for one in scores],
        "receivedMs": 1.5, "heardMs": 1.25, "warm": 5, "provisional": 2,
        "tick": 0.01, "fine": 1.0, "coarse": 20.0,
    }  # fmt: skip
    return encode(content, kind), expected


def next_words_drawn() -> dict[str, Any]:
    """What the writer's bars are sent of 50 words, and the shares with which each is drawn by temperature and top-p."""
    scores = np.log(np.random.default_rng(2).dirichlet(np.full(50, 0.3)) + 1e-9).astype(np.float32)
    named = SimpleNamespace(names=[str(i) for i in range(50)])
    found = next_words(named, scores)  # type: ignore[arg-type]
    drawn = []
    for at, place in ((0, 3), (1, 19), (10, 9), (10, 19), (20, 17)):
        shares = np.exp(scores.astype(np.float64) / (TEMPERATURES[at] or 1))
        order = np.argsort(-shares, kind="stable")
        totals = np.cumsum(shares[order]) / shares.sum()
        if at:
            shares[order[int(np.searchsorted(totals, TOP_PS[place] - 1e-12)) + 1 :]] = 0
        shares /= shares.sum() if at else 1
        drawn.append({"at": at, "place": place, "shares": shares[found.ids].tolist()})
    return {"next": asdict(found), "temperatures": TEMPERATURES, "drawn": drawn}


def test_the_browsers_modules(tmp_path: Path) -> None:
    frames = {
        "snapshot": frame(FrameKind.SNAPSHOT, 6, 3, 2, [8, None, 3]),
        "step": frame(FrameKind.STEP, 1, 0, 1, [0]),
        "empty": frame(FrameKind.STEP, 0, 1, 0, []),
    }
    for name, (data, expected) in frames.items():
        (tmp_path / f"{name}.bin").write_bytes(data)
        text = json.dumps(expected, default=lambda value: value.tolist())
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "next_words.json").write_text(json.dumps(next_words_drawn()), encoding="utf-8")
    command = [str(NODE), "--test", *map(str, sorted(FOLDER.glob("*.test.mjs")))]
    run = subprocess.run(command, env={**os.environ, "FRAMES": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-1000:]
    (count,) = [int(line.split()[-1]) for line in run.stdout.splitlines() if "tests " in line]
    assert count >= 12, run.stdout
