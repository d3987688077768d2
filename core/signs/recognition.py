"""The model's reading of one clip: probabilities, attention, both decodings, and the time they took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.device import use_one_thread
from core.signs.decoding import Bigram, gloss_spans
from core.signs.hands.tracks import HandTracks
from core.signs.recogniser import Answer, Recogniser


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The reading of one clip. The arrays are shared and read-only.

    Attributes:
        log_probabilities: (T', V). probabilities: the same as shares of 1. attention: sub-layer -> (heads, T', T').
        seconds: (T',) where each of the model's frames lies in the clip.
        greedy: the best path's sentence. doubtful: the glosses left out of it as too unsure, with their probability.
        spans: (gloss, first frame, last frame) of each gloss of the answer. hands: what was seen, for a model of landmarks.
        path: the likeliest label of each frame, by name. took_s: wall-clock time of the forward pass.
    """

    log_probabilities: NDArray[np.float32]
    probabilities: NDArray[np.float32]
    attention: dict[str, NDArray[np.float32]]
    seconds: NDArray[np.float64]
    greedy: tuple[str, ...]
    doubtful: tuple[tuple[str, float], ...]
    path: tuple[str, ...]
    took_s: float
    spans: tuple[tuple[str, int, int], ...] = ()
    hands: HandTracks | None = None


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A sentence of the beam: P(sentence | sharpened frames) over the paths that were kept, and the score that ranked it."""

    glosses: tuple[str, ...]
    probability: float
    score: float


def read(recogniser: Recogniser, clip: NDArray[Any], seconds: NDArray[np.float64], *, speaker: str | None = None) -> Recognition:
    """Run the model on one clip; see `Recogniser.answer`.

    Args:
        seconds: (T,) of the clip's own frames; a model of tracks sees every `stride`-th.
    """
    use_one_thread()
    began = time.perf_counter()
    answer = recogniser.answer(clip, speaker=speaker)
    took = time.perf_counter() - began
    every = np.asarray(seconds, dtype=np.float64)[:: recogniser.stride]
    return _recognition(recogniser, answer, every[: len(answer.log_probabilities)], took)


def read_hands(recogniser: Recogniser, hands: HandTracks) -> Recognition:
    """Run a model of landmarks on hands that were followed already, at the frames a second that it was trained on."""
    use_one_thread()
    began = time.perf_counter()
    answer = recogniser.answer_of(recogniser.landmark_inputs(hands), hands=hands)
    return _recognition(recogniser, answer, np.arange(len(hands)) / recogniser.fps, time.perf_counter() - began)


def _recognition(recogniser: Recogniser, answer: Answer, seconds: NDArray[np.float64], took: float) -> Recognition:
    names = recogniser.vocabulary.names
    return Recognition(
        log_probabilities=answer.log_probabilities,
        probabilities=np.exp(answer.log_probabilities),
        attention=answer.attention,
        seconds=seconds,
        greedy=tuple(recogniser.greedy(answer.log_probabilities)),
        doubtful=tuple((names[span.label], span.probability) for span in recogniser.doubtful(answer.log_probabilities)),
        path=tuple(names[label] for label in answer.log_probabilities.argmax(axis=1).tolist()),
        took_s=took,
        spans=tuple(
            (names[span.label], span.first, span.last) for span in gloss_spans(recogniser.confident(answer.log_probabilities))
        ),
        hands=answer.hands,
    )


def beam(
    recogniser: Recogniser,
    recognition: Recognition,
    *,
    width: int,
    power: float | None = None,
    bigram: Bigram | None = None,
    weight: float = 0.5,
    most: int = 5,
) -> list[Guess]:
    """The likeliest sentences by beam search, best first; see `Recogniser.beam`."""
    hypotheses = recogniser.beam(recognition.log_probabilities, width=width, power=power, bigram=bigram, weight=weight)
    return [
        Guess(glosses=tuple(glosses), probability=float(np.exp(one.log_probability)), score=one.score)
        for glosses, one in hypotheses[:most]
    ]
