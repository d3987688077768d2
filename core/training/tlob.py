"""Data, batches, loss and validation for training TLOB: labels by D8, inputs by D9, splits by time with gaps by D10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import scores
from core.device import computes_bfloat16
from core.market.book import BookRows
from core.market.calibration import CallRule, Score, fit_rule
from core.market.features import Constants, TransformKind, directed_inputs, fit_constants, transform
from core.market.grid import segments
from core.market.labels import UNKNOWN, Head, LabelKind, classify, fit_alpha, moves_after
from core.models.tlob import CLASSES, upside_down

TRAIN_END, VALIDATION_END = 0.7, 0.8
"""Shares of a market's rows: training to 70 %, validation to 80 %, test the last 20 %."""


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
    constants: Constants
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
    stretches = segments(rows.timestamps)
    alphas, columns = [], []
    for kind, horizon in heads:
        moves = moves_after(rows, (kind, horizon))
        alpha = fit_alpha([moves[: max(0, len(train_rows) - horizon)]])
        alphas.append(alpha)
        columns.append(classify(moves, alpha))
    labels = np.stack(columns, axis=1)
    whole = np.zeros(n, dtype=bool)  # rows at which a window without a gap ends
    for stretch in stretches:
        whole[stretch.start + window - 1 : stretch.stop] = True
    known = whole & (labels != UNKNOWN).all(axis=1)
    longest = max(horizon for _, horizon in heads)
    ends = {}
    for part, (first, stop) in cuts.items():
        head_gap = 0 if part == "train" else window + longest
        tail_gap = 0 if part == "test" else longest
        inside = np.zeros(n, dtype=bool)
        inside[first + head_gap : max(0, stop - tail_gap)] = True
        ends[part] = np.flatnonzero(known & inside)
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
        constants=fit_constants(train_rows.levels, window, segments(train_rows.timestamps)),
        alphas=alphas,
        labels=labels,
        ends=ends,
    )


def gather(market: MarketData, ends: NDArray[np.int64], kind: TransformKind) -> NDArray[np.float32]:
    """Model inputs (len(ends), window, columns) of the windows that end at the rows `ends`."""
    offsets = np.arange(1 - market.window, 1)
    return transform(market.rows.levels[ends[:, None] + offsets], kind, market.constants)


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
    """

    transform: TransformKind = "ladder"
    batch: int = 128
    windows_per_epoch: int = 65_536
    shares: dict[str, float] = field(default_factory=dict)
    quiet: float = 0.4
    quiet_steps: int = 32
    class_weight_power: float = 0.5
    flip: float = 0.5
    validation_stride: int = 5
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
                inputs, labels = upside_down(inputs, directed_inputs(s.transform)), len(CLASSES) - 1 - labels
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
            rules = fit_rules(self.heads, market.labels[ends], logits)
            for kind in sorted({kind for kind, _ in self.heads}):
                found = [
                    score_head(market.labels[ends, i], rules[i].call(rules[i].probabilities(logits[:, i])))[score_name(kind)]
                    for i, head in enumerate(self.heads)
                    if head[0] == kind
                ]
                metrics[f"{market.name}/{kind}"] = float(np.mean(found))
        return {"score": float(np.mean(list(metrics.values()))), **metrics}


def score_name(kind: LabelKind) -> Score:
    """The score that decides for a label: macro-F1 for smoothed, Matthews correlation for forward (D8)."""
    return "macro_f1" if kind == "smoothed" else "matthews"


@torch.no_grad()
def predict(
    model: nn.Module, market: MarketData, ends: NDArray[np.int64], kind: TransformKind, *, batch: int = 64, fast: bool = False
) -> NDArray[np.float32]:
    """Logits (len(ends), heads, 3). `fast` computes in bfloat16 where the device does so fast, to compare epochs."""
    device = next(model.parameters()).device
    parts = []
    for start in range(0, len(ends), batch):
        x = torch.from_numpy(gather(market, ends[start : start + batch], kind)).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=fast and computes_bfloat16(device)):
            logits = model(x)
        parts.append(logits.float().reshape(len(x), -1, len(CLASSES)).cpu().numpy())
    return np.concatenate(parts)


def fit_rules(heads: Sequence[Head], labels: NDArray[np.int64], logits: NDArray[np.float32]) -> list[CallRule]:
    """One call rule for each head, from validation rows in time order: labels (n, heads) and logits (n, heads, 3)."""
    return [fit_rule(logits[:, i], labels[:, i], maximise=score_name(kind)) for i, (kind, _) in enumerate(heads)]


def score_head(truth: NDArray[np.int64], called: NDArray[np.int64]) -> dict[str, float]:
    """accuracy, macro_f1, matthews."""
    return scores.summary(scores.confusion_matrix(truth, called))
