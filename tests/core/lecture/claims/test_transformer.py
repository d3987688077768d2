"""Claims about the shipped date model, against passes over each beginning of an answer; and what its passages say of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from core.lecture import dates
from core.lecture.claims import transformer as claims
from core.lecture.date_reader import DateReader
from tests.core.lecture.claims.walk import Walk, states

TEXTS = ["3 de mayo de 1979", "x", "1979", "fij", "1" * 64]


def last_rows(reader: DateReader, text: str, symbols: tuple[int, ...], layer: int) -> tuple[Any, float]:
    """Cross-attention of each symbol's own pass (symbols, heads, characters), and the log-probability of them all."""
    memory, _maps = reader.model.encode(torch.tensor([dates.encode_text(text)]))
    rows, logs = [], []
    for step, symbol in enumerate(symbols):
        beginning = torch.tensor([[dates.BEGIN, *symbols[:step]]])
        with torch.no_grad():
            logits, maps = reader.model.decode(beginning, memory, return_attention=True)
        rows.append(maps[f"cross {layer}"][0, :, -1].numpy())
        logs.append(float(logits[0, -1].double().log_softmax(dim=-1)[symbol]))
    return np.stack(rows), math.fsum(logs)


def test_where_an_answer_looks() -> None:
    reader, walk = DateReader(), Walk(claims.decode)
    for state in states(text=TEXTS[:3], step=[-1, 0], layer=[2, 1], head=[None, 0, -1]):
        reading = reader.read(state["text"])
        step = state["step"] % len(reading.characters)
        rows, _log = last_rows(reader, state["text"], reading.hypothesis.symbols, state["layer"])
        maps = reading.trace.maps[f"cross {state['layer']}"]
        own, given = (one.mean(axis=heads) if state["head"] is None else one.take(state["head"], axis=heads)
                      for one, heads in ((rows, 1), (maps, 0)))  # fmt: skip
        most = [str(one + 1) for one in own.argmax(axis=1)]
        character = state["text"][int(most[step]) - 1]
        row = {"symbol": step + 1, "place": int(most[step]), "count": len(state["text"]), "character": character,
               "weight": own[step].max()}  # fmt: skip
        fields = {"year": ", ".join(most[:4]), "month": ", ".join(most[5:7]), "day": ", ".join(most[8:10])}
        walk.check((given, step, state["text"], reading.answer), {"row": row, "fields": fields}, state)
    assert claims.decode(own[:, :1], 0, "x", "1").keys() == {"row"}
    walk.end()
