"""Predictions at every row of a file against a loop over rows, and their evaluation against scikit-learn's scores."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, log_loss, matthews_corrcoef

from core.market.answers import predictions
from core.market.answers.predictions import HeadResult, RowPredictions, evaluate, predict_rows
from core.market.book import BookError, FloatArray
from core.market.grid import segments
from core.market.labels import UNKNOWN, moves_after
from core.market.predictor import MarketCard, Predictor, windows_of
from tests.core.market.helpers import HEADS, naive_class, naive_label, real_rows, with_hole, with_stall

ROWS = with_hole(with_hole(real_rows(1), 90, 7), 260, 1)


@pytest.fixture(scope="module")
def found(predictor: Predictor, entry: MarketCard) -> RowPredictions:
    return predict_rows(predictor, ROWS, entry)


@pytest.fixture(scope="module")
def results(predictor: Predictor, entry: MarketCard) -> dict[int, list[HeadResult]]:
    """By the first row that is scored."""
    return {first: evaluate(predictor, ROWS, entry, first=first) for first in (0, 170)}


def test_every_row_equals_the_loop(predictor: Predictor, entry: MarketCard, found: RowPredictions) -> None:
    rows, windows = list[int](), list[FloatArray]()
    for stretch in segments(ROWS.timestamps):
        mid = ROWS.mid[stretch]
        for t in range(predictor.window - 1, len(mid)):
            place, row = len(rows), stretch.start + t
            rows.append(row)
            windows.append(ROWS.levels[row - predictor.window + 1 : row + 1])
            assert (found.timestamps[place], found.mid[place]) == (ROWS.timestamps[row], mid[t])
            for head, (kind, horizon) in enumerate(HEADS):
                recent = mid[t + 1 - min(10, horizon) : t + 1]
                assert found.momentum[place, head] == naive_class(mid[t] / (sum(recent) / len(recent)) - 1, entry.alphas[head])
                assert found.truth[place, head] == naive_class(naive_label(mid, t, horizon, kind), entry.alphas[head])
    answers = predictor.predict(np.stack(windows), entry, batch=100)
    assert found.rows.tolist() == rows and len(rows) == 400 - 3 * (predictor.window - 1)
    np.testing.assert_allclose(found.probabilities, answers.probabilities, atol=1e-5)
    np.testing.assert_array_equal(found.calls, answers.calls)


def test_what_progress_raises_ends_the_work(predictor: Predictor, entry: MarketCard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "BATCH", 50)
    told: list[tuple[int, int]] = []

    def stop_at_second(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        predict_rows(predictor, ROWS, entry, progress=stop_at_second)
    assert told == [(50, 331), (100, 331)]


@pytest.mark.parametrize("first", [0, 170])
@pytest.mark.parametrize("head", [0, 3])
def test_confusion_matrices_equal_scikit_learns(
    found: RowPredictions, results: dict[int, list[HeadResult]], entry: MarketCard, head: int, first: int
) -> None:
    scored = (found.rows >= first) & (found.truth[:, head] != UNKNOWN)
    truth, called, naive = (one[scored, head] for one in (found.truth, found.calls, found.momentum))
    result = results[first][head]
    assert result.head == HEADS[head]
    for rule, calls in (("tlob", called), ("momentum", naive), ("stationary", np.ones(len(truth)))):
        assert result.scores[rule].confusion.tolist() == confusion_matrix(truth, calls, labels=[0, 1, 2]).tolist()
    summary = result.summary()
    assert summary["samples"] == len(truth)
    assert summary["macro_f1"] == pytest.approx(f1_score(truth, called, average="macro"), abs=5e-5)
    assert summary["matthews"] == pytest.approx(matthews_corrcoef(truth, called), abs=5e-5)
    assert summary["accuracy"] == pytest.approx((truth == called).mean(), abs=5e-5)
    assert summary["baselines"]["momentum"]["macro_f1"] == pytest.approx(f1_score(truth, naive, average="macro"), abs=5e-5)
    assert summary["baselines"]["stationary"]["matthews"] == 0
    assert summary["call"] == entry.rules[head].kind == ("threshold" if head else "likeliest")


def test_calibration_is_of_the_likeliest_class_and_calls_have_a_name_of_their_own(
    found: RowPredictions, results: dict[int, list[HeadResult]]
) -> None:
    """Head 3 leans, so that what is called is often not the likeliest class."""
    known, result = found.truth[:, 3] != UNKNOWN, results[0][3]
    truth, called, p = found.truth[known, 3], found.calls[known, 3], found.probabilities[known, 3].astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)

    def gap(label: np.ndarray) -> float:
        confidence, hit = p[np.arange(len(p)), label], label == truth
        bins = np.minimum((confidence * 15).astype(int), 14)
        return sum((bins == b).mean() * abs(confidence[bins == b].mean() - hit[bins == b].mean()) for b in set(bins.tolist()))

    assert (called != p.argmax(axis=1)).mean() > 0.05
    assert result.scores["tlob"].ece == pytest.approx(gap(p.argmax(axis=1)), abs=1e-5)
    assert result.scores["tlob"].call_gap == pytest.approx(gap(called), abs=1e-5)
    assert result.scores["tlob"].log_loss == pytest.approx(log_loss(truth, p, labels=[0, 1, 2]), abs=1e-5)
    assert abs(result.scores["tlob"].ece - result.scores["tlob"].call_gap) > 1e-3


def test_what_is_asked_of_a_file_too_short_is_refused(predictor: Predictor, entry: MarketCard) -> None:
    rows = real_rows(1)
    need = predictor.window + 20
    sentence = f"no stretch of {need} rows without a gap from row 0 on: a window of {predictor.window} rows and 20 more"
    assert len(predict_rows(predictor, rows[: predictor.window - 1], entry)) == 0
    with pytest.raises(BookError, match=sentence):
        evaluate(predictor, rows[: need - 1], entry)
    assert [r.scores["tlob"].samples for r in evaluate(predictor, rows[:need], entry)] == [11, 11, 1, 16]
    with pytest.raises(BookError, match=sentence):
        evaluate(predictor, with_hole(rows, 50, 3)[20:80], entry)
    with pytest.raises(BookError, match="without a gap from row 390 on: a window"):
        evaluate(predictor, rows, entry, first=390)
    assert evaluate(predictor, rows, entry, first=379)[2].scores["tlob"].samples == 1


def test_a_book_that_stands_still_for_minutes_is_not_scored(predictor: Predictor, entry: MarketCard) -> None:
    """Ten minutes in which nothing happens would make any forecaster of STATIONARY look good."""
    quiet = with_stall(real_rows(1), 200, 2_400)
    ends = np.arange(predictor.window - 1, len(quiet))
    calls = predictor.predict(windows_of(quiet.levels, ends, predictor.window), entry).calls
    mid = quiet.mid.tolist()
    for head, ((kind, horizon), result) in enumerate(zip(HEADS, evaluate(predictor, quiet, entry), strict=True)):
        truth, called, stalled = [], [], 0
        for row in range(predictor.window - 1, len(quiet)):
            label = naive_class(naive_label(mid, row, horizon, kind), entry.alphas[head])
            if label == -1:
                continue
            call = int(calls[row - predictor.window + 1, head])
            if 200 + 480 <= row <= 200 + 2_400:  # nothing has changed for two minutes
                stalled += 1
            else:
                truth.append(label)
                called.append(call)
        assert result.scores["tlob"].confusion.tolist() == confusion_matrix(truth, called, labels=[0, 1, 2]).tolist()
        assert stalled > 1_900
        assert np.isnan(moves_after(quiet, HEADS[head])[680:2_601]).all()  # nor is anything learnt from it
