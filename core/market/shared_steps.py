"""Steps of a market that one process made, for others to read: the items of a batch, their predictions, and the status.

A process that leads a market writes a step after each batch; one that follows reads it, and so predicts nothing itself. A step's
fields are bytes: a header in JSON, and numbers as they lie in memory, little-endian (`encode_step`). Nothing is pickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.feeds.protocol import FeedState, SharedEvent, StatusChange, Trade
from core.market.grid import Confirmed, Gap, GridItem, Row
from core.market.labels import UNKNOWN
from core.market.predictor import Predictions
from core.messages import Refusal, compose, packed, unpacked

VERSION: Final = 2
_NO_PROBABILITIES: Final = np.zeros((0, 0, 3), dtype=np.float32)
_NO_CALLS: Final = np.full((0, 0), UNKNOWN, dtype=np.int8)


class StepError(Refusal, ValueError):
    """Bytes that are no step of this version."""


@dataclass(frozen=True, kw_only=True)
class SharedStep(SharedEvent):
    """One batch of the process that leads.

    Attributes:
        items: rows, trades, confirmations and gaps, in order.
        predicted: for each item, whether it is a row with a prediction.
        predictions: of those rows, in order; None where there are none.
        status: the feed's state after it, and its message.
        step: the leader's number of the newest row. scores: (heads, SCORES), the leader's as of the step before; see
            `core.market.stream.score_rows`. tick: the market's smallest step of price; 0 where it is not known.
    """

    items: tuple[GridItem, ...]
    predicted: tuple[bool, ...]
    predictions: Predictions | None
    status: StatusChange
    step: int = 0
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    tick: float = 0.0


@dataclass(frozen=True)
class Leading(SharedEvent):
    """From here on this process leads by this token; None: it follows."""

    token: str | None


GAP: Final = SharedStep(
    items=(Gap(),), predicted=(False,), predictions=None, status=StatusChange(state=FeedState.LIVE), scores=np.zeros((0, 0))
)
"""Step that a reader puts in the place of those it missed."""


def encode_step(step: SharedStep) -> dict[str, bytes]:
    """A step's fields.

    They are `h` the header, `l` levels (float64), `p` probabilities (float32), `c` calls, `m` momentum's calls (int8) and `s`
    scores (float64).
    """
    p = step.predictions
    header = {
        "version": VERSION,
        "state": step.status.state.value,
        "message": packed(step.status.message),
        "step": step.step,
        "tick": step.tick,
        "items": [_item(item, flag) for item, flag in zip(step.items, step.predicted, strict=True)],
        "heads": len(step.scores) if p is None else p.calls.shape[1],
        "ms": [p.features_ms, p.model_ms] if p else [0.0, 0.0],
    }
    rows = [item.levels for item in step.items if isinstance(item, Row)]
    return {
        "h": json.dumps(header).encode(),
        "l": np.concatenate([np.zeros(0), *rows]).astype("<f8").tobytes(),
        "p": (p.probabilities if p else _NO_PROBABILITIES).astype("<f4").tobytes(),
        "c": (p.calls if p else _NO_CALLS).astype(np.int8).tobytes(),
        "m": (p.momentum if p else _NO_CALLS).astype(np.int8).tobytes(),
        "s": step.scores.astype("<f8").tobytes(),
    }


def decode_step(fields: Mapping[bytes, bytes]) -> SharedStep:
    """The inverse of `encode_step`.

    Raises:
        StepError: where the fields are no step of this version.
    """
    try:
        header: dict[str, Any] = json.loads(fields[b"h"])
        if header["version"] != VERSION:
            raise StepError(compose("the shared stream is of another version of this program"))
        levels = np.frombuffer(fields[b"l"], dtype="<f8").astype(np.float64)
        items, predicted, at = [], [], 0
        for values in header["items"]:
            item, flag, at = _read_item(values, levels, at)
            items.append(item)
            predicted.append(flag)
        heads = int(header["heads"])
        predictions = _read_predictions(fields, sum(predicted), heads, header["ms"]) if any(predicted) else None
        scores = np.frombuffer(fields[b"s"], dtype="<f8").astype(np.float64)
        return SharedStep(
            items=tuple(items),
            predicted=tuple(predicted),
            predictions=predictions,
            status=StatusChange(state=FeedState(header["state"]), message=unpacked(header["message"])),
            step=int(header["step"]),
            tick=float(header["tick"]),
            scores=scores.reshape(heads, -1) if len(scores) else np.zeros((0, 0)),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, StepError):
            raise
        raise StepError(compose("the shared stream holds an entry that is no step")) from error


def _read_predictions(fields: Mapping[bytes, bytes], count: int, heads: int, ms: Sequence[float]) -> Predictions:
    def calls(name: bytes) -> NDArray[np.int8]:
        return np.frombuffer(fields[name], dtype=np.int8).reshape(count, heads)

    return Predictions(
        probabilities=np.frombuffer(fields[b"p"], dtype="<f4").astype(np.float32).reshape(count, heads, 3),
        calls=calls(b"c"),
        momentum=calls(b"m"),
        features_ms=float(ms[0]),
        model_ms=float(ms[1]),
    )


def _item(item: GridItem, predicted: bool) -> list[Any]:
    if isinstance(item, Row):
        return ["row", item.timestamp, item.received_ns, item.formed_ns, item.provisional, len(item.levels), predicted]
    if isinstance(item, Trade):
        return ["trade", item.exchange_ms, item.price, item.size, item.side]
    return ["confirmed", item.until_ms] if isinstance(item, Confirmed) else ["gap", item.kind, item.at_ms]


def _read_item(values: Sequence[Any], levels: FloatArray, at: int) -> tuple[GridItem, bool, int]:
    kind, *rest = values
    if kind == "row":
        timestamp, received_ns, formed_ns, provisional, count, predicted = rest
        if at + count > len(levels):
            raise StepError(compose("the shared stream holds an entry that is no step"))
        return Row(timestamp, levels[at : at + count], received_ns, formed_ns, provisional), predicted, at + count
    if kind == "trade":
        when, price, size, side = rest
        return Trade(exchange_ms=when, price=price, size=size, side=side), False, at
    return (Confirmed(rest[0]) if kind == "confirmed" else Gap(*rest)), False, at


def parts(batch: Iterable[GridItem | SharedEvent]) -> Iterable[list[GridItem] | SharedEvent]:
    """A batch cut at what came from or concerns other processes: runs of this process's own items, and those events."""
    run: list[GridItem] = []
    for item in batch:
        if isinstance(item, SharedEvent):
            if run:
                yield run
            run = []
            yield item
        else:
            run.append(item)
    if run:
        yield run
