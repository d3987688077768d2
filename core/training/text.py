"""Training of the decoder-only model on the app's own prose, split by paragraph, with n-grams as baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.models.decoder_only import DecoderOnly, DecoderOnlyConfig
from core.training import own_prose
from core.training.card import origin_entries, training_entries
from core.training.loop import Batch, Callback, LoopSettings, fit
from core.training.ngrams import WittenBell

BEGIN, UNKNOWN = "\n", "�"
"""The sign before and after every paragraph, and the one for a character that training rarely saw."""
RAREST: Final = 10
"""Characters seen less often in training are unknown."""
ORDERS: Final = {1: "unigram", 2: "bigram", 3: "trigram", 4: "4-gram", 5: "5-gram", 6: "6-gram"}


@dataclass(frozen=True, kw_only=True)
class TextTraining:
    """Settings of a run.

    Attributes:
        batch: windows a step. steps_per_epoch: steps.
        at_start: share of the windows that begin where a paragraph does, as a reader's sentence will.
        seed: of the split and of the windows.
    """

    batch: int = 16
    steps_per_epoch: int = 100
    at_start: float = 0.5
    seed: int = 0


def vocabulary(texts: Iterable[str]) -> list[str]:
    """The sign of begin and end, the unknown, and every character seen at least `RAREST` times, in order."""
    counts = Counter("".join(texts))
    return [BEGIN, UNKNOWN, *sorted(one for one, count in counts.items() if count >= RAREST)]


def encode(text: str, symbols: Sequence[str]) -> list[int]:
    """BEGIN, the characters' numbers, BEGIN."""
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    return [0, *(numbers.get(one, numbers[UNKNOWN]) for one in text), 0]


class TextTask:
    """Batches, loss and validation for `core.training.loop.fit`."""

    def __init__(self, parts: dict[str, list[str]], symbols: Sequence[str], length: int, settings: TextTraining) -> None:
        self.settings, self.length = settings, length
        self.train = [torch.tensor(encode(text, symbols)[:-1]) for text in parts["train"]]
        self.validation = [encode(text, symbols) for text in parts["validation"]]

    def batches(self, epoch: int) -> Iterator[Batch]:
        """(batch, length) symbols and the (batch, length) that follow them, from the paragraphs in another order each epoch."""
        s = self.settings
        rng = np.random.default_rng([s.seed, 7, epoch])
        order = rng.permutation(len(self.train))
        stream = torch.cat([self.train[int(index)] for index in order])
        begins = np.concatenate([[0], np.cumsum([len(self.train[int(index)]) for index in order])[:-1]])
        last = len(stream) - self.length - 1
        if last < 1:
            raise ValueError(f"the training part has {len(stream)} characters: a window takes {self.length + 1}")
        begins = begins[begins <= last]
        for _ in range(s.steps_per_epoch):
            starts = np.where(rng.random(s.batch) < s.at_start, rng.choice(begins, s.batch), rng.integers(0, last + 1, s.batch))
            windows = torch.stack([stream[first : first + self.length + 1] for first in starts])
            yield windows[:, :-1], windows[:, 1:]

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        symbols, wanted = batch
        return F.cross_entropy(model(symbols).flatten(0, 1).float(), wanted.flatten())

    def validate(self, model: nn.Module) -> dict[str, float]:
        assert isinstance(model, DecoderOnly)
        bits = bits_per_character(model, self.validation)
        return {"score": -bits, "bits_per_character": bits}


@torch.no_grad()
def bits_per_character(model: DecoderOnly, sequences: Sequence[Sequence[int]], *, batch: int = 64) -> float:
    """Mean -log2 p of every symbol after the first of each sequence.

    A sequence longer than the model takes is read in windows that overlap by half, of which the second half counts.
    """
    length, device = model.config.length, next(model.parameters()).device
    windows: list[tuple[Sequence[int], int]] = []  # the symbols, and the first target that counts
    for sequence in sequences:
        windows.append((sequence[: length + 1], 0))
        for first in range(length // 2, len(sequence) - length // 2 - 1, length // 2):
            windows.append((sequence[first : first + length + 1], length - length // 2))
    windows.sort(key=lambda one: len(one[0]))
    total, count = 0.0, 0
    for start in range(0, len(windows), batch):
        some = windows[start : start + batch]
        longest = max(len(symbols) for symbols, _ in some)
        padded = torch.zeros(len(some), longest, dtype=torch.long)
        counts = torch.zeros(len(some), longest - 1, dtype=torch.bool)
        for row, (symbols, first) in enumerate(some):
            padded[row, : len(symbols)] = torch.tensor(symbols)
            counts[row, first : len(symbols) - 1] = True
        padded, counts = padded.to(device), counts.to(device)
        losses = F.cross_entropy(model(padded[:, :-1]).transpose(1, 2).float(), padded[:, 1:], reduction="none")
        total += float(losses[counts].double().sum())
        count += int(counts.sum())
    return total / count / float(np.log(2))


def baselines(train: Sequence[Sequence[int]], test: Sequence[Sequence[int]], vocabulary: int) -> dict[str, float]:
    """Bits per character of n-grams on the same characters."""
    return {
        name: round(float(np.mean(np.concatenate([model.bits(sequence, first=1) for sequence in test]))), 4)
        for order, name in ORDERS.items()
        for model in [WittenBell(train, order=order, vocabulary=vocabulary)]
    }


def test_once(model: DecoderOnly, parts: dict[str, list[str]], symbols: Sequence[str]) -> dict[str, Any]:
    """Bits per character of the test part beside those of n-grams, and of the model as it was before training."""
    encoded = {part: [encode(text, symbols) for text in texts] for part, texts in parts.items()}
    bits = bits_per_character(model, encoded["test"])
    return {
        "paragraphs": len(parts["test"]),
        "characters": sum(len(one) - 1 for one in encoded["test"]),
        "bits_per_character": round(bits, 4),
        "perplexity": round(2**bits, 4),
        "baselines": baselines(encoded["train"], encoded["test"], len(symbols)),
    }


def run(
    name: str,
    shape: dict[str, Any],
    training: TextTraining,
    loop: LoopSettings,
    *,
    root: Path = own_prose.ROOT,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    test: bool = True,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write `<name>.safetensors` and its card; returns the card's path.

    Args:
        shape: entries of `DecoderOnlyConfig` but the vocabulary, which the training part decides.
        root: the project's folder, where the prose is.
        state: where the run keeps what it needs to be resumed; see `core.training.loop.fit`.
        test: whether to score the test part.
    """
    files = own_prose.files(root)
    texts = own_prose.paragraphs(files)
    parts = own_prose.split(texts, seed=training.seed)
    symbols = vocabulary(parts["train"])
    config = DecoderOnlyConfig(vocabulary=len(symbols), **shape)
    torch.manual_seed(training.seed)
    model = DecoderOnly(config)
    progress = fit(
        model,
        TextTask(parts, symbols, config.length, training),
        loop,
        device=best_device(),
        callbacks=callbacks,
        resume_from=state,
    )
    card: dict[str, Any] = {
        **origin_entries(config, seed=training.seed),
        **training_entries(training, loop, progress),
        "classes": symbols,
        "transform": "one symbol a character; BEGIN (a line break) before and after each paragraph",
        "data": own_prose.describe(files, root),
        "licence": "the project's own prose, MIT",
        "split": {
            "by": "paragraph, drawn by the seed; a paragraph that occurs twice counts once",
            "paragraphs": {part: len(some) for part, some in parts.items()},
            "characters": {part: sum(map(len, some)) for part, some in parts.items()},
        },
    }
    if test:
        card["metrics"]["test"] = test_once(model, parts, symbols)
    return checkpoints.save(name, model, card, folder=folder)
