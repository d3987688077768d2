"""TLOB on order-book files: labels by D8, inputs by D9, splits by time with gaps by D10, from files to a checkpoint.

Call rules are fitted on validation; the test part is scored once, for the card.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints, scores
from core.device import in_bfloat16
from core.market import features
from core.market.answers.predictions import evaluate
from core.market.book import BookRows
from core.market.calibration import CallRule, Score, fit_rule
from core.market.grid import segments
from core.market.labels import HORIZONS, LABEL_KINDS, UNKNOWN, Head, LabelKind, classify, fit_alpha, moves_after
from core.market.predictor import POOLED, Predictor, windows_of
from core.market.store.index import market_of, recording_of
from core.market.store.rows import read_market
from core.market.store.segments import below_library
from core.market.windows import window_ends
from core.models.tlob import CLASSES, TLOB, TLOBConfig, upside_down
from core.training import recipe
from core.training.card import begun, save, trained
from core.training.loop import LoopSettings

TRAIN_END, VALIDATION_END = 0.7, 0.8
"""Shares of a market's rows: training to 70 %, validation to 80 %, test the last 20 %."""
RULE_STRIDE = 2
"""Call rules are fitted on every second validation window: neighbouring windows differ in one row of 128."""


@dataclass(kw_only=True)
class MarketData:
    """One market's rows, split by time, with labels whose thresholds come from its training part.

    Attributes:
        rows: the whole market on the 250 ms grid.
        heads: label and horizon of each column of `labels`.
        alphas: (heads,) label thresholds from the training part, fractions of the price.
        labels: (n, heads), UNKNOWN where undefined.
        ends: part ("train", "validation", "test") -> rows at which a whole window ends and every label is known.
    """

    name: str
    rows: BookRows
    heads: Sequence[Head]
    window: int
    constants: features.Constants
    alphas: list[float]
    labels: NDArray[np.int64]
    ends: dict[str, NDArray[np.int64]] = field(default_factory=dict)


def prepare_market(name: str, rows: BookRows, heads: Sequence[Head], window: int) -> MarketData:
    """Split and label one market.

    Between two parts lies a gap: windows of the later part start after the last label of the earlier part is known (D10).

    Raises:
        ValueError: where a part has no window, because the market is too short or has too many gaps.
    """
    n = len(rows)
    cuts = {
        "train": (0, int(n * TRAIN_END)),
        "validation": (int(n * TRAIN_END), int(n * VALIDATION_END)),
        "test": (int(n * VALIDATION_END), n),
    }
    train_rows = rows[slice(*cuts["train"])]
    alphas, columns = [], []
    for kind, horizon in heads:
        moves = moves_after(rows, (kind, horizon))
        alpha = fit_alpha([moves[: max(0, len(train_rows) - horizon)]])
        alphas.append(alpha)
        columns.append(classify(moves, alpha))
    labels = np.stack(columns, axis=1)
    whole = window_ends(rows.timestamps, window)
    whole = whole[(labels[whole] != UNKNOWN).all(axis=1)]
    longest = max(horizon for _, horizon in heads)
    ends = {}
    for part, (first, stop) in cuts.items():
        head_gap = 0 if part == "train" else window + longest
        tail_gap = 0 if part == "test" else longest
        ends[part] = whole[(whole >= first + head_gap) & (whole < stop - tail_gap)]
        if not len(ends[part]):
            raise ValueError(
                f"{name} has no window for {part} in its {n} rows: a part, of which validation is a tenth of the whole, needs "
                f"more than {window + 2 * longest} rows without a gap (a window of {window} and twice {longest} steps ahead)"
            )
    return MarketData(
        name=name,
        rows=rows,
        heads=heads,
        window=window,
        constants=features.fit_constants(train_rows.levels, window, segments(train_rows.timestamps)),
        alphas=alphas,
        labels=labels,
        ends=ends,
    )


def gather(market: MarketData, ends: NDArray[np.int64], kind: features.TransformKind) -> NDArray[np.float32]:
    """Model inputs (len(ends), window, columns) of the windows that end at the rows `ends`."""
    return features.transform(windows_of(market.rows.levels, ends, market.window), kind, market.constants)


@dataclass(frozen=True, kw_only=True)
class TLOBTraining:
    """Settings of one training run.

    Attributes:
        transform: input transform (D9). batch: windows per step. windows_per_epoch: drawn anew for each epoch.
        shares: market name -> share of the windows drawn from it; equal where not given.
        quiet: odds of drawing a window whose mid did not move in its last `quiet_steps` steps, relative to others. They depend
            on the past alone, so that the classes keep their frequencies given the past.
        class_weight_power: a class's weight in the loss is its frequency to the power of minus this.
        flip: probability that a batch is turned upside down.
        validation_stride: validation uses every so many-th window.
        start_share: the final weights are the mean of the best epoch's and, with this share, of those the run started from
            (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", for weights at both ends of one run).
    """

    transform: features.TransformKind = "flow"
    batch: int = 128
    windows_per_epoch: int = 65_536
    shares: dict[str, float] = field(default_factory=dict)
    quiet: float = 0.4
    quiet_steps: int = 32
    class_weight_power: float = 0.5
    flip: float = 0.5
    validation_stride: int = 5
    start_share: float = 0.0
    seed: int = 0


class TLOBTask:
    """Batches, loss and validation of TLOB for `core.training.loop.fit`."""

    def __init__(self, markets: Sequence[MarketData], settings: TLOBTraining) -> None:
        self.markets, self.settings = list(markets), settings
        self.heads = list(markets[0].heads)
        shares = np.array([settings.shares.get(market.name, 1.0) for market in markets])
        self.draws = np.round(shares / shares.sum() * settings.windows_per_epoch).astype(int)
        self.weights = [self._class_weights(market) for market in markets]
        self.odds = [self._draw_odds(market) for market in markets]

    @property
    def steps_per_epoch(self) -> int:
        return int(self.draws.sum()) // self.settings.batch

    def _class_weights(self, market: MarketData) -> NDArray[np.float32]:
        """(heads, 3) weights of the classes in the loss, of mean 1 over each head's training windows."""
        labels = market.labels[market.ends["train"]]
        rates = np.stack([(labels == k).mean(axis=0) for k in range(len(CLASSES))], axis=1)
        weights = np.maximum(rates, 1e-4) ** -self.settings.class_weight_power
        return (weights / (weights * rates).sum(axis=1, keepdims=True)).astype(np.float32)

    def _draw_odds(self, market: MarketData) -> NDArray[np.float64]:
        mid, ends = market.rows.mid, market.ends["train"]
        moved = np.concatenate([[0], np.cumsum(np.diff(mid) != 0)])
        lively = moved[ends] - moved[np.maximum(ends - self.settings.quiet_steps, 0)] > 0
        odds = np.where(lively, 1.0, self.settings.quiet)
        return odds / odds.sum()

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, ...]]:
        """Inputs, labels (batch, heads) and their weights."""
        s = self.settings
        rng = np.random.default_rng([s.seed, epoch])
        picks = [
            (np.full(count, index), rng.choice(market.ends["train"], count, p=odds, replace=count > len(odds)))
            for index, (market, odds, count) in enumerate(zip(self.markets, self.odds, self.draws, strict=True))
        ]
        which, ends = (np.concatenate(parts) for parts in zip(*picks, strict=True))
        order = rng.permutation(len(ends))
        for start in range(0, len(order) - s.batch + 1, s.batch):
            rows = order[start : start + s.batch]
            x, y, w = [], [], []
            for index in np.unique(which[rows]):
                market, here = self.markets[index], ends[rows[which[rows] == index]]
                labels = market.labels[here]
                x.append(gather(market, here, s.transform))
                y.append(labels)
                w.append(self.weights[index][np.arange(len(self.heads)), labels])
            inputs, labels, weights = (torch.from_numpy(np.concatenate(parts)) for parts in (x, y, w))
            if s.transform != "raw" and rng.random() < s.flip:
                inputs, labels = upside_down(inputs, features.directed_inputs(s.transform)), len(CLASSES) - 1 - labels
            yield inputs, labels, weights

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        x, y, w = batch
        # The explicit attention path: on a CPU in bfloat16 the fused kernel's backward pass takes three times as long.
        logits = model(x, return_attention=x.device.type == "cpu" and torch.is_autocast_enabled("cpu"))
        logits = (logits[0] if isinstance(logits, tuple) else logits).float().reshape(-1, len(CLASSES))
        return (F.cross_entropy(logits, y.reshape(-1), reduction="none") * w.reshape(-1)).mean()

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Macro-F1 (smoothed) and Matthews correlation (forward) with call rules fitted on the same rows, and their mean."""
        metrics: dict[str, float] = {}
        for market in self.markets:
            ends = market.ends["validation"][:: self.settings.validation_stride]
            logits = predict(model, market, ends, self.settings.transform, fast=True)
            by_kind: dict[LabelKind, list[float]] = {}
            for i, ((kind, _), rule) in enumerate(
                zip(self.heads, fit_rules(self.heads, market.labels[ends], logits), strict=True)
            ):
                confusion = scores.confusion_matrix(market.labels[ends, i], rule.call(rule.probabilities(logits[:, i])))
                by_kind.setdefault(kind, []).append(scores.summary(confusion)[score_name(kind)])
            metrics |= {f"{market.name}/{kind}": float(np.mean(by_kind[kind])) for kind in sorted(by_kind)}
        return {"score": float(np.mean(list(metrics.values()))), **metrics}


def score_name(kind: LabelKind) -> Score:
    """The score that decides for a label: macro-F1 for smoothed, Matthews correlation for forward (D8)."""
    return "macro_f1" if kind == "smoothed" else "matthews"


@torch.no_grad()
def predict(
    model: nn.Module,
    market: MarketData,
    ends: NDArray[np.int64],
    kind: features.TransformKind,
    *,
    batch: int = 64,
    fast: bool = False,
) -> NDArray[np.float32]:
    """Logits (len(ends), heads, 3). `fast` computes in bfloat16 where the device does so fast, to compare epochs."""
    device = next(model.parameters()).device
    parts = []
    for start in range(0, len(ends), batch):
        x = torch.from_numpy(gather(market, ends[start : start + batch], kind)).to(device)
        with in_bfloat16(device, wanted=fast):
            logits = model(x)
        parts.append(logits.float().reshape(len(x), -1, len(CLASSES)).cpu().numpy())
    return np.concatenate(parts)


def fit_rules(heads: Sequence[Head], labels: NDArray[np.int64], logits: NDArray[np.float32]) -> list[CallRule]:
    """One call rule for each head, from validation rows in time order: labels (n, heads) and logits (n, heads, 3)."""
    return [fit_rule(logits[:, i], labels[:, i], maximise=score_name(kind)) for i, (kind, _) in enumerate(heads)]


@dataclass(frozen=True, kw_only=True)
class MarketFiles:
    """The files of one market, in any order."""

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The part of the files' names before grid and date: "binance_spot_nexousdt"."""
        return market_of(recording_of(below_library(self.paths[0])) or self.paths[0].stem)

    @property
    def known_by(self) -> list[str]:
        """Venue and symbol: the first and the last word of the name."""
        words = self.name.split("_")
        return sorted({words[0], words[-1]}, key=words.index)


def train(
    run: recipe.TrainingRun,
    files: Sequence[MarketFiles],
    heads: Sequence[Head],
    config: TLOBConfig,
    training: TLOBTraining,
    loop: LoopSettings,
) -> Path:
    """Train and write the checkpoint and its card; returns the card's path.

    Raises:
        ValueError: for a mirrored model of raw inputs, which have no mirror image; for a share of no start or outside 0 to 1.
    """
    if config.mirrored and training.transform == "raw":
        raise ValueError("raw inputs have no mirror image: choose another transform, or a model that is not mirrored")
    if not 0 <= training.start_share <= 1 or (training.start_share and run.start is None):
        raise ValueError(f"{training.start_share:g} is no share of a start: give 0 to 1, and with it the run to start from")
    markets = [prepare_market(one.name, read_market(list(one.paths)), heads, config.steps) for one in files]
    torch.manual_seed(training.seed)
    model = TLOB(config)
    before = begun(run, model)
    first = {name: value.clone() for name, value in model.state_dict().items()}
    entries = trained(run, model, TLOBTask(markets, training), loop, training=training, config=config, before=before)
    average_weights(model, first, training.start_share)
    card: dict[str, Any] = {
        **entries,
        "classes": list(CLASSES),
        "heads": [list(head) for head in heads],
        "transform": training.transform,
        "markets": market_entries(model, files, markets, training.transform),
        "data": [row for one in files for row in checkpoints.describe_files(one.paths)],
        "split": f"by time within each market: training to {TRAIN_END:.0%}, validation to {VALIDATION_END:.0%}, test the rest, "
        "one window and the longest horizon between parts",
    }
    return save(run, model, card, lambda one: {"test": score_tests(Predictor(one), markets)})


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
    transform: features.TransformKind,
) -> dict[str, Any]:
    """The card's `markets`: constants, thresholds and call rules of each market, and pooled ones for any other market."""
    entries: dict[str, Any] = {}
    logits, truth = [], []
    for one, market in zip(files, markets, strict=True):
        ends = market.ends["validation"][::RULE_STRIDE]
        logits.append(predict(model, market, ends, transform))
        truth.append(market.labels[ends])
        rules = fit_rules(market.heads, truth[-1], logits[-1])
        entries[market.name] = _entry(market.constants, market.alphas, rules, one.known_by)
    constants = features.Constants(
        price_scale_bps=_geometric([market.constants.price_scale_bps for market in markets]),
        size_scale=_geometric([market.constants.size_scale for market in markets]),
        mean=tuple(np.mean([market.constants.mean for market in markets], axis=0).tolist()),
        std=tuple(np.mean([market.constants.std for market in markets], axis=0).tolist()),
        thresholds=tuple(_geometric(one) for one in zip(*(market.constants.thresholds for market in markets), strict=True)),
    )
    alphas = [_geometric([market.alphas[i] for market in markets]) for i in range(len(markets[0].heads))]
    entries[POOLED] = _entry(constants, alphas, fit_rules(markets[0].heads, _pooled(truth), _pooled(logits)), [])
    return entries


def score_tests(predictor: Predictor, markets: Sequence[MarketData]) -> dict[str, Any]:
    """Scores of every head on each market's test part, by the code of `python -m core evaluate tlob`."""
    scores = {}
    for market in markets:
        first = int(market.ends["test"][0])
        results = evaluate(predictor, market.rows, predictor.markets[market.name], first=first)
        scores[market.name] = [result.summary() for result in results]
    return scores


def _pooled(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """About as many rows from each market, first halves before second halves, which is the time order that `fit_rule` needs."""
    smallest = min(len(column) for column in columns)
    even = [column[:: max(1, len(column) // smallest)] for column in columns]
    return np.concatenate([column[: len(column) // 2] for column in even] + [column[len(column) // 2 :] for column in even])


def _entry(
    constants: features.Constants, alphas: Sequence[float], rules: Sequence[CallRule], known_by: list[str]
) -> dict[str, Any]:
    return {
        "known_by": known_by,
        "constants": asdict(constants),
        "alphas": list(alphas),
        "rules": [{key: round(value, 4) for key, value in asdict(rule).items()} for rule in rules],
    }


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of TLOB."""
    _add_data(p)
    p.add_argument("--transform", choices=features.TRANSFORM_KINDS, default="flow", help="input transform (D9)")
    p.add_argument("--qkv", choices=("double", "single"), default="single", help="the document's listing, or the lean layer (D4)")
    p.add_argument("--positions", choices=("learned", "sinusoidal"), default="learned", help="positional encoding")
    p.add_argument("--pooling", choices=("mean", "last", "learned"), default="last", help="over timesteps (D6)")
    recipe.add_rows(
        p,
        ("pairs", 4, "pairs of layers, 1 to 12"),
        ("dropout", 0.0, None),
        ("mirrored", False, "answer with the mean of the book's pass and its mirror image's"),
    )
    recipe.add_run(p, name="tlob", rate=2e-3, weight_decay=0.01, ema=0.998, warmup=200)
    recipe.add_rows(
        p,
        ("epochs", 24, None),
        ("windows", 80_000, "windows an epoch"),
        ("batch", 128, None),
        ("patience", 6, "epochs without a better validation score before stopping"),
        ("stride", 5, "validate on every so many-th window"),
        ("start-share", 0.0, "average the final weights with those of --start, which count this share"),
        ("start", Path, "begin with the best weights of a run, by its state or card (.json)"),
    )
    p.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True, help="forward pass in bfloat16")
    recipe.add_test(p)


def _add_data(p: argparse.ArgumentParser) -> None:
    data = "one market's Parquet or CSV files or a folder; repeat the option for each market"
    p.add_argument("--data", nargs="+", action="append", required=True, type=Path, metavar="FILE", help=data)
    share = "share of the windows from each market, in the order given; equal where left out"
    p.add_argument("--share", nargs="+", type=float, help=share)
    p.add_argument("--horizon", nargs="+", type=int, default=list(HORIZONS), help="steps ahead, one head each")
    p.add_argument("--label", nargs="+", choices=LABEL_KINDS, default=list(LABEL_KINDS), help="labels of D8, one head each")


def _run(o: argparse.Namespace, data: list[list[Path]]) -> Path:
    files = [MarketFiles(paths=tuple(path.absolute() for path in group)) for group in data]
    if o.share is not None and len(o.share) != len(files):
        raise ValueError(f"{len(o.share)} shares for {len(files)} markets: give one a market")
    shares = dict(zip([one.name for one in files], o.share, strict=True)) if o.share else {}
    heads: list[Head] = [(label, horizon) for label in o.label for horizon in o.horizon]
    columns = {"features": len(features.input_names(o.transform)), "directed": features.directed_inputs(o.transform)}
    config = recipe.from_options(TLOBConfig, o, **columns, outputs=len(heads))
    loop = recipe.loop_of(o, steps=o.windows // o.batch)
    training = recipe.from_options(TLOBTraining, o, windows_per_epoch=o.windows, validation_stride=o.stride, shares=shares)
    return train(recipe.run_of(o, loop), files, heads, config, training, loop)


RECIPES = {"tlob": recipe.TrainingRecipe(add_options=add_options, run=_run)}
