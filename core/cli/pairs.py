"""`python -m core pairs`: TLOB's number of pairs, tried on order-book files."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import torch

from core import checkpoints
from core.cli import options
from core.device import best_device
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.training.card import PACKAGES, command
from core.training.loop import LoopSettings
from core.training.progress import progress_bar
from core.training.recipe import MADE, add_overwrite
from core.training.tlob import TRAIN_END, VALIDATION_END, MarketData, prepare_market
from core.training.tlob_pairs import PairsSettings, naive_rules, run_one

DEFAULT = PairsSettings()


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.description = (
        "Train TLOBs that differ in their number of pairs alone, score them on the test part beside naive rules, and "
        "write the results as JSON after every run."
    )
    p.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    p.add_argument("--data", nargs="+", type=Path, help="files, a market each; the bundled recordings where left out")
    p.add_argument("--pairs", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    p.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    p.add_argument("--steps", type=int, default=DEFAULT.steps, help="rows of a window")
    p.add_argument("--epochs", type=int, default=DEFAULT.epochs)
    p.add_argument("--batches", type=int, default=DEFAULT.batches, help="batches an epoch")
    p.add_argument("--batch", type=int, default=DEFAULT.batch, help="windows a batch")
    p.add_argument("--rate", type=float, default=DEFAULT.rate, help="AdamW's rate at the peak of warm-up cosine")
    p.add_argument("--out", type=Path, default=MADE / "tlob_pairs.json", help="file of the results")
    add_overwrite(p)
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    options.keep_shipped(o, o.out)
    torch.set_num_threads(1)
    settings = PairsSettings(steps=o.steps, epochs=o.epochs, batches=o.batches, batch=o.batch, rate=o.rate)
    paths = o.data or [one.path for one in recordings()]
    markets = [prepare_market(path.stem, read_market([path]), [settings.head], settings.steps) for path in paths]
    loop = LoopSettings(epochs=o.epochs, steps_per_epoch=o.batches)
    results: dict[str, Any] = {
        "command": command(),
        "date": datetime.now(UTC).date().isoformat(),
        "device": best_device().type,
        "versions": checkpoints.versions(*PACKAGES),
        "settings": asdict(settings) | {"pairs": o.pairs, "seeds": o.seeds},
        "split": f"by time in each recording: training to {TRAIN_END:.0%}, validation to {VALIDATION_END:.0%}, then test, with "
        "one window and the horizon between parts",
        "data": [_described(path, market) for path, market in zip(paths, markets, strict=True)],
        "baselines": naive_rules(markets, settings.head),
        "runs": [],
    }

    o.out.parent.mkdir(parents=True, exist_ok=True)
    for seed, pairs in product(o.seeds, o.pairs):
        bar = progress_bar(loop, title=f"{pairs} pairs, seed {seed}", lines=sys.stderr)
        results["runs"].append(run_one(markets, settings, pairs=pairs, seed=seed, callbacks=[bar]))
        o.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if o.json:
        print(json.dumps(results))
        return
    print(f"{'pairs':>5} {'seed':>4} {'parameters':>10} {'train':>7} {'test':>7} {'macro-F1':>8}")
    for row in results["runs"]:
        print(
            f"{row['pairs']:>5} {row['seed']:>4} {row['parameters']:>10,} {row['train_accuracy']:>7.1%} "
            f"{row['test_accuracy']:>7.1%} {row['test_macro_f1']:>8.3f}"
        )
    print(f"wrote {o.out}")


def _described(path: Path, market: MarketData) -> dict[str, Any]:
    """The file, its digest, its day and how many windows each part has."""
    day = datetime.fromtimestamp(int(market.rows.timestamps[0]) / 1000, UTC).date().isoformat()
    windows = {part: len(ends) for part, ends in market.ends.items()}
    return {"file": path.name, "sha256": checkpoints.sha256(path), "day": day, "windows": windows}
