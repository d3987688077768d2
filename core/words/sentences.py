"""Reading of a sentence: pieces of words, attention of every head, a vector, and what made two sentences alike."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from attention_light import AttentionScene, LayerMaps, WordStage
from attention_light.stages import read_pieces
from core.device import Placement, falls_back, without_memory
from core.explain.attribution import Report, unreported
from core.explain.erasing import RANDOM_ORDERS
from core.messages import BadValue
from core.models.minilm import MiniLM, MiniLMConfig
from core.once import once
from core.words.model_files import TOKENIZER, WEIGHTS, WORD_FILES

MAX_PIECES: Final = 96
"""Pieces of words a sentence may have, [CLS] and [SEP] among them: more would not be legible, and cost grows by their square."""
MAX_CHARACTERS: Final = 600
UNKNOWN: Final = "[UNK]"
"""The tokenizer's name of what its vocabulary lacks."""


@dataclass(frozen=True, kw_only=True)
class ReadSentence:
    """A sentence and what MiniLM made of it.

    Attributes:
        text: as it was given.
        tokens: n pieces of words in WordPiece's spelling, "##" before those that continue a word; an unknown symbol as it was
            given.
        spans: of each piece in the text, characters; (0, 0) of [CLS] and [SEP].
        weights: (layers, heads, n, n), rows summing to 1.
        vector: (width,), the mean of all pieces' vectors, of length 1.
        vectors: (n, width), of the pieces, after the last layer.
    """

    text: str
    tokens: list[str]
    spans: list[tuple[int, int]]
    weights: NDArray[np.float32]
    vector: NDArray[np.float32]
    vectors: NDArray[np.float32]

    def to_frame(self) -> pd.DataFrame:
        """A row a weight: layer, head, the piece that looks, the piece it looks at, the weight; all counted from 0."""
        layer, head, looks, at = np.indices(self.weights.shape).reshape(4, -1)
        return pd.DataFrame({"layer": layer, "head": head, "from": looks, "to": at, "weight": self.weights.ravel()})

    def scene(self, *, start: int | None = None, choice: str = "", **more: Any) -> AttentionScene:
        """The sentence as a scene; see `AttentionScene` for the arguments."""
        layers = [LayerMaps(name=f"layer {i + 1}", weights=one, formula="nb-attention") for i, one in enumerate(self.weights)]
        words, joined = read_pieces(self.tokens)
        for i in range(1, len(words)):  # punctuation stands at its word; letters of Chinese, between which lines break, do not
            (_, end), (start, _) = self.spans[i - 1 : i + 1]
            joined[i] |= 0 < end == start and not (words[i - 1][-1].isalnum() and words[i][0].isalnum())
        return AttentionScene(stage=WordStage(words=words, joined=joined), layers=layers, start=start, choice=choice, **more)


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """A sentence's vector beside that of the sentence without some of its pieces.

    Attributes:
        cosine: of the two. cosine_at_random: the median where as many pieces are drawn at random.
        most: as many pieces, by their numbers from 0, each of which alone changes the vector most. cosine_without_most: theirs.
    """

    cosine: float
    most: tuple[int, ...]
    cosine_without_most: float
    cosine_at_random: float


class SentenceReader:
    """MiniLM and its tokenizer, ready to read.

    Raises:
        MissingModels: where `make words` has not been run.
    """

    def __init__(self, folder: Path = WORD_FILES.folder) -> None:
        from tokenizers import Tokenizer

        paths = WORD_FILES.checked(folder)
        self.tokenizer = Tokenizer.from_file(str(paths[TOKENIZER]))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.tokenizer.encode_special_tokens = True  # "[SEP]" that somebody types is text
        with without_memory():
            model = MiniLM(MiniLMConfig())
        weights = {name: tensor.float() for name, tensor in load_file(paths[WEIGHTS]).items()}
        model.load_state_dict(weights, assign=True)
        self.placement = Placement(model.eval())
        self._turn = threading.Lock()

    @property
    def model(self) -> MiniLM:
        """The network, where it computes now."""
        return self.placement.model

    def read(self, text: str) -> ReadSentence:
        """The sentence with its attention.

        Raises:
            BadValue: for an empty or too long sentence.
        """
        clean = " ".join(text.split())
        if not clean:
            raise BadValue("the text is empty: type some words")
        if len(clean) > MAX_CHARACTERS:
            raise BadValue("the text has {count} characters: at most {most} are read", count=len(clean), most=MAX_CHARACTERS)
        coded = self.tokenizer.encode(clean)
        if len(coded.ids) > MAX_PIECES:
            raise BadValue(
                "the sentence has {count} pieces of words: at most {most} are read", count=len(coded.ids), most=MAX_PIECES
            )
        vectors, weights = self._computed(coded.ids)
        return ReadSentence(
            text=clean,
            # a symbol that the vocabulary lacks stays the reader's own
            tokens=[clean[a:b] if token == UNKNOWN else token for token, (a, b) in zip(coded.tokens, coded.offsets, strict=True)],
            spans=[(int(a), int(b)) for a, b in coded.offsets],
            weights=weights,
            vector=_unit(vectors.mean(axis=0)),
            vectors=vectors,
        )

    @falls_back
    @torch.no_grad()
    def _computed(self, ids: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(n, width) vectors and (layers, heads, n, n) weights of n pieces; one visitor's after another's."""
        with self._turn:
            vectors, maps = self.model(torch.tensor([ids], device=self.placement.device), return_attention=True)
        return vectors[0].cpu().numpy(), np.stack([one[0].cpu().numpy() for one in maps.values()])

    def without(self, one: ReadSentence, hidden: Collection[int]) -> ReadSentence:
        """The sentence as it is read without some pieces, by their numbers from 0; nothing is left of these but their places."""
        ids = self.tokenizer.encode(one.text).ids
        left = [at for at in range(len(ids)) if at not in hidden]
        vectors, weights = self._computed([ids[at] for at in left])
        placed, all_weights = np.zeros_like(one.vectors), np.zeros_like(one.weights)
        placed[left] = vectors
        all_weights[:, :, np.array(left)[:, None], left] = weights
        return replace(one, weights=all_weights, vector=_unit(vectors.mean(axis=0)), vectors=placed)

    def cosine_without(self, one: ReadSentence, hidden: Collection[int]) -> float:
        """The cosine of a sentence's vector with that of its pieces but these, by their numbers from 0."""
        return likeness(one, self.without(one, hidden))

    def order_of_change(self, one: ReadSentence, *, report: Report = unreported) -> tuple[int, ...]:
        """Numbers of the pieces but [CLS] and [SEP], the one first that changes the vector most where it alone is left out."""
        cosines = {}
        for at in range(1, len(one.tokens) - 1):
            report(at / len(one.tokens))
            cosines[at] = self.cosine_without(one, {at})
        return tuple(sorted(cosines, key=cosines.__getitem__))

    def remainder(self, one: ReadSentence, hidden: Collection[int], order: Sequence[int]) -> Remainder:
        """The cosine of a sentence with what stays of it, beside other choices of as many pieces.

        Args:
            hidden: numbers from 0 of pieces, [CLS] and [SEP] not among them. order: of `order_of_change`.
        """
        inner = np.arange(1, len(one.tokens) - 1)
        generator = np.random.default_rng(0)
        draws = [generator.permutation(inner)[: len(hidden)].tolist() for _ in range(RANDOM_ORDERS)]
        most = tuple(order[: len(hidden)])
        return Remainder(
            cosine=self.cosine_without(one, hidden),
            most=most,
            cosine_without_most=self.cosine_without(one, most),
            cosine_at_random=float(np.median([self.cosine_without(one, draw) for draw in draws])),
        )


def likeness(one: ReadSentence, other: ReadSentence) -> float:
    """The cosine of two sentences' vectors, -1 to 1."""
    return float(one.vector @ other.vector)


@once
def sentence_reader() -> SentenceReader:
    """The reader of this process.

    Raises:
        MissingModels: where `make words` has not been run.
    """
    return SentenceReader()


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
