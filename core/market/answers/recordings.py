"""The recordings of a folder, and everyone's answers at every row of each, for one label and horizon."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core import checkpoints
from core.market.answers.naive import CALLERS, momentum_calls, naive_answers
from core.market.answers.predictions import RowPredictions, predict_rows, require_scorable
from core.market.answers.recalibration import Thresholds, recalibrate_file
from core.market.answers.table import NO_CALL, Answered, Scores, Table
from core.market.answers.value import call_value
from core.market.book import BookError, BookRows, FloatArray
from core.market.grid import segments
from core.market.labels import UNKNOWN, Head
from core.market.predictor import MarketCard, Predictor
from core.market.store.index import Recording, market_of, recording_of
from core.market.store.rows import read_market
from core.market.store.segments import below_library
from core.messages import BadValue

TEST_START: Final = 0.8
"""Share of a file after which no row was trained on or validated with (D10)."""
SUFFIXES: Final = (".parquet", ".csv")
WRITTEN: Final = "written"
"""Name of the first checkpoint's probabilities as it gave them, beside the recalibrated ones."""


def find_recordings(places: Iterable[Path]) -> list[Recording]:
    """The recordings in these folders, at any depth, and these files, as their names tell them; in order of these.

    Trades beside the books, hidden files and tables without a book's columns are passed over in folders.

    Raises:
        BookError: where a place is not there, or nothing is found.
    """
    groups: dict[str, dict[str, Path]] = {}  # files of a recording by their paths below the place
    places = list(places)
    for place in places:
        if not place.exists():
            raise BookError("{place} is not there: name a folder of recordings, or order-book files", place=place.name)
        inside = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in SUFFIXES)
        for path in inside:
            relative = path.relative_to(place) if place.is_dir() else Path(below_library(path.resolve()))
            name = recording_of(relative.as_posix())
            if place.is_dir() and (name is None or not _holds_books(path)):
                continue
            files = groups.setdefault(name or path.stem, {})
            if files.setdefault(relative.as_posix(), path).resolve() != path.resolve():
                raise BookError(
                    "two folders hold a file {name}: name the folder above them, or one of them", name=relative.as_posix()
                )
    if not groups:
        names = ", ".join(place.name for place in places)
        raise BookError(
            "{names} holds no order-book file: Parquet or CSV with timestamp, ask_price_1 and so on is right", names=names
        )
    return [
        Recording(name=name, market=market_of(name), files=tuple(map(str, files.values())))
        for name, files in sorted(groups.items())
    ]


def trained_on(card: dict[str, object], hashes: Sequence[str]) -> bool:
    """Tells whether a checkpoint learned from one of the files."""
    data = card["data"]
    known = {row["sha256"] for row in data if "sha256" in row} if isinstance(data, list) else set()
    return not known.isdisjoint(hashes)


def _holds_books(path: Path) -> bool:
    """Tells whether a table has a book's columns; a file that cannot be read is left for the reader to complain about."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", errors="replace") as file:
            return "ask_price_1" in file.readline()
    try:
        return "ask_price_1" in pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        return True


@dataclass(frozen=True, kw_only=True)
class ScoredDay:
    """A recording's scored rows, those whose outcome is known.

    Attributes:
        recording: its name. market: the entry of the first checkpoint's card.
        part: "all", or "test" where a checkpoint was trained on it. alpha: of the label, a fraction of the price.
        stalled: rows of a stalled book (D32), which are not among these.
        about: more of the first checkpoint, as JSON's object (docs/evaluate_json.md, `recordings`).
        table: with `second` from the recording's first row, and `volatility`, the standard deviation of the mid's last steps
            before the row, basis points.
    """

    recording: str
    market: str
    part: str
    alpha: float
    stalled: int
    about: dict[str, Any]
    table: Table


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Options by which recordings are scored.

    Attributes:
        head: label and horizon.
        market: entry of the first checkpoint's card; recognised by the recording's name where None.
        every: score every so many-th row. part: "auto", or "test" or "all" to insist.
        thresholds: recalibrate the first checkpoint from the recording's own past, with label thresholds from there; its
            probabilities as it gave them are then the forecaster `WRITTEN`. None to take them as they are.
    """

    head: Head
    market: str | None = None
    every: int = 1
    part: str = "auto"
    thresholds: Thresholds | None = None


def score_day(
    day: Recording, models: Mapping[str, Predictor], by: Scoring, *, progress: Callable[[int, int], None] | None = None
) -> ScoredDay:
    """Ask everyone at each row that ends a whole window, and keep the rows whose outcome is known.

    A checkpoint calls by its card's rules, as on the live page. A recording that one of the checkpoints was trained on is scored
    on its test part alone, unless `by.part` says otherwise.

    Args:
        models: checkpoints by name, the first of which sets labels and thresholds.
        progress: called with (windows done, windows in all).

    Raises:
        BookError: where a file cannot be read, is too short, or has too few outcomes. ValueError: for a head that a checkpoint
            lacks, or an entry that the card lacks.
    """
    rows, hashes = read_market(day.paths), [checkpoints.sha256(path) for path in day.paths]
    (first_name, reference), *others = models.items()
    seen = by.part == "test" or (by.part == "auto" and any(trained_on(one.card, hashes) for one in models.values()))
    # of a test part a window and the longest horizon lie between its first row and what was trained on (D10)
    reach = max(one.window + max(h for _, h in one.heads) for one in models.values())
    first = int(len(rows) * TEST_START) + reach if seen else 0
    entry = entry_of(reference, by.market or day.name, named=by.market is not None)

    def report(place: int) -> Callable[[int, int], None] | None:
        return progress and (lambda done, total: progress(place * total + done, len(models) * total))

    index = reference.head(*by.head)
    require_scorable(reference, rows, [index], first)
    predicted = predict_rows(reference, rows, entry, first=first, every=by.every, progress=report(0))
    truth, momentum, alpha = predicted.truth[:, index], predicted.momentum[:, index], entry.alphas[index]
    answers, about = {first_name: predicted.answers(index)}, dict[str, Any](call=entry.rules[index].kind)
    if by.thresholds is None:
        scored = np.flatnonzero(truth != UNKNOWN)
    else:
        again, scored, recalibrated = recalibrate_file(predicted, rows, entry, index, thresholds=by.thresholds)
        answers = {first_name: replace(answers[first_name], probabilities=again.adapted), WRITTEN: answers[first_name]}
        truth, alpha, about = again.truth, again.alpha, about | recalibrated
        momentum = momentum_calls(rows, [by.head], [alpha])[predicted.rows, 0]
    for place, (name, other) in enumerate(others, 1):
        mine = predict_rows(other, rows, other.market(day.name), first=first, every=by.every, progress=report(place))
        answers[name] = _aligned(mine.answers(other.head(*by.head)), mine.rows, predicted.rows)
    answers |= naive_answers(predicted.timestamps, truth, momentum, by.head[1])
    table = _table(by.head, predicted, rows, truth, answers, reference.window)[scored]
    scores = Scores.of(table.truth, table.answers[first_name])
    # The mean move after a call stands once, among the scores of the scored rows (`core.market.answers.report`).
    whole = predicted.of_head(index)
    worth = {rule: call_value(whole.call_rows(rule)).summary() for rule in CALLERS}
    for one in worth.values():
        del one["move_bps"]
    about |= {"call_gap": round(scores.call_gap, 4), "confusion": scores.confusion.tolist(), "value": worth}
    return ScoredDay(
        recording=day.name,
        market=entry.name,
        part="test" if seen else "all",
        alpha=alpha,
        stalled=int(predicted.stalled.sum()),
        about=about,
        table=table,
    )


def _table(
    head: Head,
    predicted: RowPredictions,
    rows: BookRows,
    truth: NDArray[np.int64],
    answers: Mapping[str, Answered],
    steps: int,
) -> Table:
    """The answers in small types: months of recordings are kept at once."""
    columns = {
        "timestamp": predicted.timestamps,
        "truth": truth.astype(np.int8),
        "second": (predicted.timestamps - rows.timestamps[0]) / 1e3,
        "mid": predicted.mid,
        "spread": predicted.spread,
        "volatility": volatility(rows, steps)[predicted.rows],
    }
    small = {
        name: replace(one, calls=one.calls.astype(np.int8), probabilities=one.probabilities.astype(np.float32))
        for name, one in answers.items()
    }
    return Table(head=head, rows=pd.DataFrame(columns), answers=small)


def entry_of(predictor: Predictor, spelling: str, *, named: bool) -> MarketCard:
    """The card's entry that is named, or recognised in a recording's name.

    Raises:
        ValueError: where the card has no entry of the name.
    """
    if not named:
        return predictor.market(spelling)
    if spelling not in predictor.markets:
        raise BadValue(
            "the card of {name!r} has no market {market!r}: it has {there}",
            name=predictor.card["name"],
            market=spelling,
            there=", ".join(predictor.markets),
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


def _aligned(answers: Answered, mine: NDArray[np.int64], wanted: NDArray[np.int64]) -> Answered:
    """The answers at the wanted rows; missing where there is none (a checkpoint with longer windows)."""
    place = np.minimum(np.searchsorted(mine, wanted), max(len(mine) - 1, 0))
    there = mine[place] == wanted if len(mine) else np.zeros(len(wanted), dtype=bool)
    p, calls = np.full((len(wanted), 3), np.nan), np.full(len(wanted), NO_CALL)
    p[there], calls[there] = answers.probabilities[place[there]], answers.calls[place[there]]
    return Answered(probabilities=p, calls=calls)
