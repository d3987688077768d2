"""The bundled model of characters over a reader's own sentence: every head's weights, and what it expects next.

Beside the trained weights stand those that its training began with, drawn by the card's seed: the same network, untrained.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import checkpoints
from core.explain.queries_keys import queries_and_keys
from core.market.calibration import softmax
from core.messages import Refusal, compose
from core.models.decoder_only import DecoderOnly
from core.nn import AttentionMaps

NAME: Final = "text"
BEGIN: Final = "▷"
"""Sign that stands before a sentence."""
LONGEST: Final = 60
"""Characters of a sentence that a page takes, so that its maps stay readable."""
Kind = Literal["trained", "random"]
Array = NDArray[np.float64]


class TextError(Refusal, ValueError):
    """A sentence that the model cannot read; the message says why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TextReading:
    """A model's pass over a sentence of n characters, each of 1 + n symbols (the sign of the beginning first).

    Attributes:
        text: as it was read, single blanks. unknown: its characters that the model never learned.
        symbols: as shown. words: (first, last) symbol of each word, a blank belonging to the word after it; the first is BEGIN.
        maps: layer -> (heads, 1 + n, 1 + n). q, k: layer -> (heads, 1 + n, d_k).
        logits: (1 + n, V) of the symbol after each. vocabulary: the V symbols, as shown.
        numbers: (1 + n,) the symbols as the model has them.
    """

    text: str
    unknown: tuple[str, ...]
    symbols: tuple[str, ...]
    words: tuple[tuple[int, int], ...]
    maps: dict[str, Array]
    q: dict[str, Array]
    k: dict[str, Array]
    logits: Array
    vocabulary: tuple[str, ...]
    numbers: NDArray[np.int64]

    @property
    def word_names(self) -> list[str]:
        """Each word, without its blank."""
        return ["".join(self.symbols[first : last + 1]).strip() for first, last in self.words]

    @cached_property
    def probabilities(self) -> Array:
        """(1 + n, V), rows summing to 1."""
        return softmax(self.logits)

    @property
    def bits(self) -> Array:
        """(n,) -log2 of the probability that each character had before it was read."""
        return np.asarray(-np.log2(self.probabilities[np.arange(len(self.numbers) - 1), self.numbers[1:]]))

    def next_symbols(self, place: int) -> tuple[list[str], Array]:
        """The likeliest symbols after a place, and their probabilities."""
        row = self.probabilities[place]
        order = np.argsort(-row, kind="stable")[:8]
        return [self.vocabulary[int(index)] for index in order], row[order]

    def by_words(self, layer: str, head: int) -> Array:
        """(words, words): the weight that a word's characters give a word's characters together, their mean; rows sum to 1."""
        whole = self.maps[layer][head]
        columns = np.stack([whole[:, first : last + 1].sum(axis=1) for first, last in self.words], axis=1)
        return np.stack([columns[first : last + 1].mean(axis=0) for first, last in self.words])

    def deviation(self, layer: str) -> float:
        """Largest difference of the layer's weights from softmax(q k / sqrt(d_k)) over what lies before, in numpy."""
        q, k = self.q[layer], self.k[layer]
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        scores = np.where(np.tril(np.ones(scores.shape[1:], dtype=bool)), scores, -np.inf)
        return float(np.abs(softmax(scores) - self.maps[layer]).max())


class TextReader:
    """A checkpoint of the task, and the same network before its training.

    Raises:
        CheckpointError: where it is missing or damaged.
    """

    def __init__(self, name: str = NAME, *, folder: Path = checkpoints.FOLDER) -> None:
        checkpoint = checkpoints.load(name, folder=folder)
        self.card: dict[str, Any] = checkpoint.card
        trained = checkpoints.build_model(checkpoint, DecoderOnly)
        self.vocabulary = tuple(str(one) for one in self.card["classes"])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.card["seed"]))
            untrained = DecoderOnly(trained.config).eval()
        self.models: dict[Kind, DecoderOnly] = {"trained": trained, "random": untrained}
        self.layers = [f"layer {number}" for number in range(1, trained.config.layers + 1)]
        self.heads = trained.config.heads

    def read(self, text: str, kind: Kind = "trained") -> TextReading:
        """One pass.

        Raises:
            TextError: for an empty text or one that is too long.
        """
        plain = " ".join(text.split())
        if not plain:
            raise TextError(compose("the sentence is empty: write a few words"))
        if len(plain) > LONGEST:
            raise TextError("the sentence has {count} characters: write {most} at most", count=len(plain), most=LONGEST)
        places = {symbol: number for number, symbol in enumerate(self.vocabulary)}
        numbers = torch.tensor([[0, *(places.get(mark, 1) for mark in plain)]])
        model = self.models[kind]
        kept: dict[str, Any] = {}

        def run() -> AttentionMaps:
            kept["logits"], kept["maps"] = model(numbers, return_attention=True)
            maps: AttentionMaps = kept["maps"]
            return maps

        vectors = queries_and_keys(model, run)
        symbols = (BEGIN, *plain)
        ends = [match.end() for match in re.finditer(r" ?[^ ]+", plain)]
        firsts = [1, *(end + 1 for end in ends[:-1])]
        return TextReading(
            text=plain,
            unknown=tuple(sorted({mark for mark in plain if mark not in places})),
            symbols=symbols,
            words=((0, 0), *zip(firsts, ends, strict=True)),
            maps={name: _array(weights[0]) for name, weights in kept["maps"].items()},
            q={name: np.asarray(q[0], np.float64) for name, (q, _k) in vectors.items()},
            k={name: np.asarray(k[0], np.float64) for name, (_q, k) in vectors.items()},
            logits=_array(kept["logits"][0]),
            vocabulary=(BEGIN, *self.vocabulary[1:]),
            numbers=numbers[0].numpy(),
        )

    @torch.no_grad()
    def continued(self, text: str, kind: Kind = "trained", *, most: int = 30) -> str:
        """The likeliest character again and again, until the sign of the end or `most` characters."""
        places = {symbol: number for number, symbol in enumerate(self.vocabulary)}
        numbers = [0, *(places.get(mark, 1) for mark in " ".join(text.split()))]
        first, longest = len(numbers), self.models[kind].config.length
        while len(numbers) < first + most:
            likeliest = int(self.models[kind](torch.tensor([numbers[-longest:]]))[0, -1].argmax())
            if likeliest == 0:
                break
            numbers.append(likeliest)
        return "".join(self.vocabulary[number] for number in numbers[first:])


def _array(x: Tensor) -> Array:
    return x.detach().cpu().double().numpy()
