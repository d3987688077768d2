"""Measures how a market's log-loss depends on how much of it TLOB was trained on, for the page Train on recordings.

    python -m scripts.data_amount --data FILE --minutes 5 15 60 --state FOLDER [--write]

Each amount ends at the same moment; all are scored on the same ten minutes after it, by labels whose thresholds come from the
longest one, from the shipped checkpoint and from nothing. What is measured is kept under --state, so that it can be resumed.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core import checkpoints
from core.device import use_one_thread
from core.market.book import STEP_MS, BookRows, read_market
from core.market.data_amount import FILE
from core.models.tlob import TLOB
from core.runs.market_training import BATCH, MarketPlan
from core.training.loop import LoopSettings, fit
from core.training.tlob import TEST_S, MarketData, TLOBTask, TLOBTraining, fit_rules, predict, prepare_market

VALIDATION = 0.15
"""Share of an amount that chooses the epoch and fits the rules; the rest trains."""


def parts_of(market: MarketData, minutes: float) -> MarketData:
    """The market with training and validation in the `minutes` before its test part alone."""
    longest = max(horizon for _, horizon in market.heads)
    test = market.ends["test"]
    test = test[market.rows.timestamps[test] <= market.rows.timestamps[test[0]] + TEST_S * 1e3]
    stop = int(test[0]) - market.window - longest
    first = stop - int(minutes * 60e3 / STEP_MS)
    cut = stop - int((stop - first) * VALIDATION)
    known = np.concatenate(list(market.ends.values()))
    train = np.sort(known[(known >= first + market.window) & (known < cut - longest)])
    validation = np.sort(known[(known >= cut) & (known < stop)])
    return replace(market, ends={"train": train, "validation": validation, "test": test})


def log_losses(model: TLOB, market: MarketData, kind: Any) -> float:
    """Mean over heads of the log-loss on the test part, with rules fitted on validation."""
    rules = fit_rules(
        market.heads, market.labels[market.ends["validation"]], predict(model, market, market.ends["validation"], kind)
    )
    logits = predict(model, market, market.ends["test"], kind)
    truth = market.labels[market.ends["test"]]
    rows = np.arange(len(truth))
    return float(np.mean([-np.log(rule.probabilities(logits[:, i])[rows, truth[:, i]]).mean() for i, rule in enumerate(rules)]))


def trained(plan: MarketPlan, market: MarketData, *, start: bool, windows: int) -> float:
    """Train, from the shipped checkpoint or from nothing, and score."""
    model = TLOB(plan.config())
    if start:
        checkpoints.restore(model, checkpoints.load(plan.start))
    draws = max(BATCH, min(windows, 2 * len(market.ends["train"])) // BATCH * BATCH)
    training = TLOBTraining(transform=plan.inputs, batch=BATCH, windows_per_epoch=draws, validation_stride=4)
    steps = plan.epochs * (draws // BATCH)
    loop = LoopSettings(
        epochs=plan.epochs, steps_per_epoch=draws // BATCH, peak_rate=3e-4 if start else 1e-3, warmup=max(1, steps // 10), ema=0.9
    )
    fit(model, TLOBTask([market], training), loop, device=next(model.parameters()).device)
    return log_losses(model.eval(), market, plan.inputs)


def main() -> None:
    """Measure, print, and write where asked."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", nargs="+", required=True, type=Path)
    p.add_argument("--minutes", nargs="+", type=float, default=[5, 15, 60])
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--windows", type=int, default=1_024, help="an epoch, at most")
    p.add_argument("--state", type=Path, default=None)
    p.add_argument("--write", action="store_true", help=f"write {FILE.name}, which the page draws")
    o = p.parse_args()
    use_one_thread()
    plan = MarketPlan(name="curve", files=(tuple(map(str, o.data)),), epochs=o.epochs)
    rows: BookRows = read_market(o.data)
    whole = prepare_market(o.data[0].stem.split("_250ms")[0], rows, plan.heads, plan.config().steps)
    kept: dict[str, Any] = json.loads(o.state.read_text()) if o.state is not None and o.state.exists() else {}
    for minutes in o.minutes:
        key = f"{minutes:g}"
        row = kept.setdefault(key, {"minutes": minutes})
        market = parts_of(whole, minutes)
        row["outcomes"] = len(market.ends["train"]) // max(h for _, h in plan.heads)
        counts = [np.bincount(column, minlength=3) + 1 for column in market.labels[market.ends["train"]].T]
        truth = market.labels[market.ends["test"]]
        row["frequencies"] = float(np.mean([-np.log((one / one.sum())[truth[:, i]]).mean() for i, one in enumerate(counts)]))
        if "start" not in row:
            model = TLOB(plan.config())
            checkpoints.restore(model, checkpoints.load(plan.start))
            row["start"] = log_losses(model, market, plan.inputs)
        for name, start in (("trained", True), ("nothing", False)):
            if name not in row:
                row[name] = trained(plan, market, start=start, windows=o.windows)
                if o.state is not None:
                    o.state.write_text(json.dumps(kept))
        print(row, file=sys.stderr)
    data = checkpoints.describe_files(o.data)
    words = ["python -m scripts.data_amount --data", *(path.name for path in o.data), "--minutes", *(f"{m:g}" for m in o.minutes)]
    curve = {
        "market": whole.name,
        "command": " ".join([*words, f"--epochs {o.epochs} --windows {o.windows}"]),
        "data": data,
        "start": plan.start,
        "versions": checkpoints.versions("torch", "numpy"),
        "rows": sorted(kept.values(), key=lambda row: row["minutes"]),
    }
    print(json.dumps(curve, indent=1))
    if o.write:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(json.dumps(curve, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
