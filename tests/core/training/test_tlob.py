"""Preparing markets and drawing windows: splits that do not touch, thresholds that know only the training part, fair odds."""

from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, matthews_corrcoef
from torch.nn import functional as F

from core.market.book import BookRows
from core.market.features import DRIFT_COLUMNS, fit_constants, transform
from core.models.tlob import upside_down
from core.training.tlob import MarketData, TLOBTask, TLOBTraining, fit_rules, gather, predict, prepare_market
from tests.core.market.helpers import HEADS, naive_class, naive_label, random_book, tiny_config, tiny_model, with_hole

WINDOW, LONGEST = 24, 20
ROWS = random_book(1_500, 21)
HOLED = with_hole(with_hole(random_book(1_500, 22), 400, 3), 1_310, 50)


@pytest.fixture(scope="module")
def market() -> MarketData:
    return prepare_market("testville", ROWS, HEADS, WINDOW)


@pytest.mark.parametrize("rows", [ROWS, HOLED], ids=["whole", "holed"])
def test_windows_lie_in_one_stretch_and_none_of_a_later_part_meets_a_label_of_an_earlier_one(rows: BookRows) -> None:
    market = prepare_market("m", rows, HEADS, WINDOW)
    reach = {part: (int(ends.min()) - WINDOW + 1, int(ends.max()) + LONGEST) for part, ends in market.ends.items()}
    assert reach["train"][1] < reach["validation"][0]
    assert reach["validation"][1] < reach["test"][0]
    assert reach["train"][1] < 1_050 <= reach["validation"][0]
    assert reach["validation"][1] < 1_200 <= reach["test"][0]
    assert reach["test"][1] < 1_500
    for end in np.concatenate(list(market.ends.values())).tolist():
        times = rows.timestamps[end - WINDOW + 1 : end + LONGEST + 1]
        assert len(times) == WINDOW + LONGEST
        assert times[-1] - times[0] == 250 * (WINDOW + LONGEST - 1)


def test_no_row_that_could_be_used_is_left_out(market: MarketData) -> None:
    gap = WINDOW + LONGEST
    assert market.ends["train"].tolist() == list(range(WINDOW - 1, 1_050 - LONGEST))
    assert market.ends["validation"].tolist() == list(range(1_050 + gap, 1_200 - LONGEST))
    assert market.ends["test"].tolist() == list(range(1_200 + gap, 1_500 - LONGEST))


def test_labels_and_thresholds_equal_the_loop(market: MarketData) -> None:
    mid = ROWS.mid
    for head, (kind, horizon) in enumerate(HEADS):
        moves = [naive_label(mid, t, horizon, kind) for t in range(len(mid))]
        inside = [move for t, move in enumerate(moves) if t + horizon < 1_050 and not np.isnan(move)]
        assert market.alphas[head] == pytest.approx(np.mean(np.abs(inside)) / 2, rel=1e-9)
        assert market.labels[:, head].tolist() == [naive_class(move, market.alphas[head]) for move in moves]
    assert market.constants == fit_constants(ROWS.levels[:1_050], WINDOW)


def changed_from(first: int, stop: int) -> BookRows:
    levels = ROWS.levels.copy()
    levels[first:stop, 0::2] *= np.linspace(1, 3, stop - first)[:, None]
    levels[first:stop, 1::2] *= 50
    return BookRows(timestamps=ROWS.timestamps, levels=levels)


def test_what_comes_after_the_training_part_changes_nothing_in_it(market: MarketData) -> None:
    other = prepare_market("testville", changed_from(1_050, 1_500), HEADS, WINDOW)
    assert other.alphas == market.alphas
    assert other.constants == market.constants
    train = market.ends["train"]
    assert np.array_equal(other.labels[train], market.labels[train])
    assert np.array_equal(gather(other, train, "flow"), gather(market, train, "flow"))
    tasks = [TLOBTask([m], TLOBTraining()) for m in (market, other)]
    assert np.array_equal(tasks[0].weights[0], tasks[1].weights[0])
    assert np.array_equal(tasks[0].odds[0], tasks[1].odds[0])


def test_what_happens_in_the_training_part_does_change_it(market: MarketData) -> None:
    other = prepare_market("testville", changed_from(1_000, 1_050), HEADS, WINDOW)
    assert all(a != b for a, b in zip(other.alphas, market.alphas, strict=True))
    assert other.constants != market.constants


@pytest.mark.parametrize(("rows", "part"), [(60, "train"), (100, "validation"), (640, "validation")])
def test_a_market_too_short_for_three_parts_is_refused(rows: int, part: str) -> None:
    with pytest.raises(ValueError, match=f"m has no window for {part} in its {rows} rows: a part, of which"):
        prepare_market("m", ROWS[:rows], HEADS, WINDOW)


def test_one_row_more_than_that_is_enough() -> None:
    """Validation is the smallest part: a tenth, of which a window and two horizons are lost."""
    market = prepare_market("m", ROWS[:660], HEADS, WINDOW)
    first, second = int(660 * 0.7), int(660 * 0.8)
    sizes = [first - 20 - 23, second - first - 24 - 40, 660 - second - 24 - 40]
    assert [len(market.ends[part]) for part in ("train", "validation", "test")] == sizes
    assert sizes[1] == 3


def test_holes_everywhere_leave_nothing_to_train_on() -> None:
    timestamps = ROWS.timestamps + 250 * (np.arange(len(ROWS)) // 40)
    with pytest.raises(ValueError, match="m has no window for train in its 1500 rows"):
        prepare_market("m", BookRows(timestamps=timestamps, levels=ROWS.levels), HEADS, WINDOW)


def test_a_horizon_longer_than_the_training_part_leaks_nothing() -> None:
    with pytest.raises(ValueError, match="no move is known"):
        prepare_market("m", ROWS[:140], [("smoothed", 100)], WINDOW)


# -- what is drawn --------------------------------------------------------------------------------------------------------


def quiet_market() -> MarketData:
    return prepare_market("quiet", random_book(1_500, 30, pace=0.02), HEADS, WINDOW)


def test_class_weights_equal_the_loop(market: MarketData) -> None:
    task = TLOBTask([market], TLOBTraining(class_weight_power=0.5))
    for head in range(len(HEADS)):
        counts = Counter(market.labels[market.ends["train"], head].tolist())
        total = sum(counts.values())
        raw = {k: (counts[k] / total) ** -0.5 for k in range(3)}
        mean = sum(raw[k] * counts[k] for k in range(3)) / total
        np.testing.assert_allclose(task.weights[0][head], [raw[k] / mean for k in range(3)], rtol=1e-6)
    assert TLOBTask([market], TLOBTraining(class_weight_power=0.0)).weights[0] == pytest.approx(1.0)


def test_a_window_that_stood_still_is_drawn_less_often() -> None:
    market = quiet_market()
    task = TLOBTask([market], TLOBTraining(quiet=0.3, quiet_steps=16))
    mid, ends = market.rows.mid, market.ends["train"]
    still = np.array([len(set(mid[max(0, end - 16) : end + 1].tolist())) == 1 for end in ends])
    assert 0.2 < still.mean() < 0.9
    odds = task.odds[0] / task.odds[0].max()
    np.testing.assert_allclose(odds, np.where(still, 0.3, 1.0))
    assert task.odds[0].sum() == pytest.approx(1)


def test_odds_know_nothing_of_the_future() -> None:
    market = quiet_market()
    end = 500
    levels = market.rows.levels.copy()
    levels[end + 1 :] = random_book(1_500, 31).levels[end + 1 :]
    other = prepare_market("quiet", BookRows(timestamps=market.rows.timestamps, levels=levels), HEADS, WINDOW)
    settings = TLOBTraining(quiet=0.3)
    lively = [TLOBTask([m], settings).odds[0] > 0.9 * TLOBTask([m], settings).odds[0].max() for m in (market, other)]
    upto = market.ends["train"] <= end
    assert np.array_equal(lively[0][upto], lively[1][upto])
    assert not np.array_equal(lively[0][~upto], lively[1][~upto])


def windows_by_content(market: MarketData, settings: TLOBTraining) -> dict[bytes, int]:
    ends = market.ends["train"]
    return {x.tobytes(): int(end) for x, end in zip(gather(market, ends, settings.transform), ends, strict=True)}


def test_batches_are_training_windows_with_their_labels_and_weights(market: MarketData) -> None:
    settings = TLOBTraining(batch=32, windows_per_epoch=330, flip=0.0)
    task, known = TLOBTask([market], settings), windows_by_content(market, TLOBTraining())
    batches = list(task.batches(0))
    assert len(batches) == task.steps_per_epoch == 10
    drawn = []
    for x, y, w in batches:
        assert x.shape == (32, WINDOW, 52)
        assert (x.dtype, y.dtype, w.dtype) == (torch.float32, torch.int64, torch.float32)
        for window, labels, weights in zip(x.numpy(), y.numpy(), w.numpy(), strict=True):
            end = known[window.tobytes()]  # fails for a window that is not of the training part
            drawn.append(end)
            assert labels.tolist() == market.labels[end].tolist()
            assert weights.tolist() == [task.weights[0][head, label] for head, label in enumerate(labels)]
    assert len(set(drawn)) == len(drawn)  # without replacement while there are enough
    assert np.std(np.diff(drawn)) > 100  # and shuffled


def test_flipped_batches_are_mirrored_in_inputs_and_labels(market: MarketData) -> None:
    plain, flipped = (
        list(TLOBTask([market], TLOBTraining(batch=32, windows_per_epoch=128, flip=flip)).batches(3)) for flip in (0.0, 1.0)
    )
    for (x, y, w), (mirrored_x, mirrored_y, mirrored_w) in zip(plain, flipped, strict=True):
        assert torch.equal(mirrored_x, upside_down(x, len(DRIFT_COLUMNS)))
        assert torch.equal(mirrored_y, 2 - y)
        assert torch.equal(mirrored_w, w)
    raw = TLOBTraining(batch=32, windows_per_epoch=128, flip=1.0, transform="raw")
    for (_, y, _), (_, kept, _) in zip(plain, TLOBTask([market], raw).batches(3), strict=True):
        assert torch.equal(kept, y)  # raw inputs have no mirror image


def test_an_epoch_is_the_same_each_time_and_unlike_the_next(market: MarketData) -> None:
    settings = TLOBTraining(batch=16, windows_per_epoch=64)

    def inputs(seed: int, epoch: int) -> torch.Tensor:
        task = TLOBTask([market], TLOBTraining(**{**vars(settings), "seed": seed}))
        return torch.cat([x for x, _, _ in task.batches(epoch)])

    assert torch.equal(inputs(0, 0), inputs(0, 0))
    assert not torch.equal(inputs(0, 0), inputs(0, 1))
    assert not torch.equal(inputs(0, 0), inputs(1, 0))


def test_markets_are_drawn_by_their_shares(market: MarketData) -> None:
    other = prepare_market("other", HOLED, HEADS, WINDOW)
    settings = TLOBTraining(batch=50, windows_per_epoch=400, shares={"testville": 3.0, "other": 1.0}, flip=0.0)
    task = TLOBTask([market, other], settings)
    known = [windows_by_content(m, settings) for m in (market, other)]
    found: Counter[int] = Counter()
    for x, y, _ in task.batches(0):
        for window, labels in zip(x.numpy(), y.numpy(), strict=True):
            which = 0 if window.tobytes() in known[0] else 1
            found[which] += 1
            source = (market, other)[which]
            assert labels.tolist() == source.labels[known[which][window.tobytes()]].tolist()
    assert found == {0: 300, 1: 100}


def test_more_windows_than_there_are_are_drawn_with_replacement(market: MarketData) -> None:
    task = TLOBTask([market], TLOBTraining(batch=100, windows_per_epoch=2_000))
    assert len(list(task.batches(0))) == 20


# -- loss and validation --------------------------------------------------------------------------------------------------


def test_loss_is_the_weighted_cross_entropy(market: MarketData) -> None:
    task = TLOBTask([market], TLOBTraining(batch=8, windows_per_epoch=8))
    model = tiny_model(tiny_config())
    x, y, w = next(iter(task.batches(0)))
    logits = model(x)
    by_hand = sum(
        w[i, h] * -F.log_softmax(logits[i, h].double(), dim=0)[y[i, h]] for i in range(8) for h in range(len(HEADS))
    ) / (8 * len(HEADS))
    assert task.loss(model, (x, y, w)).item() == pytest.approx(by_hand.item(), rel=1e-5)


def test_logits_do_not_hang_on_the_batch(market: MarketData) -> None:
    model, ends = tiny_model(tiny_config()), market.ends["test"]
    whole = predict(model, market, ends, "flow", batch=1_000)
    assert whole.shape == (len(ends), len(HEADS), 3)
    np.testing.assert_allclose(predict(model, market, ends, "flow", batch=13), whole, atol=1e-5)
    with torch.no_grad():
        alone = model(torch.from_numpy(transform(ROWS.levels[None, ends[5] - 23 : ends[5] + 1], "flow", market.constants)))
    np.testing.assert_allclose(alone.numpy()[0], whole[5], atol=1e-5)


def test_validation_scores_equal_scikit_learn(market: MarketData) -> None:
    other = prepare_market("other", HOLED, HEADS, WINDOW)
    task, model = TLOBTask([market, other], TLOBTraining(validation_stride=2)), tiny_model(tiny_config())
    found = task.validate(model)
    expected: dict[str, float] = {}
    for m in (market, other):
        ends = m.ends["validation"][::2]
        logits = predict(model, m, ends, "flow", fast=True)
        truth = m.labels[ends]
        calls = [rule.call(rule.probabilities(logits[:, i])) for i, rule in enumerate(fit_rules(HEADS, truth, logits))]
        expected[f"{m.name}/smoothed"] = np.mean([f1_score(truth[:, i], calls[i], average="macro") for i in (0, 2)])
        expected[f"{m.name}/forward"] = np.mean([matthews_corrcoef(truth[:, i], calls[i]) for i in (1, 3)])
    assert found.pop("score") == pytest.approx(np.mean(list(expected.values())))
    assert found == pytest.approx(expected)
