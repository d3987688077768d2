"""One trained head, brought down to as many channels as the lesson on attention draws at random.

The whole head (MiniLM's, of the page Words) reads 384 numbers a word and has 32 channels. `cut` looks for four numbers a word
and small matrices that give the same attention weights as nearly as they can; `lab/bundle/sentences.py` writes them, rounded
as the page shows them, beside the weights of the whole head.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "explain" / "trained_head.json"
SENTENCE: Final = "the cat drank milk because it was thirsty"
POINTED: Final = "it"
LAYER: Final = 4
HEAD: Final = 2
"""From 1. In this head “it” looks at “cat”, “drank” at “milk” and “was” at “thirsty”, and these three at [CLS]."""
CHANNELS: Final = 4
SMALL: Final = 1e-4
"""Weight of the numbers' squares beside the weights' cross-entropy: without it the numbers grow."""


@dataclass(frozen=True, kw_only=True)
class TrainedHead:
    """The head on its sentence.

    Attributes:
        tokens: n pieces of words. matrices: X (n, channels), W_Q, W_K and W_V (channels, channels).
        whole: (n, n) attention weights of the head before the cut.
    """

    tokens: list[str]
    matrices: dict[str, Array]
    whole: Array

    def deviation(self, weights: Array) -> float:
        """Largest difference of these attention weights (n, n) from the whole head's."""
        return float(np.abs(weights - self.whole).max())


def cut(q: Array, k: Array, v: Array, channels: int) -> dict[str, Array]:
    """Few channels whose attention weights are near to a head's: least cross-entropy, sought from the largest singular values.

    Args:
        q, k, v: (n, d_k) queries, keys and values of n words.

    Returns:
        X (n, channels), W_Q, W_K, W_V (channels, channels). softmax(X W_Q (X W_K)^T / sqrt(channels)) are the weights, and X W_V
        the values' first principal channels as nearly as X has them.
    """
    scores = q @ k.T / np.sqrt(q.shape[1])
    left, sizes, right = np.linalg.svd(scores - scores.mean(axis=1, keepdims=True))  # a softmax does not see a row's mean
    scale = np.sqrt(sizes[:channels] * np.sqrt(channels))
    first = [left[:, :channels] * scale, right[:channels].T * scale]
    x = np.linalg.svd(np.concatenate(first, axis=1), full_matrices=False)[0][:, :channels] * np.sqrt(len(q))
    sought = [torch.tensor(one, requires_grad=True) for one in (x, *(np.linalg.pinv(x) @ one for one in first))]
    wanted = torch.tensor(scores).softmax(dim=1)
    search = torch.optim.LBFGS(sought, max_iter=2000, line_search_fn="strong_wolfe")

    def loss() -> float:
        search.zero_grad()
        tokens, queries, keys = sought
        logs = ((tokens @ queries) @ (tokens @ keys).T / math.sqrt(channels)).log_softmax(dim=1)
        value = SMALL * torch.stack([one.square().sum() for one in sought]).sum() - (wanted * logs).sum()
        value.backward()
        return value.item()

    search.step(loss)
    found, w_q, w_k = (one.detach().numpy() for one in sought)
    of_values, value_sizes, _axes = np.linalg.svd(v, full_matrices=False)
    w_v = np.linalg.pinv(found) @ (of_values * value_sizes)[:, :channels]
    return {"X": found, "W_Q": w_q, "W_K": w_k, "W_V": w_v}


@cache
def trained_head() -> TrainedHead:
    """The bundled head."""
    read = json.loads(FILE.read_text(encoding="utf-8"))
    matrices = {name: np.array(values) for name, values in read["matrices"].items()}
    return TrainedHead(tokens=read["tokens"], matrices=matrices, whole=np.array(read["whole"]))
