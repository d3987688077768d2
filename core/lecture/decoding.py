"""Greedy decoding with the encoder-decoder, and everything that was seen and answered on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.lecture.dates import BEGIN, END
from core.models.transformer import DecoderLayer, Transformer
from core.nn import EncoderLayer, causal_mask

STEPS = 12
"""Most symbols decoded: ten of a date, the end sign, and one more."""


def symbols_of(model: Transformer, numbers: Sequence[Any]) -> Tensor:
    """Numbers of symbols, of any depth, where the model is."""
    return torch.tensor(numbers, device=next(model.parameters()).device)


@torch.no_grad()
def greedy(model: Transformer, source: Tensor) -> list[tuple[int, ...]]:
    """The likeliest symbol at each step, for each source of a batch (batch, S): up to the end sign, where it comes."""
    memory, _ = model.encode(source)
    mask = model.source_mask(source)
    target = torch.full((len(source), 1), BEGIN, dtype=torch.long, device=source.device)
    done = torch.zeros(len(source), dtype=torch.bool, device=source.device)
    for _step in range(STEPS):
        logits, _maps = model.decode(target, memory, memory_mask=mask)
        symbol = logits[:, -1].argmax(dim=-1)
        target = torch.cat([target, symbol[:, None]], dim=1)
        done |= symbol == END
        if bool(done.all()):
            break
    rows = target[:, 1:].tolist()
    return [tuple(row[: row.index(END) + 1] if END in row else row) for row in rows]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Probabilities and maps of the decoding of one answer.

    Attributes:
        symbols: (T,) the answer, the end sign included. source: (S,) its source.
        probabilities: (T, vocabulary) before each symbol.
        entropy: (T,) of those, in bits.
        maps: name -> (heads, queries, keys); "encoder i" over the source, "decoder i" over begin sign and answer so far,
            "cross i" from those to the source.
    """

    source: tuple[int, ...]
    symbols: tuple[int, ...]
    probabilities: NDArray[np.float64]
    entropy: NDArray[np.float64]
    maps: dict[str, NDArray[np.float32]]

    @property
    def answered(self) -> NDArray[np.float64]:
        """(T,) probability of each symbol of the answer, given those before it."""
        return self.probabilities[np.arange(len(self.symbols)), self.symbols]


@torch.no_grad()
def trace(model: Transformer, source: list[int], answer: tuple[int, ...]) -> Trace:
    """Run the model once over a source and an answer and keep every map.

    Under the causal mask, one run over the whole answer equals the runs over its prefixes.
    """
    target = symbols_of(model, [[BEGIN, *answer[:-1]]])
    logits, maps = model(symbols_of(model, [source]), target, return_attention=True)
    probabilities = logits[0].cpu().double().softmax(dim=-1)
    entropy = -(probabilities * probabilities.clamp_min(1e-300).log2()).sum(dim=-1)
    return Trace(
        source=tuple(source),
        symbols=answer,
        probabilities=probabilities.numpy(),
        entropy=entropy.numpy(),
        maps={name: weights[0].cpu().numpy() for name, weights in maps.items()},
    )


def relevance(model: Transformer, trace: Trace, step: int) -> NDArray[np.float64]:
    """(S,) gradient times input of one symbol's log-odds against the runner-up, by each source character's embedding.

    To first order, the loss of log-odds at `step` if that embedding were scaled to zero: a comparison for the attention (D23).
    Log-odds are used because the log-probability is flat where the model is certain.
    """
    source = symbols_of(model, [trace.source])
    target = symbols_of(model, [[BEGIN, *trace.symbols[:-1]]])[:, : step + 1]
    embedded = model.embedding(source).detach().requires_grad_()
    x, mask = model.positions(embedded), model.source_mask(source)
    for layer in model.encoder:
        x, _weights = layer(x, mask=mask)
    logits, _maps = model.decode(target, x, memory_mask=mask)
    first = logits[0, -1, trace.symbols[step]]
    others = logits[0, -1].index_fill(0, symbols_of(model, [trace.symbols[step]]), -torch.inf)
    gradient = torch.autograd.grad(first - others.max(), embedded)[0]
    return (gradient * embedded.detach())[0].sum(dim=-1).double().cpu().numpy()


@torch.no_grad()
def inside_layer(model: Transformer, trace: Trace, side: str, layer: int, position: int) -> dict[str, NDArray[np.float32]]:
    """One symbol's vector on its way through a layer, by the report's names, whose A is called O (D36).

    Of the encoder (vit-report 2.5) a source character's: input, O, X1, N1, F, X2, N2. Of the decoder (2.6) that of the symbol
    before an answered one: input, O1, N1, O2, N2, F, N3.

    Args:
        side: "encoder" or "decoder". layer: from 1 on.
    """
    source = symbols_of(model, [trace.source])
    mask = model.source_mask(source)
    if side == "encoder":
        x = model.positions(model.embedding(source))
        for one in model.encoder[: layer - 1]:
            x, _weights = one(x, mask=mask)
        chosen = model.encoder[layer - 1]
        assert isinstance(chosen, EncoderLayer)
        a, _weights = chosen.attention(x, mask=mask)
        n1 = chosen.norm1(x + a)
        f = chosen.feed_forward(n1)
        inside = {"input": x, "O": a, "X1": x + a, "N1": n1, "F": f, "X2": n1 + f, "N2": chosen.norm2(n1 + f)}
    else:
        memory, _maps = model.encode(source)
        y = model.positions(model.embedding(symbols_of(model, [[BEGIN, *trace.symbols[:-1]]])))
        for one in model.decoder[: layer - 1]:
            y, _own, _cross = one(y, memory, memory_mask=mask)
        chosen = model.decoder[layer - 1]
        assert isinstance(chosen, DecoderLayer)
        a1, _weights = chosen.self_attention(y, mask=causal_mask(y.shape[1]).to(y.device))
        n1 = chosen.norm1(y + a1)
        a2, _weights = chosen.cross_attention(n1, memory, mask=mask)
        n2 = chosen.norm2(n1 + a2)
        f = chosen.feed_forward(n2)
        inside = {"input": y, "O1": a1, "N1": n1, "O2": a2, "N2": n2, "F": f, "N3": chosen.norm3(n2 + f)}
    return {name: value[0, position].cpu().numpy() for name, value in inside.items()}


def sublayer_ratios(stages: Mapping[str, NDArray[np.float32]]) -> dict[tuple[str, str], float]:
    """Root mean square of what each sub-layer adds over that of the vector it is added to.

    Args:
        stages: as `inside_layer` returns them.

    Returns:
        By the names of both, such as ("O", "input").
    """
    ratios = {}
    carried = "input"
    for name in stages:
        if name[0] in "OF":
            ratios[name, carried] = float(np.linalg.norm(stages[name]) / np.linalg.norm(stages[carried]))
        elif name[0] == "N":
            carried = name
    return ratios
