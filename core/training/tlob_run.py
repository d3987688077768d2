"""From order-book files to a shipped TLOB checkpoint: train, fit the calls on validation, test once, write the card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core import checkpoints
from core.device import best_device
from core.market.book import read_market
from core.market.calibration import CallRule, fit_rule
from core.market.evaluation import evaluate
from core.market.features import Constants
from core.market.predictor import POOLED, Predictor
from core.models.tlob import CLASSES, TLOB, TLOBConfig
from core.training.card import begin_with_card, command, command_file, remember_command, rounded_history
from core.training.loop import Callback, LoopSettings, best_of, fit
from core.training.tlob import (
    TRAIN_END,
    VALIDATION_END,
    Head,
    MarketData,
    TLOBTask,
    TLOBTraining,
    fit_rules,
    predict,
    prepare_market,
)

RULE_STRIDE = 2
"""Every second validation window fits the rules: neighbours differ in one row of 128."""


@dataclass(frozen=True, kw_only=True)
class MarketFiles:
    """One market's files, in any order."""

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """What the files are called before the grid and the date: "binance_spot_nexousdt"."""
        return self.paths[0].stem.split("_250ms")[0]

    @property
    def known_by(self) -> list[str]:
        """Venue and symbol: the first and the last word of the name."""
        words = self.name.split("_")
        return sorted({words[0], words[-1]}, key=words.index)


def run(
    name: str,
    files: Sequence[MarketFiles],
    heads: Sequence[Head],
    config: TLOBConfig,
    training: TLOBTraining,
    loop: LoopSettings,
    *,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    test: bool = True,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write `<name>.safetensors` and its card; returns the card's path.

    Args:
        state: where the run keeps what it needs to be resumed; see `core.training.loop.fit`.
        start: the state of an earlier run, whose best weights this one begins with; the card tells of both.
        test: whether to score the test part; variants that are only being compared leave it unread.

    Raises:
        ValueError: for a mirrored model of raw inputs, which have no mirror image.
    """
    if config.mirrored and training.transform == "raw":
        raise ValueError("raw inputs have no mirror image: choose another transform, or a model that is not mirrored")
    markets = [prepare_market(one.name, read_market(list(one.paths)), heads, config.steps) for one in files]
    torch.manual_seed(training.seed)
    model = TLOB(config)
    before = None if start is None else _begin_with(model, start)
    remember_command(state)
    progress = fit(model, TLOBTask(markets, training), loop, device=best_device(), callbacks=callbacks, resume_from=state)
    card: dict[str, Any] = {
        "model": "tlob",
        "config": config.to_dict(),
        "classes": list(CLASSES),
        "heads": [list(head) for head in heads],
        "transform": training.transform,
        "markets": market_entries(model, files, markets, training),
        "data": [row for one in files for row in checkpoints.describe_files(one.paths)],
        "split": f"by time within each market: training to {TRAIN_END:.0%}, validation to {VALIDATION_END:.0%}, test the rest, "
        "one window and the longest horizon between parts",
        "seed": training.seed,
        "command": command(),
        "started_from": before,
        "training": {**asdict(training), **asdict(loop), "best_epoch": progress.best_epoch},
        "versions": checkpoints.versions("torch", "numpy", "pandas", "pyarrow", "safetensors"),
        "history": rounded_history(progress),
        "metrics": {"validation": rounded_history(progress)[progress.best_epoch]},
    }
    path = checkpoints.save(name, model, card, folder=folder)
    if test:
        card["metrics"]["test"] = test_once(Predictor(checkpoints.load(name, folder=folder)), markets)
        checkpoints.save(name, model, card, folder=folder)
    return path


def market_entries(
    model: torch.nn.Module, files: Sequence[MarketFiles], markets: Sequence[MarketData], training: TLOBTraining
) -> dict[str, Any]:
    """The card's `markets`: constants, thresholds and call rules of each, and the pooled ones for a market never seen."""
    entries: dict[str, Any] = {}
    pooled_logits, pooled_truth = [], []
    smallest = min(len(market.ends["validation"][::RULE_STRIDE]) for market in markets)
    for one, market in zip(files, markets, strict=True):
        ends = market.ends["validation"][::RULE_STRIDE]
        logits = predict(model, market, ends, training.transform)
        entries[market.name] = _entry(market.constants, market.alphas, fit_rules(market, ends, logits), one.known_by)
        share = slice(None, None, max(1, len(ends) // smallest))  # each market counts the same in the pooled rule
        pooled_logits.append(logits[share])
        pooled_truth.append(market.labels[ends][share])
    logits, truth = np.concatenate(pooled_logits), np.concatenate(pooled_truth)
    rules = [
        fit_rule(logits[:, i], truth[:, i], maximise="macro_f1" if kind == "smoothed" else "matthews")
        for i, (kind, _) in enumerate(markets[0].heads)
    ]
    constants = Constants(
        price_scale_bps=_geometric([market.constants.price_scale_bps for market in markets]),
        size_scale=_geometric([market.constants.size_scale for market in markets]),
        mean=tuple(np.mean([market.constants.mean for market in markets], axis=0).tolist()),
        std=tuple(np.mean([market.constants.std for market in markets], axis=0).tolist()),
        thresholds=tuple(_geometric(one) for one in zip(*(market.constants.thresholds for market in markets), strict=True)),
    )
    alphas = [_geometric([market.alphas[i] for market in markets]) for i in range(len(markets[0].heads))]
    entries[POOLED] = _entry(constants, alphas, rules, [])
    return entries


def test_once(predictor: Predictor, markets: Sequence[MarketData]) -> dict[str, Any]:
    """Every head on each market's last part, through the same code as `python -m core evaluate tlob`."""
    found = {}
    for market in markets:
        first = int(market.ends["test"][0])
        results = evaluate(predictor, market.rows, predictor.markets[market.name], first=first)
        found[market.name] = [result.summary() for result in results]
    return found


def _entry(constants: Constants, alphas: Sequence[float], rules: Sequence[CallRule], known_by: list[str]) -> dict[str, Any]:
    return {
        "known_by": known_by,
        "constants": asdict(constants),
        "alphas": list(alphas),
        "rules": [{key: round(value, 4) for key, value in asdict(rule).items()} for rule in rules],
    }


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _begin_with(model: TLOB, start: Path) -> dict[str, Any]:
    """Load an earlier run's best weights, and say what that run was.

    Args:
        start: the state that the run kept, or the card of the checkpoint that it wrote.
    """
    if start.suffix == ".json":
        return begin_with_card(model, start)
    weights, progress = best_of(start)
    model.load_state_dict(weights)
    return {
        "command": command_file(start).read_text(),
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch,
        "history": rounded_history(progress),
    }
