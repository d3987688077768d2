"""Answers of every forecaster at every row of a recording, for one label and horizon, and the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.market.answers.predictions import RowPredictions, predict_rows
from core.market.answers.table import Scores
from core.market.book import BookRows, FloatArray, read_market
from core.market.forecasters.catalogue import find_forecaster
from core.market.forecasters.comparison import names_of, run_over
from core.market.forecasters.protocol import Fault, task_of
from core.market.grid import segments
from core.market.labels import UNKNOWN, Head
from core.market.naive_rules import naive_answers
from core.market.predictor import MarketCard, Predictor
from core.market.scoring.recordings import RecordedDay, trained_on
from core.messages import compose

NO_CALL: Final = -1
TEST_START: Final = 0.8
"""Share of a file after which no row was trained on or validated with (D10)."""


@dataclass(frozen=True, kw_only=True)
class RowAnswers:
    """One forecaster's answers at n rows: probabilities (n, 3), NaN where it gives none; calls (n,), `NO_CALL` where missing."""

    probabilities: NDArray[np.float32]
    calls: NDArray[np.int8]
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoredDay:
    """A recording's scored rows, n in all, in time order: those whose outcome is known.

    Attributes:
        recording: its name. market: the entry of the first checkpoint's card. files: relative path -> SHA-256.
        part: "all", or "test" where a checkpoint was trained on it. alpha: of the label, a fraction of the price.
        timestamps: (n,) milliseconds. seconds: (n,) from the recording's first row. mid, spread: (n,) quote currency.
        volatility: (n,) standard deviation of the mid's last steps before the row, basis points.
        truth: (n,) labels by the first checkpoint's threshold.
        apart: the first checkpoint's scores at rows of a stalled book, which are not among these.
    """

    recording: str
    market: str
    files: dict[str, str]
    part: str
    alpha: float
    timestamps: NDArray[np.int64]
    seconds: FloatArray
    mid: FloatArray
    spread: FloatArray
    volatility: FloatArray
    truth: NDArray[np.int8]
    apart: Scores
    answers: Mapping[str, RowAnswers] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.truth)


def score_day(
    day: RecordedDay,
    models: Mapping[str, Predictor],
    forecasters: Sequence[str],
    head: Head,
    *,
    market: str | None = None,
    every: int = 1,
    part: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> ScoredDay:
    """Ask everyone at each row that ends a whole window, and keep the rows whose outcome is known.

    A checkpoint calls by its card's rules, as on the live page; others call their likeliest class. A recording that one of the
    checkpoints was trained on is scored on its test part alone, unless `part` says otherwise.

    Args:
        models: checkpoints by name, the first of which sets labels and thresholds. forecasters: spellings of others.
        market: entry of the first checkpoint's card; recognised by the recording's name where None.
        every: score every so many-th row. part: "auto", or "test" or "all" to insist.
        progress: called with (windows done, windows in all).

    Raises:
        BookError: where a file cannot be read. ForecasterError: where a forecaster cannot be used. ValueError: for a head that
            a checkpoint lacks, or an entry that the card lacks.
    """
    rows, hashes = read_market(day.paths), day.hashes()
    first_name, reference = next(iter(models.items()))
    seen = part == "test" or (part == "auto" and any(trained_on(one.card, list(hashes.values())) for one in models.values()))
    longest = max(one.window + max(h for _, h in one.heads) for one in models.values())
    first = int(len(rows) * TEST_START) + longest if seen else 0
    entry = entry_of(reference, market or day.name, named=market is not None)
    asked = len(models) + len(forecasters)

    def moved(place: int) -> Callable[[int, int], None] | None:
        return progress and (lambda done, total: progress(place * total + done, asked * total))

    index = reference.head(*head)
    found = predict_rows(reference, rows, entry, first=first, every=every, progress=moved(0))
    known = found.truth[:, index] != UNKNOWN
    answers = {first_name: _of_checkpoint(found, index)}
    for place, (name, other) in enumerate(list(models.items())[1:], 1):
        mine = predict_rows(other, rows, other.market(day.name), first=first, every=every, progress=moved(place))
        answers[name] = _aligned(_of_checkpoint(mine, other.head(*head)), mine.rows, found.rows)
    task = task_of(reference, entry, day.name)
    for place, (spelling, name) in enumerate(names_of(forecasters).items(), len(models)):
        peer = run_over(find_forecaster(spelling, task), name, rows, found.rows, task, progress=moved(place))
        there = peer.faults[:, index] == Fault.NONE
        p = peer.probabilities[:, index]
        calls = np.where(there, np.where(there[:, None], p, 0).argmax(axis=1), NO_CALL)
        answers[name] = RowAnswers(probabilities=p.astype(np.float32), calls=calls.astype(np.int8), reason=str(peer.reason))
    for rule, naive in naive_answers(found.timestamps, found.truth[:, index], found.momentum[:, index], head[1]).items():
        answers[rule] = RowAnswers(probabilities=naive.probabilities.astype(np.float32), calls=naive.calls.astype(np.int8))
    return ScoredDay(
        recording=day.name,
        market=entry.name,
        files=hashes,
        part="test" if seen else "all",
        alpha=entry.alphas[index],
        timestamps=found.timestamps[known],
        seconds=(found.timestamps[known] - rows.timestamps[0]) / 1e3,
        mid=found.mid[known],
        spread=found.spread[known],
        volatility=volatility(rows, reference.window)[found.rows[known]],
        truth=found.truth[known, index].astype(np.int8),
        apart=found.score_apart(index),
        answers={
            name: RowAnswers(probabilities=one.probabilities[known], calls=one.calls[known], reason=one.reason)
            for name, one in answers.items()
        },
    )


def entry_of(predictor: Predictor, spelling: str, *, named: bool) -> MarketCard:
    """The card's entry that is named, or recognised in a recording's name.

    Raises:
        ValueError: where the card has no entry of the name.
    """
    if not named:
        return predictor.market(spelling)
    if spelling not in predictor.markets:
        raise ValueError(
            compose(
                "the card of {name!r} has no market {market!r}: it has {there}",
                name=predictor.card["name"],
                market=spelling,
                there=", ".join(predictor.markets),
            )
        )
    return predictor.markets[spelling]


def volatility(rows: BookRows, steps: int) -> FloatArray:
    """(n,) standard deviation of the mid's moves over the last `steps` rows, basis points; of fewer at a stretch's start."""
    out = np.zeros(len(rows))
    for stretch in segments(rows.timestamps):
        moves = np.diff(np.log(rows.mid[stretch]), prepend=np.log(rows.mid[stretch.start])) * 1e4
        sums = [np.concatenate([[0.0], np.cumsum(values)]) for values in (moves, moves**2)]
        t = np.arange(len(moves)) + 1
        count = np.minimum(t, steps)
        mean, square = ((one[t] - one[t - count]) / count for one in sums)
        out[stretch] = np.sqrt(np.maximum(square - mean**2, 0.0))
    return out


def _of_checkpoint(found: RowPredictions, index: int) -> RowAnswers:
    return RowAnswers(probabilities=found.probabilities[:, index], calls=found.calls[:, index].astype(np.int8))


def _aligned(answers: RowAnswers, mine: NDArray[np.int64], wanted: NDArray[np.int64]) -> RowAnswers:
    """The answers at the wanted rows; missing where there is none (a checkpoint with longer windows)."""
    place = np.minimum(np.searchsorted(mine, wanted), max(len(mine) - 1, 0))
    there = mine[place] == wanted if len(mine) else np.zeros(len(wanted), dtype=bool)
    p = np.full((len(wanted), 3), np.nan, dtype=np.float32)
    calls = np.full(len(wanted), NO_CALL, dtype=np.int8)
    p[there], calls[there] = answers.probabilities[place[there]], answers.calls[place[there]]
    return RowAnswers(probabilities=p, calls=calls)
