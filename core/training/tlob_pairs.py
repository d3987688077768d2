"""Small TLOBs that differ in their number of pairs alone, trained alike (the experiment of tlob-architecture 1.2 and 7.3).

Every run has the same data, windows, steps and rate; two runs of one number of pairs differ in their seed alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from core.device import best_device
from core.market.features import input_names
from core.market.labels import Head, momentum_calls
from core.models.parameters import count
from core.models.tlob import CLASSES, TLOB, TLOBConfig
from core.training.loop import Callback, LoopSettings, fit
from core.training.tlob import MarketData, TLOBTask, TLOBTraining, predict, score_head


@dataclass(frozen=True, kw_only=True)
class PairsSettings:
    """Settings that all runs have in common.

    Attributes:
        steps: T, the rows of a window. head: label and horizon.
        epochs: of `batches` batches of `batch` windows each; the weights of the best epoch by validation accuracy are scored.
        rate: AdamW's, at the peak of warm-up cosine. dropout: inside the MLPs.
    """

    steps: int = 24
    head: Head = ("smoothed", 10)
    epochs: int = 4
    batches: int = 100
    batch: int = 32
    rate: float = 2e-3
    dropout: float = 0.1

    def config(self, pairs: int) -> TLOBConfig:
        """The document's BTC network but for its shorter windows, with the lean layers of its parameter table (D4)."""
        return TLOBConfig(steps=self.steps, features=len(input_names("ladder")), pairs=pairs, qkv="single", dropout=self.dropout)


class PairsTask(TLOBTask):
    """TLOB's, but every window counts alike and the epoch with the highest accuracy wins, since accuracy is what is compared."""

    def validate(self, model: nn.Module) -> dict[str, float]:
        return {"score": _mean(accuracies(model, self.markets, "validation"), "accuracy")}


def accuracies(model: nn.Module, markets: Sequence[MarketData], part: str, *, every: int = 1) -> dict[str, dict[str, float]]:
    """Market -> accuracy, macro_f1 and matthews of the likeliest class at every so many-th window of a part."""
    return {
        market.name: score_head(market.labels[ends, 0], predict(model, market, ends, "ladder", batch=256)[:, 0].argmax(axis=-1))
        for market in markets
        for ends in [market.ends[part][::every]]
    }


def naive_rules(markets: Sequence[MarketData], head: Head) -> dict[str, dict[str, dict[str, float]]]:
    """Rule -> market -> scores on the test part: the momentum rule (D8), and the class that training saw most."""
    scores: dict[str, dict[str, dict[str, float]]] = {"momentum": {}, "commonest": {}}
    for market in markets:
        ends = market.ends["test"]
        truth = market.labels[ends, 0]
        calls = momentum_calls(market.rows, head[1], market.alphas[0])[ends]
        commonest = int(np.bincount(market.labels[market.ends["train"], 0], minlength=len(CLASSES)).argmax())
        scores["momentum"][market.name] = score_head(truth, calls)
        scores["commonest"][market.name] = score_head(truth, np.full_like(truth, commonest))
    return scores


def run_one(
    markets: Sequence[MarketData], settings: PairsSettings, *, pairs: int, seed: int, callbacks: Sequence[Callback] = ()
) -> dict[str, Any]:
    """Train one network; returns its row of the results."""
    training = TLOBTraining(
        batch=settings.batch, windows_per_epoch=settings.batch * settings.batches, quiet=1.0, class_weight_power=0.0, seed=seed
    )
    loop = LoopSettings(
        epochs=settings.epochs, steps_per_epoch=settings.batches, peak_rate=settings.rate, warmup=50, ema=0.98, seed=seed
    )
    torch.manual_seed(seed)
    model = TLOB(settings.config(pairs))
    began = time.perf_counter()
    progress = fit(model, PairsTask(markets, training), loop, device=best_device(), callbacks=callbacks)
    seconds = time.perf_counter() - began
    scored = {part: accuracies(model, markets, part, every=5 if part == "train" else 1) for part in ("train", "test")}
    return {
        "pairs": pairs,
        "seed": seed,
        "parameters": count(model),
        "optimiser_steps": progress.step,
        "best_epoch": progress.best_epoch,
        "seconds": round(seconds, 1),
        "train_accuracy": round(_mean(scored["train"], "accuracy"), 4),
        "validation_accuracy": round(progress.best_score, 4),
        "test_accuracy": round(_mean(scored["test"], "accuracy"), 4),
        "test_macro_f1": round(_mean(scored["test"], "macro_f1"), 4),
        "by_market": {name: {key: round(value, 4) for key, value in one.items()} for name, one in scored["test"].items()},
    }


def _mean(scores: dict[str, dict[str, float]], name: str) -> float:
    return float(np.mean([one[name] for one in scores.values()]))
