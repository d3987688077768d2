"""`python -m core bench`: times on this machine, as ratios within one run, which vary less on a shared machine than times."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch.utils.benchmark import Timer

from core.cli import options
from core.market.book import FloatArray
from core.market.features import TRANSFORM_KINDS, fit_constants, transform
from core.market.feeds.market_process import MarketProcess, MarketSettings
from core.models.tlob import BTC, TLOB


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    p = commands.add_parser("bench", help="time the path from book to prediction on this machine")
    p.add_argument("--seconds", type=float, default=1.0, help="time spent on each row")
    p.add_argument("--threads", type=int, default=torch.get_num_threads())
    options.add_json(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    groups = {
        "TLOB, one window": _models(),
        "features, one window": _features(_book(1_000)),
        "TLOB, a window of many": _batches(),
    }
    found = []
    for group, work in groups.items():
        base = None
        for name, function in work.items():
            median = (
                Timer("f()", globals={"f": function}, num_threads=o.threads).blocked_autorange(min_run_time=o.seconds).median
                * 1e3
            )
            base = base or median
            found.append({"group": group, "name": name, "median_ms": round(median, 4), "ratio": round(median / base, 3)})
    if o.json:
        print(json.dumps({"threads": o.threads, "rows": found}))
        return
    for row in found:
        print(f"{row['group']:<24} {row['name']:<34} {row['median_ms']:>9.3f} ms   {row['ratio']:>6.2f}x")


def _models() -> dict[str, Callable[[], object]]:
    x = torch.randn(1, BTC.steps, BTC.features)
    lean, listed = TLOB(replace(BTC, qkv="single")).eval(), TLOB(BTC).eval()

    def forward(model: TLOB, **options: bool) -> Callable[[], object]:
        def run() -> object:
            with torch.inference_mode():
                return model(x, **options)

        return run

    return {
        "lean layer, fused attention": forward(lean),
        "lean layer, with attention maps": forward(lean, return_attention=True),
        "the document's listing, fused": forward(listed),
    }


def _batches() -> dict[str, Callable[[], object]]:
    model = TLOB(replace(BTC, qkv="single")).eval()

    def forward(count: int) -> Callable[[], object]:
        x = torch.randn(count, BTC.steps, BTC.features)

        def run() -> object:
            with torch.inference_mode():
                return model(x)

        return run

    return {f"batch of {count}": forward(count) for count in (1, 32)}


def _features(levels: FloatArray) -> dict[str, Callable[[], object]]:
    constants = fit_constants(levels, BTC.steps)
    window = levels[None, : BTC.steps]
    return {kind: lambda kind=kind: transform(window, kind, constants) for kind in TRANSFORM_KINDS}  # type: ignore[misc]


def _book(rows: int) -> FloatArray:
    process, settings = MarketProcess(seed=0), MarketSettings()
    return np.stack([process.step(settings).levels for _ in range(rows)])
