"""Claims about the shipped date model, against passes over each beginning of an answer; and what its passages say of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from core.lecture import dates
from core.lecture.claims import transformer as claims
from core.lecture.date_reader import DateReader
from core.lecture.decoding import DateHypothesis
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


def test_a_beam_beside_greedy_search() -> None:
    reader, ends, compared = DateReader(), Walk(claims.beam), Walk(claims.compared)
    for state in states(text=TEXTS, width=[4, 1, 6]):
        greedy, beam = reader.read(state["text"]).hypothesis, reader.beams(state["text"], state["width"])[-1]
        logs = [last_rows(reader, state["text"], one.symbols, 1)[1] for one in (greedy, *beam[:2])]
        alone = state["width"] == 1
        ends.check(beam, {"alone": {}} if alone else {"second": {"share": math.exp(logs[2] - logs[1])}}, state)
        texts = {"other": dates.decode_text(beam[0].symbols), "answer": dates.decode_text(greedy.symbols)}
        name = "same" if texts["other"] == texts["answer"] else "better" if logs[1] > logs[0] else "worse"
        assert (name == "better") == (state["text"] == "fij" and not alone)
        compared.check((beam[0], greedy), {name: texts}, state)
    ends.end()
    likely, other = (
        DateHypothesis(symbols=(symbol, dates.END), log_probabilities=(log, 0.0)) for symbol, log in ((4, -1.0), (5, -2.0))
    )
    texts = {"other": dates.SYMBOLS[5], "answer": dates.SYMBOLS[4]}
    compared.check((other, likely), {"worse": texts}, "a beam that dropped the greedy one")
    compared.end()


def test_the_model_is_sure_and_wrong_where_the_passage_says_so() -> None:
    reader = DateReader()
    for text, right in (("tres de mayo de 1979", "1979-05-03"), ("12/25/1979", "1979-12-25")):
        reading = reader.read(text)
        assert reading.probability > 0.9 and reading.answer != right
