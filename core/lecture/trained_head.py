"""One trained head, brought down to as many channels as the lesson on attention draws at random.

The whole head (MiniLM's, of the page Words) reads 384 numbers a word and has 32 channels. `lab/bundle/sentences.py`
of commit 8c6e8d09 looked for four numbers a word and small matrices that give the same attention weights as nearly as they can,
and wrote them, rounded as the page shows them, beside the weights of the whole head.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "explain" / "trained_head.json"
SENTENCE: Final = "the cat drank milk because it was thirsty"
POINTED: Final = "it"
LAYER: Final = 4
HEAD: Final = 2
"""From 1. In this head “it” looks at “cat”, “drank” at “milk” and “was” at “thirsty”, and these three at [CLS]."""


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


@cache
def trained_head() -> TrainedHead:
    """The bundled head."""
    read = json.loads(FILE.read_text(encoding="utf-8"))
    matrices = {name: np.array(values) for name, values in read["matrices"].items()}
    return TrainedHead(tokens=read["tokens"], matrices=matrices, whole=np.array(read["whole"]))
