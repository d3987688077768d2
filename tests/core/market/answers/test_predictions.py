"""Predictions at every row of a file against a loop over rows."""

import numpy as np
import pytest

from core.market.answers.predictions import RowPredictions, predict_rows
from core.market.grid import segments
from core.market.predictor import MarketCard, Predictor
from tests.core.market.helpers import HEADS, naive_class, naive_label, real_rows, with_hole

ROWS = with_hole(with_hole(real_rows(1), 90, 7), 260, 1)


@pytest.fixture(scope="module")
def found(predictor: Predictor, entry: MarketCard) -> RowPredictions:
    return predict_rows(predictor, ROWS, entry)


def test_every_row_equals_the_loop(predictor: Predictor, entry: MarketCard, found: RowPredictions) -> None:
    place = 0
    for stretch in segments(ROWS.timestamps):
        mid = ROWS.mid[stretch]
        for t in range(predictor.window - 1, len(mid)):
            row = stretch.start + t
            answer = predictor.predict(ROWS.levels[None, row - predictor.window + 1 : row + 1], entry)
            assert (found.rows[place], found.timestamps[place], found.mid[place]) == (row, ROWS.timestamps[row], mid[t])
            np.testing.assert_allclose(found.probabilities[place], answer.probabilities[0], atol=1e-5)
            assert found.calls[place].tolist() == answer.calls[0].tolist()
            for head, (kind, horizon) in enumerate(HEADS):
                recent = mid[t + 1 - min(10, horizon) : t + 1]
                assert found.momentum[place, head] == naive_class(mid[t] / (sum(recent) / len(recent)) - 1, entry.alphas[head])
                assert found.truth[place, head] == naive_class(naive_label(mid, t, horizon, kind), entry.alphas[head])
            place += 1
    assert place == len(found) == 400 - 3 * (predictor.window - 1)


def test_what_progress_raises_ends_the_work(predictor: Predictor, entry: MarketCard) -> None:
    told: list[tuple[int, int]] = []

    def stop_at_second(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        predict_rows(predictor, ROWS, entry, batch=50, progress=stop_at_second)
    assert told == [(50, 331), (100, 331)]


def test_rows_too_few_for_a_window_are_no_predictions(predictor: Predictor, entry: MarketCard) -> None:
    found = predict_rows(predictor, ROWS[: predictor.window - 1], entry)
    assert len(found) == 0
