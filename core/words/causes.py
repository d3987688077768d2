"""Causes of the next word of a text: its tokens, taken out one by one, and the heads, switched off; and the heads' roles."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.explain.attribution import Report, unreported
from core.words.writer import Head, Writer

CARD: Final = Path(__file__).parents[2] / "assets" / "explain" / "smollm2.json"
"""Written by `python -m lab.bundle.writer` at commit 8c6e8d09."""
ROLES: Final = ("before", "induction", "first", "same")
"""Token before; token after the earlier occurrence of this one; first token; earlier occurrence of this one."""
OPENINGS: Final = (
    "Paris is in France, Madrid is in Spain, Rome is in",
    "The wizard Zorblax lives in a tower. One day, the wizard Zor",
    "La capital de Francia es",
)
"""Texts that the page opens on; what their next word hangs on is in the card."""
POSITIONS: Final = 2**12
"""Positions of all texts that go through the network together: what a layer makes of them takes some 100 MB."""
MOST_TAKEN_OUT: Final = 48
"""Tokens of the longest text whose tokens are taken out one by one: the work grows by their square."""


@torch.inference_mode()
def fall_without_tokens(writer: Writer, ids: Sequence[int], token: int, *, off: Collection[Head] = ()) -> NDArray[np.float64]:
    """(n,): by how much the log-probability of a next token falls without each token of the text, all in one batch.

    Args:
        off: heads that are off in any case.
    """
    n = len(ids)
    if n == 1:
        return np.zeros(1)
    shorter = [[one for j, one in enumerate(ids) if j != i] for i in range(n)]
    scores = next_scores(writer, [list(ids)], off)[:, token].tolist() + next_scores(writer, shorter, off)[:, token].tolist()
    return scores[0] - np.array(scores[1:])


def next_scores(writer: Writer, texts: Sequence[Sequence[int]], off: Collection[Head]) -> Tensor:
    """(texts, vocabulary): log-probabilities of the token after each of some texts of one length, without heads that are off."""
    model = writer.model
    x, _maps = model.through(
        model.embedded(torch.tensor(texts, device=writer.placement.device)), kept=writer.kept(off) if off else None
    )
    scores: Tensor = model.logits(x[:, -1]).log_softmax(dim=-1)
    return scores


@torch.inference_mode()
def fall_without_heads(
    writer: Writer, ids: Sequence[int], token: int, *, off: Collection[Head] = (), report: Report = unreported
) -> NDArray[np.float64]:
    """(layers, heads): by how much the log-probability of a next token falls without each head, from its own layer on.

    The layers below a head are the same as for the whole text. Texts without the heads of several layers go on together, since a
    layer's weights are made floats at every pass.

    Args:
        off: heads that are off in any case. report: may raise, which ends it.
    """
    model, device = writer.model, writer.placement.device
    layers, heads = model.config.layers, model.config.heads
    falls = np.zeros((layers, heads))
    kept = writer.kept(off)
    each = torch.cat([kept, kept * (1 - torch.eye(layers * heads, device=device)).view(-1, layers, heads)])
    x = model.embedded(torch.tensor([list(ids)], device=device))
    group = max(1, POSITIONS // (heads * len(ids)))
    passes = [(first, layer) for first in range(0, layers, group) for layer in range(first, layers)]
    for done, (first, layer) in enumerate(passes, 1):
        if layer == first:
            texts, rows = x, [0]  # the whole text comes first
        if layer < first + group:
            texts = torch.cat([texts, texts[:1].expand(heads, -1, -1)])
            rows += range(1 + layer * heads, 1 + (layer + 1) * heads)
        texts, _maps = model.through(texts, layers=range(layer, layer + 1), kept=each[rows])
        if layer == first + group - 1:
            x = texts[:1]
        if layer == layers - 1:
            scores = model.logits(texts[:, -1]).log_softmax(dim=-1)[:, token].double().cpu().numpy()
            falls[first : first + group] = (scores[0] - scores[1:]).reshape(-1, heads)
        report(done / len(passes))
    return falls


@dataclass(frozen=True, kw_only=True)
class WriterCard:
    """The card of the network that writes.

    Attributes:
        about: who trained it, what was changed, its licence and file (D45). roles: role -> (layers, heads).
        heads: opening -> (layers, heads), falls of the likeliest next token's log-probability without each head.
    """

    about: dict[str, str]
    roles: dict[str, NDArray[np.float64]]
    heads: dict[str, NDArray[np.float64]]


@cache
def card() -> WriterCard:
    """The bundled card."""
    values: dict[str, Any] = json.loads(CARD.read_text(encoding="utf-8"))
    roles, heads = ({name: np.array(one) for name, one in values[part].items()} for part in ("roles", "heads"))
    return WriterCard(about=values["about"], roles=roles, heads=heads)


def heads_of(role: str) -> list[Head]:
    """The heads with the largest share of a role, the strongest first; of each at least a quarter of its weight."""
    return _largest(card().roles[role], 0.25)


def strongest(falls: NDArray[np.float64]) -> list[Head]:
    """The heads without which a word's log-probability falls most, by .05 or more, the strongest first."""
    return _largest(falls, 0.05)


def _largest(values: NDArray[np.float64], least: float) -> list[Head]:
    """The heads with the six largest values, none below `least`."""
    order = np.argsort(-values, axis=None, kind="stable")[:6]
    return [head for place in order if values[head := divmod(int(place), values.shape[1])] >= least]
