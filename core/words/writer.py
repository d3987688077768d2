"""Writing: what comes next in a text by SmolLM2, the attention of every head, and what that answer hangs on."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from attention_light import AttentionScene, LayerMaps, WordStage
from attention_light.stages import BYTES
from core.device import Placement, falls_back, without_memory
from core.messages import BadValue
from core.models.smollm2 import SmolLM2, SmolLM2Config
from core.nn import KeyValueCache
from core.words.writer_files import PIECES, WEIGHTS, WRITER_FILES

MAX_TOKENS: Final = 512
"""Tokens of a text, written ones included: its maps take 283 MB then."""
SHOWN: Final = 12
"""Next tokens that are named; the others are counted together."""
ENDS: Final = (0, 2)
"""Tokens with which the model ends a text."""

Head = tuple[int, int]
"""Layer and head, from 0."""


@dataclass(eq=False)
class Writing:
    """A text as far as it is written, and all that its next token is computed from.

    Attributes:
        ids: n tokens. off: heads whose output is zero.
        caches: keys and values, one a layer. vectors: (1, n, width) after the last layer.
        scores: (vocabulary,), log-probabilities of the next token.
        blocks: weights of the positions that were computed together, (layers, heads, positions, keys).
    """

    ids: list[int]
    off: frozenset[Head]
    caches: list[KeyValueCache]
    vectors: Tensor
    scores: NDArray[np.float32]
    blocks: list[NDArray[np.float32]] = field(default_factory=list)

    @property
    def weights(self) -> NDArray[np.float32]:
        """(layers, heads, n, n), rows summing to 1, 0 where a token would look ahead."""
        n = len(self.ids)
        whole = np.zeros((*self.blocks[0].shape[:2], n, n), dtype=np.float32)
        for block in self.blocks:
            rows, keys = block.shape[2:]
            whole[:, :, keys - rows : keys, :keys] = block
        return whole


def scene_of(tokens: Sequence[str], weights: NDArray[np.floating], **more: Any) -> AttentionScene:
    """A text's pieces and its maps (layers, heads, n, n) as a scene, in which the last piece is chosen at first."""
    layers = [LayerMaps(name=f"layer {i + 1}", weights=one) for i, one in enumerate(weights)]
    words = [one.lstrip(" ").replace("\n", "↵") or "␣" for one in tokens]
    joined = [i > 0 and not one.startswith(" ") for i, one in enumerate(tokens)]
    return AttentionScene(stage=WordStage(words=words, joined=joined), layers=layers, **{"start": len(tokens) - 1, **more})


class Writer:
    """SmolLM2 and its pieces, ready to write.

    Raises:
        MissingModels: where `make writer` has not been run.
    """

    def __init__(self, folder: Path = WRITER_FILES.folder) -> None:
        paths = WRITER_FILES.checked(folder)
        pieces = json.loads(paths[PIECES].read_text(encoding="utf-8"))
        self._symbols: list[str] = pieces["tokens"]
        self.tokenizer = tokenizer_of(self._symbols, pieces["merges"])
        with without_memory():
            model = SmolLM2(SmolLM2Config(quantised=True))
        weights = {name: one.float() if one.is_floating_point() else one for name, one in load_file(paths[WEIGHTS]).items()}
        model.load_state_dict(weights, assign=True)
        self.placement = Placement(model.eval().requires_grad_(False))

    @property
    def model(self) -> SmolLM2:
        """The network, where it computes now."""
        return self.placement.model

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of every token."""
        return [bytes(BYTES[sign] for sign in symbol) for symbol in self._symbols]

    @cached_property
    def names(self) -> list[str]:
        """Every token as text; a byte that is no character alone as "<0xF0>"."""
        return [name_of(piece) for piece in self.pieces]

    def ids(self, text: str, *, most: int = MAX_TOKENS) -> list[int]:
        """The tokens of a text, each of its characters kept.

        Raises:
            BadValue: for an empty text, or more than `most` tokens.
        """
        found: list[int] = self.tokenizer.encode(text[: 64 * most]).ids  # no token has more bytes than 64
        if not found:
            raise BadValue("the text is empty: type some words")
        if len(found) > most:
            raise BadValue("the text has more than {most} pieces of words: so many are read", most=most)
        return found

    @falls_back
    @torch.inference_mode()
    def begin(self, ids: Sequence[int], *, off: Collection[Head] = ()) -> Writing:
        """The text of these tokens, ready to be gone on with.

        Args:
            off: heads that are switched off, by layer and number from 0.
        """
        caches = [KeyValueCache() for _ in self.model.layers]
        state = Writing(list(ids), frozenset(off), caches, torch.empty(0), np.empty(0, dtype=np.float32))
        self._compute(state, state.ids)
        return state

    def append(self, state: Writing, token: int) -> None:
        """Write one more token: one row of every map is computed."""
        if state.vectors.device != self.placement.device:  # the device that held the cache was left meanwhile
            again = self.begin(state.ids, off=state.off)
            state.caches, state.vectors = again.caches, again.vectors
        with torch.inference_mode():
            state.ids.append(token)
            self._compute(state, [token])

    def _compute(self, state: Writing, ids: Sequence[int]) -> None:
        """Put the last tokens of a text through the network."""
        model, device = self.model, self.placement.device
        x = model.embedded(torch.tensor([ids], device=device))
        vectors, maps = model.through(
            x, kept=self.kept(state.off) if state.off else None, cache=state.caches, return_attention=True
        )
        state.vectors = torch.cat([state.vectors.to(device), vectors], dim=1) if state.blocks else vectors
        state.blocks.append(torch.cat(list(maps.values())).cpu().numpy())
        state.scores = model.logits(vectors[0, -1:]).log_softmax(dim=-1)[0].cpu().numpy()

    def kept(self, off: Collection[Head]) -> Tensor:
        """(1, layers, heads), 0 where a head is off, else 1."""
        kept = torch.ones(1, self.model.config.layers, self.model.config.heads)
        for layer, head in off:
            kept[0, layer, head] = 0
        return kept.to(self.placement.device)

    def log_probability(self, state: Writing) -> float:
        """Natural logarithm of the probability of the tokens after the first one, given those before each."""
        return float(sum(self.token_scores(state.vectors[0, :-1], state.ids[1:])))

    @torch.inference_mode()
    def token_scores(self, vectors: Tensor, ids: Sequence[int]) -> Iterator[float]:
        """The log-probability of each token after the vector (n, width) before it, some at a time, as all of them fill memory."""
        for first in range(0, len(ids), 64):
            some = torch.tensor(ids[first : first + 64], device=vectors.device)
            scores = self.model.logits(vectors[first : first + 64]).log_softmax(dim=-1)
            yield from scores.gather(-1, some[:, None])[:, 0].tolist()


def choose(scores: NDArray[np.float32], *, temperature: float, top_p: float = 1.0, seed: int = 0, place: int = 0) -> int:
    """The token that is written next: the likeliest at temperature 0, else one drawn by softmax(scores / temperature).

    Args:
        scores: (vocabulary,), log-probabilities.
        top_p: only the likeliest tokens are drawn from, as many as have this share together (Holtzman et al. 2020).
        seed, place: the same two draw the same; `place` is the token's number in the text.
    """
    if temperature == 0:
        return int(scores.argmax())
    order = np.argsort(-scores, kind="stable")
    shares = np.exp((scores[order].astype(np.float64) - float(scores.max())) / temperature)
    totals = np.cumsum(shares / shares.sum())
    count = int(np.searchsorted(totals, top_p)) + 1
    drawn = np.random.default_rng([seed, place]).random() * totals[min(count, len(totals)) - 1]
    return int(order[min(int(np.searchsorted(totals, drawn, side="right")), len(order) - 1)])


def tokenizer_of(tokens: Sequence[str], merges: Sequence[str]) -> Any:
    """The tokenizer: digits alone, then byte pairs (Sennrich et al. 2016) over bytes.

    The model's own signs, such as the end of a text, are not read from a text: there they are ordinary characters.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    pairs = [(left, right) for left, _, right in (one.partition(" ") for one in merges)]
    found = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs))
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return found


def name_of(piece: bytes) -> str:
    """The bytes of a token as text, those that are no character alone as "<0xF0>"."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in piece)


@cache
def writer() -> Writer:
    """The writer of this process.

    Raises:
        MissingModels: where `make writer` has not been run.
    """
    return Writer()
