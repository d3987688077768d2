"""The evaluation of whole files against a loop over rows, and scikit-learn's scores."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, log_loss, matthews_corrcoef

from core.market.answers.predictions import evaluate
from core.market.book import BookError
from core.market.grid import segments
from core.market.labels import moves_after
from core.market.predictor import MarketCard, Predictor
from tests.core.market.helpers import HEADS, naive_class, naive_label, real_rows, with_hole, with_stall

ROWS = with_hole(with_hole(real_rows(1), 90, 7), 260, 1)


def row_by_row(predictor: Predictor, entry: MarketCard, head: int, first: int) -> tuple[list[int], list[int], list[int]]:
    kind, horizon = HEADS[head]
    truth, called, naive = [], [], []
    for stretch in segments(ROWS.timestamps):
        mid = ROWS.mid[stretch]
        for t in range(predictor.window - 1, len(mid)):
            row = stretch.start + t
            label = naive_class(naive_label(mid, t, horizon, kind), entry.alphas[head])
            if row < first or label == -1:
                continue
            truth.append(label)
            called.append(int(predictor.predict(ROWS.levels[None, row - predictor.window + 1 : row + 1], entry).calls[0, head]))
            recent = mid[t + 1 - min(10, horizon) : t + 1]
            naive.append(naive_class(mid[t] / (sum(recent) / len(recent)) - 1, entry.alphas[head]))
    return truth, called, naive


@pytest.mark.parametrize("first", [0, 170])
@pytest.mark.parametrize("head", [0, 3])
def test_confusion_matrices_equal_the_loop(predictor: Predictor, entry: MarketCard, head: int, first: int) -> None:
    truth, called, naive = row_by_row(predictor, entry, head, first)
    result = evaluate(predictor, ROWS, entry, first=first)[head]
    assert result.head == HEADS[head]
    for rule, calls in (("tlob", called), ("momentum", naive), ("stationary", [1] * len(truth))):
        assert result.scores[rule].confusion.tolist() == confusion_matrix(truth, calls, labels=[0, 1, 2]).tolist()
    summary = result.summary()
    assert summary["samples"] == len(truth)
    assert summary["macro_f1"] == pytest.approx(f1_score(truth, called, average="macro"), abs=5e-5)
    assert summary["matthews"] == pytest.approx(matthews_corrcoef(truth, called), abs=5e-5)
    assert summary["accuracy"] == pytest.approx(np.mean(np.array(truth) == called), abs=5e-5)
    assert summary["baselines"]["momentum"]["macro_f1"] == pytest.approx(f1_score(truth, naive, average="macro"), abs=5e-5)
    assert summary["baselines"]["stationary"]["matthews"] == 0
    assert summary["call"] == entry.rules[head].kind == ("threshold" if head else "likeliest")


def test_calibration_is_of_the_likeliest_class_and_calls_have_a_name_of_their_own(
    predictor: Predictor, entry: MarketCard
) -> None:
    """Head 3 leans, so that what is called is often not the likeliest class."""
    probabilities, calls, truth = [], [], []
    for stretch in segments(ROWS.timestamps):
        mid = ROWS.mid[stretch]
        for t in range(predictor.window - 1, len(mid)):
            label = naive_class(naive_label(mid, t, *HEADS[3][::-1]), entry.alphas[3])
            if label != -1:
                row = stretch.start + t
                answer = predictor.predict(ROWS.levels[None, row - predictor.window + 1 : row + 1], entry)
                probabilities.append(answer.probabilities[0, 3])
                calls.append(int(answer.calls[0, 3]))
                truth.append(label)
    p, called, t = np.array(probabilities, dtype=np.float64), np.array(calls), np.array(truth)
    p /= p.sum(axis=1, keepdims=True)
    result = evaluate(predictor, ROWS, entry)[3]

    def gap(label: np.ndarray) -> float:
        confidence, hit = p[np.arange(len(p)), label], label == t
        bins = np.minimum((confidence * 15).astype(int), 14)
        return sum((bins == b).mean() * abs(confidence[bins == b].mean() - hit[bins == b].mean()) for b in set(bins.tolist()))

    assert (called != p.argmax(axis=1)).mean() > 0.05
    assert result.scores["tlob"].ece == pytest.approx(gap(p.argmax(axis=1)), abs=1e-5)
    assert result.scores["tlob"].call_gap == pytest.approx(gap(called), abs=1e-5)
    assert result.scores["tlob"].log_loss == pytest.approx(log_loss(t, p, labels=[0, 1, 2]), abs=1e-5)
    assert abs(result.scores["tlob"].ece - result.scores["tlob"].call_gap) > 1e-3


def test_what_is_asked_of_a_file_too_short_is_refused(predictor: Predictor, entry: MarketCard, tmp_path: Path) -> None:
    rows = real_rows(1)
    need = predictor.window + 20
    sentence = f"no stretch of {need} rows without a gap from row 0 on: a window of {predictor.window} rows and 20 more"
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
    windows = np.lib.stride_tricks.sliding_window_view(quiet.levels, predictor.window, axis=0).transpose(0, 2, 1)
    parts = (np.ascontiguousarray(windows[first : first + 250]) for first in range(0, len(windows), 250))
    calls = np.concatenate([predictor.predict(part, entry).calls for part in parts])
    for head, (kind, horizon) in enumerate(HEADS):
        result = evaluate(predictor, quiet, entry)[head]
        truth, called, stalled = [], [], 0
        for row in range(predictor.window - 1, len(quiet)):
            label = naive_class(naive_label(quiet.mid, row, horizon, kind), entry.alphas[head])
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
