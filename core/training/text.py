"""The decoder-only model on the app's own prose, split by paragraph, with n-grams as baselines.

The prose, English and Spanish, is that of the pages, the documents and the catalogue of sentences. All of it is the project's and
under its licence (MIT). Code, tables and markup are left out.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.checkpoints import describe_files
from core.models.decoder_only import DecoderOnly, DecoderOnlyConfig
from core.training.card import trained
from core.training.loop import Batch, LoopSettings
from core.training.recipe import TrainingRecipe, TrainingRun, add_rows, add_run, add_test, loop_of, run_of, taken

BEGIN, UNKNOWN = "\n", "�"
"""The sign before and after every paragraph, and the one for a character that training rarely saw."""
RAREST: Final = 10
"""Characters seen less often in training are unknown."""
ORDERS: Final = {1: "unigram", 2: "bigram", 3: "trigram", 4: "4-gram", 5: "5-gram", 6: "6-gram"}
ROOT: Final = Path(__file__).resolve().parents[2]
CATALOGUE: Final = "assets/locale/es/LC_MESSAGES/messages.po"
PROSE: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "assets/text/en/*.md",
    "assets/text/es/*.md",
    CATALOGUE,
)
"""Paths of the prose, from the project's root."""
SHORTEST: Final = 20
"""A paragraph of fewer characters is a label, and is left out."""
PARTS: Final = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""Shares of the paragraphs."""

_CODE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^<>\n]*>")
_ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d+\])?) ((?:"(?:[^"\\]|\\.)*"\n?)+)', re.MULTILINE)
_PLACE = re.compile(r"\{[^{}]*\}")


def prose_files(root: Path = ROOT) -> list[Path]:
    """The files of `PROSE` that are there, in order.

    Raises:
        ValueError: for none.
    """
    paths = [path for pattern in PROSE for path in sorted(root.glob(pattern))]
    if not paths:
        raise ValueError("the app's prose is not here: train from a checkout, where README.md and docs/ lie beside core/")
    return paths


def paragraphs(paths: Sequence[Path]) -> list[str]:
    """Every paragraph once, in the order of the files: one line each, without markup."""
    distinct: dict[str, None] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for block in _sentences_of_catalogue(text) if path.suffix == ".po" else _blocks_of_markdown(text):
            plain = " ".join(block.split())
            if len(plain) >= SHORTEST:
                distinct[plain] = None
    return list(distinct)


def _blocks_of_markdown(text: str) -> Iterator[str]:
    """Paragraphs and points of lists; no code, no tables, no headings."""
    block: list[str] = []
    for line in [*_CODE.sub("\n", text).splitlines(), ""]:
        bare = line.strip()
        starts = bare.startswith(("- ", "* ")) or re.match(r"\d+\. ", bare)
        if not bare or starts or bare.startswith(("|", "#", "    ")) or line.startswith("    "):
            yield _without_markup(" ".join(block))
            block = [bare[2:].strip() if bare.startswith(("- ", "* ")) else bare] if starts else []
        else:
            block.append(bare)


def _without_markup(text: str) -> str:
    return re.sub(r"[*`]", "", _TAG.sub("", _LINK.sub(r"\1", text)))


def _sentences_of_catalogue(text: str) -> Iterator[str]:
    """Messages and their translations; a place that is filled in while the app runs becomes three dots."""
    for _, quoted in _ENTRY.findall(text):
        joined = "".join(ast.literal_eval(line) for line in quoted.splitlines())
        yield _without_markup(_PLACE.sub("…", joined))


def split(texts: Sequence[str], *, seed: int) -> dict[str, list[str]]:
    """The paragraphs by part ("train", "validation", "test"), drawn by the seed in the shares of `PARTS`."""
    order = np.random.default_rng([seed, 6]).permutation(len(texts))
    ends = np.round(np.cumsum(list(PARTS.values())) * len(texts)).astype(int)
    return {
        part: [texts[int(index)] for index in order[first:end]]
        for part, first, end in zip(PARTS, [0, *ends[:-1]], ends, strict=True)
    }


def describe(paths: Sequence[Path], root: Path = ROOT) -> list[dict[str, str]]:
    """Files, from the project's root, and their digests, for a card."""
    return [
        {"file": str(path.relative_to(root)), "sha256": one["sha256"]}
        for path, one in zip(paths, describe_files(paths), strict=True)
    ]


class WittenBell:
    """Character n-grams with interpolated Witten-Bell smoothing: the baselines of a model of text, in closed form.

    p_n(c | h) = (count(h c) + T(h) p_(n-1)(c | h')) / (count(h) + T(h)), with T(h) the different symbols seen after h, h' the
    history without its first symbol, and p_0 = 1 / V (Witten and Bell 1991; Chen and Goodman 1999, section 2.6).

    Args:
        sequences: of symbol numbers; histories do not reach across them. order: n; 1 is the unigram.
        vocabulary: V.

    >>> round(WittenBell([[0, 1, 1]], order=1, vocabulary=2).probability([], 1), 4)
    0.6
    """

    def __init__(self, sequences: Iterable[Sequence[int]], *, order: int, vocabulary: int) -> None:
        self.order, self.vocabulary = order, vocabulary
        self._counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for sequence in sequences:
            for place, symbol in enumerate(sequence):
                for length in range(min(order - 1, place) + 1):
                    self._counts[tuple(sequence[place - length : place])][symbol] += 1

    def probability(self, history: Sequence[int], symbol: int) -> float:
        """p(symbol | history), of whose symbols the last `order` - 1 count."""
        p = 1 / self.vocabulary
        longest = min(self.order - 1, len(history))
        for length in range(longest + 1):
            seen = self._counts.get(tuple(history[len(history) - length :]))
            if seen is None:
                break
            p = (seen[symbol] + len(seen) * p) / (seen.total() + len(seen))
        return p

    def bits(self, sequence: Sequence[int], *, first: int = 0) -> NDArray[np.float64]:
        """-log2 p of each symbol from place `first` on, given those before it."""
        return -np.log2(
            [self.probability(sequence[max(0, i - self.order + 1) : i], sequence[i]) for i in range(first, len(sequence))]
        )


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


def train(run: TrainingRun, shape: dict[str, Any], training: TextTraining, loop: LoopSettings, *, root: Path = ROOT) -> Path:
    """Train and write the checkpoint and its card; returns the card's path.

    Args:
        shape: entries of `DecoderOnlyConfig` but the vocabulary, which the training part decides.
        root: the project's folder, where the prose is.
    """
    files = prose_files(root)
    texts = paragraphs(files)
    parts = split(texts, seed=training.seed)
    symbols = vocabulary(parts["train"])
    config = DecoderOnlyConfig(vocabulary=len(symbols), **shape)
    torch.manual_seed(training.seed)
    model = DecoderOnly(config)
    task = TextTask(parts, symbols, config.length, training)
    card: dict[str, Any] = {
        **trained(run, model, task, loop, training=training, config=config),
        "classes": symbols,
        "transform": "one symbol a character; BEGIN (a line break) before and after each paragraph",
        "data": describe(files, root),
        "licence": "the project's own prose, MIT",
        "split": {
            "by": "paragraph, drawn by the seed; a paragraph that occurs twice counts once",
            "paragraphs": {part: len(some) for part, some in parts.items()},
            "characters": {part: sum(map(len, some)) for part, some in parts.items()},
        },
    }
    if run.test:
        card["metrics"]["test"] = test_once(model, parts, symbols)
    return checkpoints.save(run.name, model, card, folder=run.folder)


SHAPE: Final = (
    ("width", 96, None),
    ("heads", 4, None),
    ("layers", 3, None),
    ("hidden", 384, "middle width of the feed-forward networks"),
    ("length", 128, "longest sequence, in characters"),
    ("dropout", 0.1, None),
)


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_run(p, name="text", rate=3e-3, weight_decay=0.05, ema=0.99, warmup=100)
    add_rows(p, *SHAPE, ("epochs", 20, None), ("steps", 100, "steps an epoch"), ("batch", 16, None))
    add_test(p)


def _run(o: argparse.Namespace) -> Path:
    loop = loop_of(o, steps=o.steps)
    shape = {name: getattr(o, name) for name, _, _ in SHAPE}
    return train(run_of(o, loop, TrainingRun), shape, taken(TextTraining, o, steps_per_epoch=o.steps), loop)


RECIPES = {"text": TrainingRecipe(add_options=add_options, run=_run)}
