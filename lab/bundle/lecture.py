"""The numbers of the lecture's nine stops: `python -m lab.bundle.lecture`, after `make words`, `make writer` and `make sight`.

Writes assets/lecture.json, so that a stop is there at once and without any of the networks. Layers and heads count from 1 there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from core.device import use_one_thread
from core.lecture import trained_head
from core.lecture.stops import FILE, TEMPERATURES
from core.nn import causal_mask, scaled_dot_product_attention
from core.words.causes import fall_without_tokens
from core.words.desk import next_words
from core.words.sentences import SentenceReader, sentence_reader
from core.words.writer import Head, Writer, choose, writer
from lab.bundle import lecture_scenes

OPENING: Final = {
    "en": "Paris is in France, Madrid is in Spain, Rome is in",
    "es": "Caracas, Venezuela; Quito, Ecuador; Montevideo, Uruguay; Santiago,",
}
COPIED: Final = {
    "en": "The wizard Zorblax lives in a tower. One day, the wizard Zor",
    "es": "El mago Zorblax vive en una torre. Un día, el mago Zor",
}
STORY: Final = {"en": "Once upon a time there was a", "es": OPENING["es"]}
REORDERED: Final = {
    "en": (
        OPENING["en"],
        "Madrid is in Spain, Rome is in Italy, Paris is in",
        "Rome is in France, Madrid is in Spain, Paris is in",
    ),
    "es": (
        "Quito, Ecuador; Montevideo, Uruguay; Santiago,",
        "Santiago, Chile; Quito, Ecuador; Montevideo,",
        "Quito, Uruguay; Santiago, Ecuador; Montevideo,",
    ),
}
"""The network writes little Spanish: lists of capitals are what it goes on with rightly (docs/results.md)."""
WORDS: Final = {
    "en": ("cat", "unbelievable", "Zorblax", "attention", "Llanfairpwll"),
    "es": ("gato", "increíble", "Zorblax", "atención", "Llanfairpwll"),
}
NEAR: Final = {"en": ("cat", "Rome", "three", "blue", "quickly"), "es": ("Madrid", "Juan", "Argentina", "Carlos", "Chile")}
WRITTEN: Final = 6
"""Words that the first stop writes on."""
LONG: Final = 14
"""Words that the fourth stop writes at each temperature."""
SEEDS: Final = 5
COPYING: Final[tuple[Head, ...]] = ((18, 6), (17, 3), (17, 4), (23, 2), (23, 7), (18, 7))
"""Six heads that copy, from 0."""
OTHERS: Final[tuple[Head, ...]] = ((18, 5), (17, 2), (17, 1), (23, 1), (23, 6), (18, 4))
"""Six others of the same layers."""
ROLES: Final[dict[str, Head]] = {"before": (16, 0), "induction": (18, 6), "same": (14, 3), "first": (18, 8)}
"""The strongest head of each role."""
BITES: Final = "the dog bites the man"
ORDERS: Final = ((0, 1, 2, 3, 4), (3, 4, 2, 0, 1), (2, 0, 1, 3, 4), (4, 3, 2, 1, 0))
SYMBOLS, SURE, LENGTH, STEPS = 8, 0.75, 12, 400
"""The toy's chain: the next symbol is this one's successor with this probability, else any of all."""


def shares(one: Writer, scores: NDArray[np.float32], count: int = 12) -> list[tuple[str, float]]:
    """The likeliest tokens and their shares."""
    order = np.argsort(-scores, kind="stable")[:count]
    return [(one.names[i], round(float(np.exp(scores[i])), 5)) for i in order]


def writing(one: Writer, text: str) -> dict[str, Any]:
    """A text gone on with, a word at a time: what may come next, and by how much each token carries the one that comes."""
    ids = one.ids(text)
    begun, steps = len(ids), []
    for _ in range(WRITTEN):
        scores = one.begin(ids).scores
        token = int(scores.argmax())
        falls = fall_without_tokens(one, ids, token)
        steps.append({"next": shares(one, scores, 8), "falls": np.round(falls, 3).tolist()})
        ids = [*ids, token]
    return {"tokens": [one.names[i] for i in ids], "begun": begun, "steps": steps}


def pieces(one: Writer, words: Sequence[str]) -> list[list[tuple[str, int]]]:
    """Each word's pieces with their numbers."""
    return [[(one.names[i], i) for i in one.ids(word)] for word in words]


def neighbours(one: Writer, word: str) -> list[tuple[str, float]]:
    """The rows nearest to a word's own, by their cosine: other spellings of the word apart."""
    (of,) = one.ids(f" {word}")
    rows = F.normalize(one.model.embedded(torch.arange(len(one.names))[None])[0], dim=1)
    likeness = rows @ rows[of]
    found: list[tuple[str, float]] = []
    for i in likeness.argsort(descending=True).tolist():
        name = one.names[i]
        if name.strip().lower() not in (word.lower(), *(near.strip().lower() for near, _cosine in found)):
            found.append((name, round(likeness[i].item(), 4)))
        if len(found) == 8:
            return found
    return found


def read(one: Writer, text: str) -> dict[str, Any]:
    """A text's tokens and what may come next."""
    ids = one.ids(text)
    return {"tokens": [one.names[i] for i in ids], "next": shares(one, one.begin(ids).scores, 6)}


def head(reader: SentenceReader) -> dict[str, Any]:
    """Queries, keys and values of the head of the lessons, whole."""
    q, k, v = reader.head(trained_head.SENTENCE, trained_head.LAYER - 1, trained_head.HEAD - 1)
    tokens = reader.read(trained_head.SENTENCE).tokens
    return {"tokens": tokens, **{name: np.round(one, 3).tolist() for name, one in (("q", q), ("k", k), ("v", v))}}


def warmth(one: Writer, text: str) -> dict[str, Any]:
    """Words that may come next at every temperature, and texts written at each with some seeds."""
    scores = one.begin(one.ids(text)).scores
    likeliest = next_words(one, scores)
    totals = [float(np.log(np.exp(scores.astype(np.float64) / t).sum())) for t in TEMPERATURES]
    return {
        "text": text,
        "names": likeliest.names,
        "scores": np.round(likeliest.scores, 4).tolist(),
        "totals": np.round(totals, 5).tolist(),
        "written": [[on(one, text, t, seed) for seed in range(SEEDS)] for t in TEMPERATURES],
    }


def on(one: Writer, text: str, temperature: float, seed: int) -> str:
    """Words written after a text."""
    state = one.begin(one.ids(text))
    begun = len(state.ids)
    for _ in range(LONG):
        one.append(state, choose(state.scores, temperature=temperature, seed=seed, place=len(state.ids)))
    return one.text_of(state.ids[begun:])


def roles(one: Writer, text: str) -> dict[str, Any]:
    """Weights of the last token in the strongest head of each role, and the first token's share in every head."""
    state = one.begin(one.ids(text))
    weights = state.weights
    return {
        "tokens": [one.names[i] for i in state.ids],
        "next": shares(one, state.scores, 3),
        "rows": {role: np.round(weights[layer, head, -1], 4).tolist() for role, (layer, head) in ROLES.items()},
        "first": np.round(weights[:, :, 1:, 0].mean(axis=2), 4).tolist(),
        "map": np.round(weights[18, 6], 3).tolist(),
    }


@torch.no_grad()
def orders(reader: SentenceReader) -> list[dict[str, Any]]:
    """The words in other orders, with and without positions: one head's map."""
    model, ids = reader.model, reader.tokenizer.encode(BITES).ids
    segment, found = model.segment, []
    for order in ORDERS:
        moved = torch.tensor([[ids[0], *(ids[1 + i] for i in order), ids[-1]]])
        row: dict[str, Any] = {"order": list(order)}
        for name in ("without", "with"):
            x = model.norm(model.words(moved) + segment) if name == "without" else model.embedded(moved)
            for number, layer in enumerate(model.layers, start=1):
                x, weights = layer(x, return_attention=True)
                if number == trained_head.LAYER:
                    row[name] = np.round(weights[0, trained_head.HEAD - 1].numpy(), 4).tolist()
        found.append(row)
    return found


def toy(*, ahead: bool, seed: int = 0) -> dict[str, Any]:
    """A layer of attention that learns to name the next symbol, with or without a look ahead: its loss, nats a symbol."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    width = 32
    tables = [torch.randn(count, width).mul_(0.3).requires_grad_() for count in (SYMBOLS, LENGTH)]
    maps = [torch.randn(width, width).div_(width**0.5).requires_grad_() for _ in range(4)]
    last = torch.randn(width, SYMBOLS).div_(width**0.5).requires_grad_()
    search = torch.optim.Adam([*tables, *maps, last], lr=0.01)

    def loss(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        rows = tables[0][x[:, :-1]] + tables[1]
        q, k, v = (rows @ one for one in maps[:3])
        mixed, _weights = scaled_dot_product_attention(q, k, v, mask=mask)
        return F.cross_entropy(((rows + mixed @ maps[3]) @ last).flatten(0, 1), x[:, 1:].flatten())

    mask = None if ahead else causal_mask(LENGTH)
    losses = []
    for step in range(STEPS + 1):
        value = loss(chains(random, 64), mask)
        if step % 25 == 0:
            losses.append(round(value.item(), 4))
        search.zero_grad()
        value.backward()
        search.step()
    with torch.no_grad():
        unseen = chains(random, 2000)
        return {"losses": losses, "seen": float(loss(unseen, mask)), "alone": float(loss(unseen, causal_mask(LENGTH)))}


def chains(random: np.random.Generator, count: int) -> torch.Tensor:
    """(count, LENGTH + 1) symbols."""
    x = np.empty((count, LENGTH + 1), dtype=np.int64)
    x[:, 0] = random.integers(SYMBOLS, size=count)
    for i in range(LENGTH):
        follows = random.random(count) < SURE
        x[:, i + 1] = np.where(follows, (x[:, i] + 1) % SYMBOLS, random.integers(SYMBOLS, size=count))
    return torch.from_numpy(x)


def least_loss() -> float:
    """The loss, nats a symbol, below which nobody comes who does not look ahead."""
    first, other = SURE + (1 - SURE) / SYMBOLS, (1 - SURE) / SYMBOLS
    return -first * math.log(first) - (SYMBOLS - 1) * other * math.log(other)


def switched_off(one: Writer, text: str) -> dict[str, Any]:
    """The likeliest words as they are, without the heads that copy, and without six others."""
    ids = one.ids(text)
    whole = one.begin(ids).scores
    order = np.argsort(-whole, kind="stable")[:8]
    off = {name: one.begin(ids, off=heads).scores[order] for name, heads in (("copying", COPYING), ("others", OTHERS))}
    rows = {"plain": whole[order]} | off
    return {"tokens": [one.names[i] for i in ids], "names": [one.names[i] for i in order]} | {
        name: np.round(np.exp(row.astype(np.float64)), 6).tolist() for name, row in rows.items()
    }


def of_language(one: Writer, code: str) -> dict[str, Any]:
    """The writer's numbers in a language."""
    return {
        "writing": writing(one, OPENING[code]),
        "pieces": pieces(one, WORDS[code]),
        "softmax": warmth(one, STORY[code]),
        "heads": roles(one, COPIED[code]),
        "orders": [read(one, text) for text in REORDERED[code]],
        "neighbours": [{"word": word, "near": neighbours(one, word)} for word in NEAR[code]],
        "works": [switched_off(one, text) for text in (COPIED[code], OPENING[code])],
    }


def compute() -> dict[str, Any]:
    """Everything that the file holds."""
    use_one_thread()
    one, reader = writer(), sentence_reader()
    c = one.model.config
    sizes = {"vocabulary": c.vocabulary, "width": c.width, "rotary_base": c.base, "head_width": c.width // c.heads}
    return {
        "writer": sizes,
        **{code: of_language(one, code) for code in OPENING},
        "head": head(reader),
        "reader": np.round(reader.read(trained_head.SENTENCE).weights[trained_head.LAYER - 1, trained_head.HEAD - 1], 4).tolist(),
        "ordered": reader.read(BITES).tokens,
        "orders": orders(reader),
        "toy": {"steps": STEPS, "least": round(least_loss(), 4), "causal": toy(ahead=False), "ahead": toy(ahead=True)},
        "heads": {name: [[a + 1, b + 1] for a, b in heads] for name, heads in (("copying", COPYING), ("others", OTHERS))}
        | {"roles": {role: [a + 1, b + 1] for role, (a, b) in ROLES.items()}},
        **lecture_scenes.compute(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute(), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
