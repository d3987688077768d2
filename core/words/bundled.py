"""Three sentences with their maps, for who has not run `make words`; `lab/bundle/sentences.py` of commit 8c6e8d09 wrote them."""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import safe_open

from core.words.sentences import ReadSentence

FILE: Final = Path(__file__).parents[2] / "assets" / "sentences.safetensors"
TEXTS: Final = (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "El animal no cruzó la calle porque estaba demasiado cansado.",
)
"""Two that differ in one word, which tells a person what “it” is, and one in a language that the model hardly learned."""
POINTED: Final = "it"
"""The word that is chosen at first, where a sentence has it."""


@cache
def sentences() -> dict[str, ReadSentence]:
    """The sentences by their text; weights and vectors have the precision of float16."""
    read = {}
    with safe_open(FILE, "np") as file:
        about = json.loads(file.metadata()["sentences"])
        for i, text in enumerate(TEXTS):
            tensors = {name: file.get_tensor(f"{i}.{name}").astype(np.float32) for name in ("weights", "vector", "vectors")}
            spans = [(int(a), int(b)) for a, b in about[i]["spans"]]
            read[text] = ReadSentence(text=text, tokens=about[i]["tokens"], spans=spans, **tensors)
    return read


def start(sentence: ReadSentence) -> int:
    """The token that is chosen at first: “it”, else the one in the middle."""
    return sentence.tokens.index(POINTED) if POINTED in sentence.tokens else len(sentence.tokens) // 2


def opening(sentence: ReadSentence, hidden: Collection[int] = ()) -> dict[str, Any]:
    """Arguments of the scene that it opens with: the token of `start`, or the nearest left, under layer 4's second head."""
    wanted = start(sentence)
    left = (at for at in range(len(sentence.tokens)) if at not in hidden)
    at = min(left, key=lambda one: abs(one - wanted), default=wanted)
    return {"start": at, "choice": f"3.1.{at}"}
