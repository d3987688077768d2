"""Trains a TLOB or a DeepLOB on order-book files and writes its checkpoint: rules fitted on validation, scores on test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core import checkpoints
from core.device import best_device
from core.market.answers.predictions import evaluate, predict_scorable, summarise_value
from core.market.book import read_market
from core.market.calibration import CallRule
from core.market.features import Constants, TransformKind
from core.market.labels import Head
from core.market.predictor import POOLED, Predictor
from core.market.store.index import market_of, recording_of
from core.models.deeplob import DeepLOB, DeepLOBConfig
from core.models.tlob import CLASSES, TLOB, TLOBConfig
from core.training.card import load_start, origin_entries, save_origin, training_entries
from core.training.loop import Callback, LoopSettings, fit
from core.training.tlob import (
    TRAIN_END,
    VALIDATION_END,
    MarketData,
    TLOBTask,
    TLOBTraining,
    fit_rules,
    predict,
    prepare_market,
)

RULE_STRIDE = 2
"""Call rules are fitted on every second validation window: neighbouring windows differ in one row of 128."""

VALUE_ROWS = 14_400
"""Rows of the test part, consecutive, over which calls are valued: an hour."""


@dataclass(frozen=True, kw_only=True)
class MarketFiles:
    """The files of one market, in any order."""

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The part of the files' names before grid and date: "binance_spot_nexousdt"."""
        return market_of(recording_of("/".join(self.paths[0].parts[-4:])) or self.paths[0].stem)

    @property
    def known_by(self) -> list[str]:
        """Venue and symbol: the first and the last word of the name."""
        words = self.name.split("_")
        return sorted({words[0], words[-1]}, key=words.index)


def run(
    name: str,
    files: Sequence[MarketFiles],
    heads: Sequence[Head],
    config: TLOBConfig | DeepLOBConfig,
    training: TLOBTraining,
    loop: LoopSettings,
    *,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    start_share: float = 0.0,
    rule_stride: int = RULE_STRIDE,
    test: bool = True,
    test_every: int = 1,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write `<name>.safetensors` and its card; returns the card's path.

    Args:
        state: file from which the run can be resumed; see `core.training.loop.fit`.
        start: state or card of an earlier run, whose best weights this one starts from; the card describes both.
        start_share: the final weights are the mean of the best epoch's and, with this share, of those the run started from
            (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", for weights at both ends of one run).
        rule_stride: call rules are fitted on every so many-th validation window.
        test: whether to score the test part, which variants that are only compared with each other should not read.
        test_every: score every so many-th row of it; neighbouring rows differ in one row of 128.

    Raises:
        ValueError: for a mirrored model of raw inputs, which have no mirror image; for a share of no start or outside 0 to 1.
    """
    if isinstance(config, TLOBConfig) and config.mirrored and training.transform == "raw":
        raise ValueError("raw inputs have no mirror image: choose another transform, or a model that is not mirrored")
    if not 0 <= start_share <= 1 or (start_share and start is None):
        raise ValueError(f"{start_share:g} is no share of a start: give 0 to 1, and with it the run to start from")
    markets = [prepare_market(one.name, read_market(list(one.paths)), heads, config.steps) for one in files]
    torch.manual_seed(training.seed)
    model = TLOB(config) if isinstance(config, TLOBConfig) else DeepLOB(config)
    before = None if start is None else load_start(model, start)
    save_origin(state, before)
    first = {name: value.clone() for name, value in model.state_dict().items()}
    task = TLOBTask(markets, training)
    progress = fit(model, task, loop, device=best_device(), callbacks=callbacks, resume_from=state)
    average_weights(model, first, start_share)
    card: dict[str, Any] = {
        **origin_entries(
            config, seed=training.seed, started_from=before, packages=("torch", "numpy", "pandas", "pyarrow", "safetensors")
        ),
        **training_entries(training, loop, progress),
        "classes": list(CLASSES),
        "heads": [list(head) for head in heads],
        "transform": training.transform,
        "markets": market_entries(model, files, markets, training.transform, stride=rule_stride),
        "rule_stride": rule_stride,
        "data": [row for one in files for row in checkpoints.describe_files(one.paths)],
        "split": f"by time within each market: training to {TRAIN_END:.0%}, validation to {VALIDATION_END:.0%}, test the rest, "
        "one window and the longest horizon between parts",
    }
    path = checkpoints.save(name, model, card, folder=folder)
    if test:
        predictor = Predictor(checkpoints.load(name, folder=folder))
        card["metrics"]["test"] = score_tests(predictor, markets, every=test_every)
        card["metrics"]["test_every"] = test_every
        card["metrics"]["value"] = score_values(predictor, markets)
        checkpoints.save(name, model, card, folder=folder)
    return path


@torch.no_grad()
def average_weights(model: torch.nn.Module, first: dict[str, torch.Tensor], share: float) -> None:
    """Move every weight and running statistic of the model to the mean with `first`, whose part is `share`."""
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            value.lerp_(first[name].to(value), share)


def market_entries(
    model: torch.nn.Module,
    files: Sequence[MarketFiles],
    markets: Sequence[MarketData],
    transform: TransformKind,
    *,
    stride: int = RULE_STRIDE,
) -> dict[str, Any]:
    """The card's `markets`: constants, thresholds and call rules of each market, and pooled ones for any other market."""
    entries: dict[str, Any] = {}
    logits, truth = [], []
    for one, market in zip(files, markets, strict=True):
        ends = market.ends["validation"][::stride]
        logits.append(predict(model, market, ends, transform))
        truth.append(market.labels[ends])
        rules = fit_rules(market.heads, truth[-1], logits[-1])
        entries[market.name] = _entry(market.constants, market.alphas, rules, one.known_by)
    constants = Constants(
        price_scale_bps=_geometric([market.constants.price_scale_bps for market in markets]),
        size_scale=_geometric([market.constants.size_scale for market in markets]),
        mean=tuple(np.mean([market.constants.mean for market in markets], axis=0).tolist()),
        std=tuple(np.mean([market.constants.std for market in markets], axis=0).tolist()),
        thresholds=tuple(_geometric(one) for one in zip(*(market.constants.thresholds for market in markets), strict=True)),
    )
    alphas = [_geometric([market.alphas[i] for market in markets]) for i in range(len(markets[0].heads))]
    entries[POOLED] = _entry(constants, alphas, fit_rules(markets[0].heads, _pooled(truth), _pooled(logits)), [])
    return entries


def score_tests(predictor: Predictor, markets: Sequence[MarketData], *, every: int = 1) -> dict[str, Any]:
    """Scores of every head on each market's test part, by the code of `python -m core evaluate tlob`."""
    found = {}
    for market in markets:
        first = int(market.ends["test"][0])
        results = evaluate(predictor, market.rows, predictor.markets[market.name], first=first, every=every)
        found[market.name] = [result.summary() for result in results]
    return found


def score_values(predictor: Predictor, markets: Sequence[MarketData], *, rows: int = VALUE_ROWS) -> dict[str, Any]:
    """Value of calls (docs/value.md), of every head over the first `rows` rows of each market's test part.

    Returns:
        Market -> a list by head: label, horizon, rows, `value` by rule and `precision_by_confidence` of TLOB.
    """
    found = {}
    for market in markets:
        first = int(market.ends["test"][0])
        part = market.rows[first - predictor.window + 1 : first + rows]
        scored = predict_scorable(
            predictor, part, predictor.markets[market.name], first=0, heads=list(range(len(predictor.heads)))
        )
        found[market.name] = [
            {"label": kind, "horizon": horizon, "rows": len(scored.rows), **summarise_value(scored, index)}
            for index, (kind, horizon) in enumerate(predictor.heads)
        ]
    return found


def _pooled(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """About as many rows from each market, first halves before second halves, which is the time order that `fit_rule` needs."""
    smallest = min(len(column) for column in columns)
    even = [column[:: max(1, len(column) // smallest)] for column in columns]
    return np.concatenate([column[: len(column) // 2] for column in even] + [column[len(column) // 2 :] for column in even])


def rule_entry(rule: CallRule) -> dict[str, float]:
    """A call rule as a card keeps it."""
    return {key: round(value, 4) for key, value in asdict(rule).items()}


def _entry(constants: Constants, alphas: Sequence[float], rules: Sequence[CallRule], known_by: list[str]) -> dict[str, Any]:
    return {
        "known_by": known_by,
        "constants": asdict(constants),
        "alphas": list(alphas),
        "rules": [rule_entry(rule) for rule in rules],
    }


def _geometric(values: Sequence[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))
