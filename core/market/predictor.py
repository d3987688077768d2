"""A trained TLOB with its card: windows of the book in, probabilities and calls out.

Live feeds, recordings and evaluation all use it, so that the card's scores are those of the model that the page shows.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import checkpoints
from core.device import Placement, falls_back
from core.market.book import FloatArray
from core.market.calibration import CallRule, answers_of
from core.market.features import TRANSFORM_KINDS, Constants, TransformKind, input_names, transform
from core.market.labels import LABEL_KINDS, Head, LabelKind
from core.messages import BadValue
from core.models.tlob import CLASSES, TLOB, TLOBConfig

DEFAULT = "tlob"
POOLED = "pooled"
"""The card's entry for a market it was not trained on: geometric means over the markets that it was trained on."""
PREDICTS = ("model", "config", "heads", "transform", "markets")
"""Entries of a card by which a prediction is made; the others describe the training."""


def identity(card: dict[str, Any]) -> tuple[str, str]:
    """SHA-256, hexadecimal, of a checkpoint's weights, and of the entries of its card by which it predicts and calls.

    The second is of those entries as JSON with sorted keys and without spaces, numbers as Python writes them.
    """
    text = json.dumps({name: card.get(name) for name in PREDICTS}, sort_keys=True, separators=(",", ":"))
    return str(card["weights_sha256"]), hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class MarketCard:
    """A card's entry for one market.

    Attributes:
        known_by: words that a file's name or a feed's key must all contain to be of this market ("binance", "nexousdt").
        alphas: (heads,) label thresholds, fractions of the price. rules: call rules, one per head.
    """

    name: str
    known_by: tuple[str, ...]
    constants: Constants
    alphas: tuple[float, ...]
    rules: tuple[CallRule, ...]

    @classmethod
    def from_dict(cls, name: str, values: dict[str, Any]) -> MarketCard:
        """From a card's JSON.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: where it is not such an entry.
        """
        entry = cls(
            name=name,
            known_by=tuple(str(word) for word in values.get("known_by", ())),
            constants=Constants.from_dict(values["constants"]),
            alphas=tuple(float(alpha) for alpha in values["alphas"]),
            rules=tuple(CallRule.from_dict(rule) for rule in values["rules"]),
        )
        if not all(np.isfinite(alpha) and alpha >= 0 for alpha in entry.alphas):
            raise BadValue("market {market!r} has an alpha that is not a number from 0 on", market=name)
        return entry


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A predictor's answers for n windows.

    Attributes:
        probabilities: (n, heads, 3) in the order DOWN, STATIONARY, UP.
        calls: (n, heads) class called.
        features_ms, model_ms: time that the whole batch took, milliseconds.
    """

    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]
    features_ms: float = 0.0
    model_ms: float = 0.0


class Predictor:
    """One checkpoint in memory. Safe to call from several threads: nothing in it changes after loading.

    Attributes:
        window: rows that one prediction reads.

    Raises:
        CheckpointError: where the card does not describe a TLOB, or the weights do not fit it.
    """

    def __init__(self, checkpoint: checkpoints.Checkpoint) -> None:
        self.card = checkpoint.card
        self.config: TLOBConfig = checkpoints.read_config(checkpoint.card, TLOB)
        self.window = self.config.steps
        with checkpoints.entries(checkpoint.card, "TLOB") as card:
            self.heads: tuple[Head, ...] = tuple((kind, int(horizon)) for kind, horizon in card["heads"])
            self.transform: TransformKind = card["transform"]
            self.markets = {name: MarketCard.from_dict(name, entry) for name, entry in card["markets"].items()}
            self._check()
        self.placement = Placement(checkpoints.build_model(checkpoint, TLOB))

    def _check(self) -> None:
        if self.transform not in TRANSFORM_KINDS:
            raise BadValue("unknown transform {transform!r}", transform=self.transform)
        if self.config.features != len(input_names(self.transform)):
            raise BadValue(
                "its network reads {features} columns, and its transform makes {columns}",
                features=self.config.features,
                columns=len(input_names(self.transform)),
            )
        for kind, horizon in self.heads:
            if kind not in LABEL_KINDS or horizon < 1:
                raise BadValue("no head can be of the label {kind!r} at {horizon} steps", kind=kind, horizon=horizon)
        if len(self.heads) != self.config.outputs:
            raise BadValue("it names {heads} heads for {outputs} outputs", heads=len(self.heads), outputs=self.config.outputs)
        if POOLED not in self.markets:
            raise BadValue("no market {market!r}, which stands for those it has not seen", market=POOLED)
        for entry in self.markets.values():
            if not len(entry.alphas) == len(entry.rules) == len(self.heads):
                raise BadValue(
                    "market {market!r} has {alphas} alphas and {rules} rules for {heads} heads",
                    market=entry.name,
                    alphas=len(entry.alphas),
                    rules=len(entry.rules),
                    heads=len(self.heads),
                )

    @property
    def model(self) -> TLOB:
        """The network, where it computes now."""
        return self.placement.model

    @property
    def device(self) -> torch.device:
        """The device that it computes on now."""
        return self.placement.device

    def market(self, spelling: str) -> MarketCard:
        """The entry all of whose words a file's name or a feed's key ("live/binance/NEXO/USDT") contains, else the pooled one."""
        for entry in self.markets.values():
            if entry.known_by and all(names_it(spelling, word) for word in entry.known_by):
                return entry
        return self.markets[POOLED]

    def inputs(self, windows: FloatArray, market: MarketCard) -> Tensor:
        """Raw windows (n, window, 40) -> the model's inputs (n, window, columns of the transform), on its device."""
        return torch.from_numpy(transform(windows, self.transform, market.constants)).to(self.device)

    @torch.inference_mode()
    def logits(self, inputs: Tensor) -> NDArray[np.float32]:
        """(n, window, columns) from `inputs` -> (n, heads, 3)."""
        out: Tensor = self.model(inputs)
        return out.reshape(len(inputs), len(self.heads), len(CLASSES)).float().cpu().numpy()

    @falls_back
    def predict(self, windows: FloatArray, market: MarketCard, *, batch: int = 16) -> Predictions:
        """Raw windows (n, window, 40), oldest row first -> probabilities and calls, `batch` windows at a time."""
        parts, features_s, model_s = [], 0.0, 0.0
        for start in range(0, len(windows), batch):
            began = time.perf_counter()
            inputs = self.inputs(windows[start : start + batch], market)
            ready = time.perf_counter()
            parts.append(self.logits(inputs))
            features_s, model_s = features_s + ready - began, model_s + time.perf_counter() - ready
        probabilities, calls = answers_of(market.rules, np.concatenate(parts))
        return Predictions(
            probabilities=probabilities.astype(np.float32),
            calls=calls.astype(np.int8),
            features_ms=features_s * 1e3,
            model_ms=model_s * 1e3,
        )

    @torch.inference_mode()
    def attention(self, inputs: Tensor, market: MarketCard) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
        """One window's `inputs` (1, ...) -> probabilities (heads, 3), and attention weights (attention heads, n, n) by layer."""
        logits, maps = self.model(inputs, return_attention=True)
        logits = logits.reshape(len(self.heads), len(CLASSES)).float().cpu().numpy()
        probabilities = np.stack([rule.probabilities(logits[i]) for i, rule in enumerate(market.rules)])
        return probabilities.astype(np.float32), {name: weights[0].cpu().numpy() for name, weights in maps.items()}

    def head_or_first(self, kind: LabelKind | None, horizon: int | None) -> int:
        """Index of a head; where no label is given the forward one (D24), and where no horizon is, that label's first.

        Raises:
            ValueError: as of `head`.
        """
        if kind is None:
            kind = "forward" if any(one == "forward" for one, _ in self.heads) else self.heads[0][0]
        if horizon is None:
            horizon = next((steps for one, steps in self.heads if one == kind), self.heads[0][1])
        return self.head(kind, horizon)

    def head(self, kind: LabelKind, horizon: int) -> int:
        """Index of a head.

        Raises:
            ValueError: where this checkpoint has no such head; the message lists those it has.
        """
        try:
            return self.heads.index((kind, horizon))
        except ValueError:
            there = ", ".join(f"{k} {h}" for k, h in self.heads)
            raise BadValue(
                "this checkpoint has no head for the {kind} label at {horizon} steps: it has {there}",
                kind=kind,
                horizon=horizon,
                there=there,
            ) from None


def windows_of(levels: FloatArray, ends: Sequence[int] | NDArray[np.integer], window: int) -> FloatArray:
    """Rows (n, 40) -> (len(ends), window, 40), each ending at (and holding) one of the rows `ends`."""
    return levels[np.asarray(ends)[:, None] + np.arange(1 - window, 1)]


_PART = re.compile(r"[^\W_]+")


load_predictor = checkpoints.once_a_card(Predictor, DEFAULT)
"""A checkpoint by name. CheckpointError: where it is missing, damaged, or not a TLOB."""


def names_it(spelling: str, word: str) -> bool:
    """Tells if whole parts of the spelling make up the word, as "NEXO/USDT" does "nexousdt": "BTC/USDT" has no "btcusd"."""
    parts, wanted = _PART.findall(spelling.lower()), "".join(_PART.findall(word.lower()))
    return wanted in {"".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)}
