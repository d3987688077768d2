"""Items of a lesson's short test for a class: questions that need no page, their answers computed; other numbers at each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from core.lecture import attention_steps, positions, recurrence, tokens
from core.lecture.classroom import Asked
from core.lecture.trial import PHASES
from pages.learn import questions
from pages.learn.predict import Question
from pages.shared.language import LANGUAGES, _, number, speaking

WORDS: Final = ("a cat sat", "the dog runs away", "we read long old books")
Items = Iterator[tuple[str, Question | None]]
"""Facts that have to be known, and the question."""


def _words(form: int) -> tuple[list[str], Any, dict[str, Any]]:
    words = WORDS[form].split()
    return words, tokens.embed(words, 4), attention_steps.random_weights(4, seed=form)


def _recurrent(form: int) -> Items:
    x = recurrence.wave(40, period=12)
    for cell, seed in (("rnn", form), ("lstm", form), ("rnn", form + 3)):
        rnn, lstm = recurrence.random_rnn(1, seed=seed), recurrence.random_lstm(1, seed=seed)
        yield "T = 40.", questions.reach(x, rnn, lstm, cell="rnn" if cell == "rnn" else "lstm", seed=seed, state=(cell, seed))


def _attention(form: int) -> Items:
    words, x, weights = _words(form)
    steps = attention_steps.steps(x, weights)
    yield f"T = {len(words)}.", questions.projected_rows(x, weights["W_Q"], form, words[form])
    scores = " · ".join(f"{word} {number(float(score), 2)}" for word, score in zip(words, steps.scaled[0, 1], strict=True))
    yield f"QKᵀ/√d: {scores}.", questions.temperature(steps, weights, head=0, query=1, names=words)
    yield from _softmax(form)


def _softmax(form: int) -> Items:
    yield "", questions.plain_softmax((0.0, 5.0, 10.0)[form])


def _heads(form: int) -> Items:
    words, x, weights = _words(form)
    for now in (1, 4):
        yield f"T = {len(words)}.", questions.heads(attention_steps.steps(x, weights, heads=now), weights)
    yield "", questions.heads_doubled(64 * 2**form, 64, 4)


def _permutation(form: int) -> Items:
    words, x, weights = _words(form)
    for told, places, causal in (
        (_("No mask, no positions."), False, "none"),
        (_("No mask, with positions."), True, "none"),
        (_("Causal mask, no positions."), False, "fixed"),
    ):
        given: dict[str, Any] = {"count": 1, "positions": places, "causal": causal, "names": words}
        yield told, questions.backwards(x, weights, **given)


def _positions(form: int) -> Items:
    length, width = 32, (16, 32, 64)[form]
    matrix = positions.encoding(length, width)
    yield "", questions.still(length, width, 10_000.0, positions.still_channels(matrix))
    for at in (4 + form, 20 + form):
        yield f"T = {length}, D = {width}.", questions.alike(matrix, at, "class")


def _norms(form: int) -> Items:
    place: dict[str, Any] = {"level": 3.0, "sample": form, "step": 2 + form, "channel": 1}
    yield "y = x.", questions.tripled("none", **place)
    yield "LayerNorm.", questions.tripled("layer", **place)
    yield "", questions.dropped((0.2, 0.3, 0.1)[form])
    yield from _softmax(form)


def _transformer(form: int) -> Items:
    yield "", questions.deeper(4, form)
    yield list(_permutation(form))[2]
    yield next(_heads(form))


def _backprop(form: int) -> Items:
    given: dict[str, Any] = {"rows": 3, "seed": form, "first": (0.5, 1.0, 1.5)[form], "causal": False}
    yield "Y = XW, (1, 1).", questions.gradient("linear", "x", **given)
    yield "Y = XW, (1, 1).", questions.gradient("linear", "W", **given)
    yield "Y = GELU(X), (1, 1).", questions.gradient("gelu", "x", **given)


def _optimisers(form: int) -> Items:
    for x, most in ((3.0, 1.0), (0.3, 2.0), (0.6, 1.5)):
        size = x + form / 10
        yield f"∇ = ({size:g}, {size:g}), max = {most:g}.", questions.clipped((size, size), most)


def _cost(form: int) -> Items:
    for tokens_, width in ((64 * 2**form, 512), (4096, 32 * 2**form)):
        yield f"T = {tokens_}, D = {width}.", questions.tokens_doubled(tokens_, width, 4)
    yield "", questions.heads_doubled(128 * 2**form, 64, 4)


def _ctc(form: int) -> Items:
    for target, frames in (((1, 2), 3 + form % 2), ((1, 1), 4 + form), ((1,), 2 + form)):
        told = " ".join("ABC"[one - 1] for one in target)
        yield f"{told}, T = {frames}.", questions.paths(target, frames, skip=True)


def _metrics(form: int) -> Items:
    start = "KLM"[form]
    for reference, hypothesis in (("A B", "A B C"), ("A B C", "A B C"), ("A B C", "A C B")):
        shown = [[start, *one.split()] for one in (reference, hypothesis)]
        told = _("Reference: {reference}. Hypothesis: {hypothesis}.")
        yield (
            told.format(reference=" ".join(shown[0]), hypothesis=" ".join(shown[1])),
            questions.last_word([shown[0]], [shown[1]], 0),
        )


OF: Final[Mapping[str, Callable[[int], Items]]] = {
    "recurrent": _recurrent, "attention": _attention, "heads": _heads, "permutation": _permutation, "positions": _positions,
    "norms": _norms, "transformer": _transformer, "backprop": _backprop, "optimisers": _optimisers, "cost": _cost, "ctc": _ctc,
    "metrics": _metrics,
}  # fmt: skip


def items(lesson: str, phase: str) -> dict[str, Sequence[Asked]]:
    """The lesson's items at a test, by language."""
    made: dict[str, Sequence[Asked]] = {}
    for language in LANGUAGES:
        with speaking(language):
            made[language] = [
                replace(it, text=f"{told} {it.text}".strip()) for told, it in OF[lesson](PHASES.index(phase)) if it is not None
            ]
    return made
