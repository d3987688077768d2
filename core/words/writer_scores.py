"""Score of the network that writes on a text: bits a byte, beside the frequencies of the text's own tokens."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import torch

from core.messages import BadValue
from core.words.writer import Writer

WINDOW: Final = 512
"""Tokens that the model reads at once."""
STEP: Final = 256
"""Tokens of a window that are scored: those before them are what it reads first."""


@torch.inference_mode()
def bits_per_byte(writer: Writer, text: str, *, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Bits that the model needs for a byte of the text, and those by the frequencies of the text's own tokens.

    Each token is scored given at least the 256 before it where there are as many; the first one, before which there is nothing,
    as any token of the vocabulary. The frequencies are known in hindsight, as nobody who writes has them.

    Args:
        progress: is told how many windows are done, of how many.

    Raises:
        BadValue: for a text of fewer than two tokens.
    """
    ids = writer.tokenizer.encode(text).ids
    if len(ids) < 2:
        raise BadValue("the text has fewer than two pieces of words: there is nothing to predict")
    nats = math.log(len(writer.names))
    places = range(1, len(ids), STEP)
    for number, first in enumerate(places, start=1):
        last = min(first + STEP, len(ids))
        some, count = ids[max(0, last - WINDOW) : last], last - first
        inputs = writer.model.embedded(torch.tensor([some], device=writer.placement.device))
        vectors, _maps = writer.model.through(inputs)
        nats -= math.fsum(writer.token_scores(vectors[0, -count - 1 : -1], some[-count:]))
        progress(number, len(places))
    size = len(text.encode())
    counts = Counter(ids)
    unigram = -sum(count * math.log(count / len(ids)) for count in counts.values())
    return {
        "samples": len(ids),
        "bytes": size,
        "bits_per_byte": round(nats / math.log(2) / size, 6),
        "perplexity": round(math.exp(nats / len(ids)), 4),
        "baselines": {"unigram": {"bits_per_byte": round(unigram / math.log(2) / size, 6)}},
    }
