"""The bundled date model for a page: text in, answer, certainty and maps out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from attention_light import AttentionScene, LayerMaps, WordStage
from core import checkpoints
from core.device import Placement, falls_back
from core.lecture import dates, decoding
from core.lecture.decoding import Trace
from core.messages import Refusal
from core.models.transformer import Transformer

NAME = "dates"
MONTH = 6
"""The answer's second digit of the month, by its place from 0: what it looks at is the month's name."""
LOOKS, LOOKS_HEAD = "cross 2", 3
"""The layer and the head, from 0, in which digits look at the letters that they come from."""


class ReadingError(Refusal, ValueError):
    """A text the model cannot read; the message says why."""


@dataclass(frozen=True, kw_only=True)
class DateReading:
    """The model's answer to a text.

    Attributes:
        text: normalised. unknown: its characters outside the vocabulary.
        trace: symbols, maps and probabilities of the decoding.
    """

    text: str
    unknown: tuple[str, ...]
    trace: Trace

    @property
    def answer(self) -> str:
        """The decoded characters."""
        return dates.decode_text(self.trace.symbols)

    @property
    def probability(self) -> float:
        """The model's probability of the whole answer."""
        return float(self.trace.answered.prod())

    @property
    def is_date(self) -> bool:
        """Tells whether the answer is a day of the calendar."""
        return dates.is_calendar_date(self.answer)

    @property
    def characters(self) -> list[str]:
        """The answer's symbols, the end sign included."""
        return [dates.SYMBOLS[symbol] for symbol in self.trace.symbols]

    def scene(self, *, titles: Mapping[str, str]) -> AttentionScene:
        """The text, and below it the answer as it is written, opening on the month; see `AttentionScene` for the titles."""
        kinds = {"encoder": ("word", ""), "decoder": ("past", "symbol"), "cross": ("word", "symbol")}
        layers = []
        for name, weights in self.trace.maps.items():
            kind, of = kinds[name.split()[0]]
            layers.append(LayerMaps(name=name, weights=weights, kind=kind, of=of, formula="nb-attention"))
        stage = WordStage(words=list(self.text), joined=[True] * len(self.text), answer=["▷", *self.characters])
        start = min(MONTH, len(self.characters) - 1)
        opened = next(place for place, one in enumerate(layers) if one.name == LOOKS)
        choice = f"{opened}.{LOOKS_HEAD}."
        return AttentionScene(stage=stage, layers=layers, start=start, choice=choice, titles=titles, rolled=False)


class DateReader:
    """Reads dates with a checkpoint of the task.

    Raises:
        CheckpointError: where it is missing or damaged.
    """

    def __init__(self, *, folder: Path = checkpoints.FOLDER) -> None:
        checkpoint = checkpoints.load(NAME, folder=folder)
        self.card: dict[str, Any] = checkpoint.card
        self.placement = Placement(checkpoints.build_model(checkpoint, Transformer))

    @property
    def model(self) -> Transformer:
        """The network, where it computes now."""
        return self.placement.model

    @falls_back
    def read(self, text: str) -> DateReading:
        """Decode greedily, keeping maps and probabilities.

        Raises:
            ReadingError: for an empty text or one that is too long.
        """
        plain, most = dates.normalise(text), self.model.config.length
        if not plain:
            raise ReadingError("the text is empty: type a date, such as 3 de mayo de 1979")
        if len(plain) > most:
            raise ReadingError("the text has {count} characters: at most {most} are read", count=len(plain), most=most)
        symbols = dates.encode_text(plain)
        best = decoding.greedy(self.model, decoding.symbols_of(self.model, [symbols]))[0]
        return DateReading(
            text=plain,
            unknown=tuple(sorted({mark for mark in plain if mark not in dates.CHARACTERS})),
            trace=decoding.trace(self.model, symbols, best),
        )

    @falls_back
    def relevance(self, reading: DateReading, step: int) -> NDArray[np.float64]:
        """See `core.lecture.decoding.relevance`."""
        return decoding.relevance(self.model, reading.trace, step)

    def norms(self, side: str, layer: int) -> list[NDArray[np.float32]]:
        """(2, width) gamma and beta of each LayerNorm of a layer, in their order.

        Args:
            side: "encoder" or "decoder". layer: from 1 on.
        """
        chosen = (self.model.encoder if side == "encoder" else self.model.decoder)[layer - 1]
        norms = [one for one in chosen.modules() if isinstance(one, nn.LayerNorm)]
        return [np.stack([one.weight.detach().cpu().numpy(), one.bias.detach().cpu().numpy()]) for one in norms]
