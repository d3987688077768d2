"""Write the sentences of Words and the head of the lesson: `python -m lab.bundle.sentences`, after `make words`."""

import json
import math
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

from core.lecture import trained_head
from core.words import bundled
from core.words.sentences import sentence_reader

KEPT = ("weights", "vector", "vectors")
"""Arrays of a sentence that are bundled."""
CHANNELS: Final = 4
SMALL: Final = 1e-4
"""Weight of the numbers' squares beside the weights' cross-entropy: without it the numbers grow."""


def main() -> None:
    """Read each sentence and keep its maps and vectors in float16."""
    read = [sentence_reader().read(text) for text in bundled.TEXTS]
    arrays = {f"{i}.{name}": getattr(one, name).astype(np.float16) for i, one in enumerate(read) for name in KEPT}
    about = json.dumps([{"tokens": one.tokens, "spans": one.spans} for one in read], ensure_ascii=False)
    save_file(arrays, bundled.FILE, metadata={"sentences": about})
    trained_head.FILE.write_text(json.dumps(head_of_the_lesson(), ensure_ascii=False) + "\n", encoding="utf-8")


def head_of_the_lesson() -> dict[str, Any]:
    """The head of `core.lecture.trained_head`, as its file has it."""
    reader, layer, head = sentence_reader(), trained_head.LAYER - 1, trained_head.HEAD - 1
    read = reader.read(trained_head.SENTENCE)
    q, k, v = reader.head(trained_head.SENTENCE, layer, head)
    matrices = cut(q, k, v, CHANNELS)
    return {
        "tokens": read.tokens,
        "matrices": {name: (np.round(values, 2) + 0.0).tolist() for name, values in matrices.items()},
        "whole": np.round(read.weights[layer, head].astype(np.float64), 4).tolist(),
    }


def cut(q: NDArray[np.float64], k: NDArray[np.float64], v: NDArray[np.float64], channels: int) -> dict[str, NDArray[np.float64]]:
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


if __name__ == "__main__":
    main()
