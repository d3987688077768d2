"""A trained TLOB with its card, ready to be asked: windows of the book in, probabilities and calls out.

Live, replay and evaluation all come through here, so that what the page shows is what the card's numbers were measured on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import checkpoints
from core.device import best_device
from core.market.book import FloatArray
from core.market.calibration import CallRule
from core.market.features import TRANSFORM_KINDS, Constants, TransformKind, transform
from core.market.labels import SMOOTHING, LabelKind, momentum
from core.models.tlob import CLASSES, TLOB, TLOBConfig

DEFAULT = "tlob"
POOLED = "pooled"
"""The card's entry for a market it has never seen: the geometric mean of the constants and thresholds of those it has."""

Head = tuple[LabelKind, int]


@dataclass(frozen=True, kw_only=True)
class MarketCard:
    """What the card knows of one market.

    Attributes:
        alphas: (heads,) label thresholds, fractions. rules: one a head.
        known_by: words that a file's name or a feed's key must all hold to be of this market ("binance", "nexousdt").
    """

    name: str
    known_by: tuple[str, ...]
    constants: Constants
    alphas: tuple[float, ...]
    rules: tuple[CallRule, ...]

    @classmethod
    def from_dict(cls, name: str, values: dict[str, Any]) -> MarketCard:
        """From a card's JSON."""
        return cls(
            name=name,
            known_by=tuple(values.get("known_by", ())),
            constants=Constants.from_dict(values["constants"]),
            alphas=tuple(float(alpha) for alpha in values["alphas"]),
            rules=tuple(CallRule.from_dict(rule) for rule in values["rules"]),
        )


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Answers for n windows.

    Attributes:
        probabilities: (n, heads, 3) in the order DOWN, STATIONARY, UP.
        calls: (n, heads) class called.
        momentum: (n, heads) what the naive rule calls on the same rows.
        features_ms, model_ms: what the whole batch took, milliseconds.
    """

    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]
    momentum: NDArray[np.int8]
    features_ms: float = 0.0
    model_ms: float = 0.0


class Predictor:
    """One checkpoint in memory. Safe to call from several threads: nothing in it changes after loading."""

    def __init__(self, checkpoint: checkpoints.Checkpoint) -> None:
        card = checkpoint.card
        if card["model"] != "tlob":
            raise checkpoints.CheckpointError(
                f"the checkpoint {card['name']!r} holds a {card['model']} model: a tlob one is needed here"
            )
        self.card = card
        try:
            self.config = TLOBConfig(**card["config"])
            self.heads: tuple[Head, ...] = tuple((kind, int(horizon)) for kind, horizon in card["heads"])
            self.transform: TransformKind = card["transform"]
            self.markets = {name: MarketCard.from_dict(name, entry) for name, entry in card["markets"].items()}
            self._check()
        except (KeyError, TypeError, ValueError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else error
            raise checkpoints.CheckpointError(f"the card {card['name']}.json does not describe a TLOB: {why}") from error
        self.device = best_device()
        self.model = TLOB(self.config)
        checkpoints.restore(self.model, checkpoint)
        self.model.to(self.device)

    def _check(self) -> None:
        if self.transform not in TRANSFORM_KINDS:
            raise ValueError(f"unknown transform {self.transform!r}")
        if len(self.heads) != self.config.outputs:
            raise ValueError(f"it names {len(self.heads)} heads for {self.config.outputs} outputs")
        if POOLED not in self.markets:
            raise ValueError(f"no market {POOLED!r}, which stands for those it has not seen")
        for entry in self.markets.values():
            if not len(entry.alphas) == len(entry.rules) == len(self.heads):
                found = f"{len(entry.alphas)} alphas and {len(entry.rules)} rules"
                raise ValueError(f"market {entry.name!r} has {found} for {len(self.heads)} heads")

    @property
    def window(self) -> int:
        """Rows a prediction looks at."""
        return self.config.steps

    def market(self, spelling: str) -> MarketCard:
        """The entry recognised in a file's name or a feed's key ("live/binance/NEXO/USDT"), else the pooled one."""
        plain = _plain(spelling)
        for entry in self.markets.values():
            if entry.known_by and all(_plain(word) in plain for word in entry.known_by):
                return entry
        return self.markets[POOLED]

    def inputs(self, windows: FloatArray, market: MarketCard) -> Tensor:
        """Raw windows (n, window, 40) -> what the model is fed, the same shape, on its device."""
        return torch.from_numpy(transform(windows, self.transform, market.constants)).to(self.device)

    @torch.inference_mode()
    def logits(self, inputs: Tensor) -> NDArray[np.float32]:
        """(n, window, 40) from `inputs` -> (n, heads, 3)."""
        out = self.model(inputs)
        return out.reshape(len(inputs), len(self.heads), len(CLASSES)).float().cpu().numpy()

    def predict(self, windows: FloatArray, market: MarketCard, *, batch: int = 16) -> Predictions:
        """Raw windows (n, window, 40), oldest row first -> answers."""
        parts, features_s, model_s = [], 0.0, 0.0
        for start in range(0, len(windows), batch):
            began = time.perf_counter()
            inputs = self.inputs(windows[start : start + batch], market)
            ready = time.perf_counter()
            parts.append(self.logits(inputs))
            features_s, model_s = features_s + ready - began, model_s + time.perf_counter() - ready
        logits = np.concatenate(parts)
        probabilities = np.stack([rule.probabilities(logits[:, i]) for i, rule in enumerate(market.rules)], axis=1)
        calls = np.stack([rule.call(probabilities[:, i]) for i, rule in enumerate(market.rules)], axis=1)
        return Predictions(
            probabilities=probabilities.astype(np.float32),
            calls=calls.astype(np.int8),
            momentum=self._momentum(windows, market),
            features_ms=features_s * 1e3,
            model_ms=model_s * 1e3,
        )

    def _momentum(self, windows: FloatArray, market: MarketCard) -> NDArray[np.int8]:
        recent = windows[:, -SMOOTHING:]  # the rule looks no further back
        mid = ((recent[..., 0] + recent[..., 2]) / 2).T
        calls = [momentum(mid, horizon, alpha)[-1] for (_, horizon), alpha in zip(self.heads, market.alphas, strict=True)]
        return np.stack(calls, axis=1).astype(np.int8)

    @torch.inference_mode()
    def attention(self, window: FloatArray, market: MarketCard) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
        """One raw window (window, 40) -> probabilities (heads, 3), and weights (heads, n, n) by layer name."""
        logits, maps = self.model(self.inputs(window[None], market), return_attention=True)
        logits = logits.reshape(len(self.heads), len(CLASSES)).float().cpu().numpy()
        probabilities = np.stack([rule.probabilities(logits[i]) for i, rule in enumerate(market.rules)])
        return probabilities.astype(np.float32), {name: weights[0].cpu().numpy() for name, weights in maps.items()}

    def head(self, kind: LabelKind, horizon: int) -> int:
        """Index of a head.

        Raises:
            ValueError: naming the heads there are.
        """
        try:
            return self.heads.index((kind, horizon))
        except ValueError:
            there = ", ".join(f"{k} {h}" for k, h in self.heads)
            raise ValueError(f"this checkpoint has no head for the {kind} label at {horizon} steps: it has {there}") from None


def windows_of(levels: FloatArray, ends: Sequence[int] | NDArray[np.integer], window: int) -> FloatArray:
    """Rows (n, 40) -> (len(ends), window, 40), each ending at (and holding) one of the rows `ends`."""
    return levels[np.asarray(ends)[:, None] + np.arange(1 - window, 1)]


_lock = threading.Lock()


@cache
def _load(name: str, folder: Path) -> Predictor:
    return Predictor(checkpoints.load(name, folder=folder))


def load_predictor(name: str = DEFAULT, *, folder: Path = checkpoints.FOLDER) -> Predictor:
    """A checkpoint by name, loaded once a process.

    Raises:
        CheckpointError: where it is missing, damaged, or no TLOB.
    """
    with _lock:
        return _load(name, folder)


def _plain(spelling: str) -> str:
    return "".join(character for character in spelling.lower() if character.isalnum())
