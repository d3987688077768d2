"""What somebody may do to a ledger who can write its files, and what checking it says then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.market.book import BookRows
from core.market.labels import UNKNOWN
from core.market.ledger.chain import GAP, HEADER, PREDICTION, ROW, Entries, LedgerHeader
from core.market.ledger.recomputation import TOLERANCE, known_predictors
from core.market.ledger.scorecard import score_card
from core.market.ledger.segments import read_header
from core.market.ledger.verification import NOT_PROVEN, Verification, verify
from core.market.predictor import Predictor, identity, windows_of
from core.market.row_predictions import outcomes
from tests.core.market.helpers import HEADS, random_book
from tests.core.market.ledger.ledgers import (
    DAYS,
    MARKET,
    NAME,
    checked,
    entries_of,
    files,
    forged,
    predictions,
    reasons,
    rehashed,
    three_days,
    why,
    write_all,
    written,
)


def hindsight(entries: Entries, predictor: Predictor, at: np.ndarray) -> None:
    """The calls that would have been right, with probabilities to match, into some entries."""
    rows = entries["kind"] != GAP
    truth = np.full((len(entries), len(HEADS)), UNKNOWN)
    book = BookRows(timestamps=entries["timestamp"][rows], levels=entries["levels"][rows])
    truth[rows] = outcomes(book, HEADS, predictor.market(MARKET))
    entries["calls"][at] = np.where(truth[at] == UNKNOWN, 1, truth[at])
    entries["probabilities"][at] = np.eye(3, dtype=np.float32)[entries["calls"][at]] * 0.9 + 0.1 / 3


def test_an_honest_ledger_is_verified_by_its_newest_head(ledger: Path, shelf: Path, head: str) -> None:
    result = checked(ledger, shelf, head)
    told = len(predictions(entries_of(ledger / NAME)))
    assert result.state == "verified" and result.difference is None and not result.reasons()
    assert result.total("rows") == result.total("recomputed") == told > 100
    assert forged(ledger, lambda entries: None) == head  # the helper that forges changes nothing by itself
    assert checked(ledger, shelf, head).state == "verified"


def test_without_a_head_nothing_vouches_for_the_end(ledger: Path, shelf: Path) -> None:
    result = checked(ledger, shelf)
    assert result.state == "incomplete" and "no head of its chain was given" in reasons(result)
    assert result.total("recomputed") == result.total("rows") > 100


def test_records_rewritten_under_weights_that_nobody_has(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    before = score_card(checked(ledger, shelf, head)).set_index("head")

    def change(entries: Entries) -> None:
        at = predictions(entries)[5:]
        hindsight(entries, predictor, at)
        entries["weights"][at] = 7

    theirs = forged(ledger, change)
    for given in ((), (head,), (theirs,)):
        result = checked(ledger, shelf, *given)
        assert result.state == "incomplete" and result.total("recomputed") == 5
        assert "not known here" in reasons(result)
        assert result.to_dict()["left_out"] == {"model_unknown": result.total("rows") - 5}
        card = score_card(result).set_index("head")
        assert (card["samples"] == 5).all() and (card["samples"] < before["samples"]).all()


def test_hindsight_under_known_weights_does_not_follow_from_the_rows(ledger: Path, shelf: Path, predictor: Predictor) -> None:
    theirs = forged(ledger, lambda entries: hindsight(entries, predictor, predictions(entries)[20:]))
    result = checked(ledger, shelf, theirs)
    assert "a probability differs" in why(result)
    assert result.difference is not None and result.difference.row == 20
    assert score_card(result).empty  # what is broken is not scored


def test_a_call_that_does_not_follow_from_its_probabilities(ledger: Path, shelf: Path) -> None:
    def change(entries: Entries) -> None:
        calls = entries["calls"][predictions(entries)[33]]
        calls[1] = (calls[1] + 1) % 3

    result = checked(ledger, shelf, forged(ledger, change))
    assert "the call of forward_10" in why(result) and result.difference is not None and result.difference.row == 33


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_probabilities_that_are_no_numbers(ledger: Path, shelf: Path, value: float) -> None:
    def change(entries: Entries) -> None:
        at = predictions(entries)[3]
        entries["probabilities"][at], entries["calls"][at] = value, 0

    assert "a probability differs" in why(checked(ledger, shelf, forged(ledger, change)))


def test_every_record_written_before_its_row(ledger: Path, shelf: Path) -> None:
    def change(entries: Entries) -> None:
        entries["written_ms"] -= 60_000
        entries["confirmed_ms"] -= 60_000

    result = checked(ledger, shelf, forged(ledger, change))
    assert "written before the time of its row" in why(result)
    assert result.difference is not None and result.difference.entry == 0


def test_records_made_late_are_counted_beside_the_score(ledger: Path, shelf: Path, head: str) -> None:
    """Half of them, those that were wrong for choice: the score says what it would be with them."""
    before = score_card(checked(ledger, shelf, head)).set_index("head")

    def change(entries: Entries) -> None:
        entries["written_ms"][predictions(entries)[::2]] += 240

    theirs = forged(ledger, change)
    result = checked(ledger, shelf, theirs)
    card = score_card(result).set_index("head")
    assert result.total("late") == -(-result.total("rows") // 2) and (card["late"] > 0).all()
    assert (card["samples"] + card["late"] == before["samples"]).all()
    np.testing.assert_allclose(card["matthews_with_late"], before["matthews"])
    np.testing.assert_allclose(card["accuracy_with_late"], before["accuracy"])
    assert checked(ledger, shelf, head).state == "incomplete"


@pytest.mark.parametrize("how", ["files deleted", "written anew"])
def test_the_tail_deleted(ledger: Path, shelf: Path, head: str, how: str) -> None:
    entries = entries_of(ledger / NAME)
    cut = int(np.flatnonzero(entries["kind"] == GAP)[1])
    older, end = (entries["hash"][i].tobytes().hex() for i in (cut - 30, cut))
    if how == "files deleted":
        shutil.rmtree(ledger / NAME / DAYS[2])
        assert "newest segments are missing" in reasons(checked(ledger, shelf))
    else:
        assert written(ledger / NAME, read_header(ledger / NAME), entries[: cut + 1]) == end
    for given in ((), (older,), (head,), (older, head)):
        result = checked(ledger, shelf, *given)
        assert result.state == "incomplete", given
    assert "is in no chain here" in reasons(checked(ledger, shelf, head))
    assert "which nothing vouches for: 30" in reasons(checked(ledger, shelf, older))


def test_a_head_that_is_not_the_newest(ledger: Path, shelf: Path) -> None:
    entries = entries_of(ledger / NAME)
    result = checked(ledger, shelf, entries["hash"][-3].tobytes().hex())
    assert result.state == "incomplete" and "which nothing vouches for: 2" in reasons(result)


def test_a_whole_ledger_of_other_rows_is_told_apart_by_a_head_alone(
    ledger: Path, shelf: Path, head: str, predictor: Predictor
) -> None:
    """Nothing in a file says whose rows they are: by the forger's own head it is verified, and what that leaves open is said."""
    shutil.rmtree(ledger)
    theirs = write_all(ledger, three_days(predictor, random_book(180, seed=77)), predictor).head
    assert checked(ledger, shelf).state == checked(ledger, shelf, head).state == "incomplete"
    result = checked(ledger, shelf, theirs)
    assert result.state == "verified"
    assert result.to_dict()["not_proven"] == NOT_PROVEN and "rows are those of the market named" in NOT_PROVEN


def test_rows_edited_and_chained_again(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    def change(entries: Entries) -> None:
        entries["levels"][40, 1] *= 3

    theirs = forged(ledger, change)
    assert "a probability differs" in why(checked(ledger, shelf, theirs))

    def and_predictions(entries: Entries) -> None:
        at = predictions(entries)
        answer = predictor.predict(windows_of(entries["levels"], at, predictor.window), predictor.market(MARKET))
        entries["probabilities"][at], entries["calls"][at] = answer.probabilities, answer.calls

    theirs = forged(ledger, and_predictions)
    assert checked(ledger, shelf).state == checked(ledger, shelf, head).state == "incomplete"
    assert checked(ledger, shelf, theirs).state == "verified"  # which no file can rule out: NOT_PROVEN says so


def test_a_day_removed_from_the_middle(ledger: Path, shelf: Path, head: str) -> None:
    entries = entries_of(ledger / NAME)
    ends = np.flatnonzero(entries["kind"] == GAP)
    gone = int((entries["kind"][ends[0] : ends[1]] == PREDICTION).sum())
    shutil.rmtree(ledger / NAME / DAYS[1])
    result = checked(ledger, shelf, head)
    assert result.state == "incomplete" and result.to_dict()["left_out"] == {"missing": gone}
    assert f"predictions among them: {gone}" in reasons(result)
    rest = np.concatenate([entries[: ends[0] + 1], entries[ends[1] + 1 :]])
    header = read_header(ledger / NAME)
    written(ledger / NAME, header, rehashed(rest, header))
    assert checked(ledger, shelf, head).state == "incomplete"


def test_days_chained_in_another_order(ledger: Path, shelf: Path) -> None:
    entries = entries_of(ledger / NAME)
    first, second, third = np.split(entries, np.flatnonzero(entries["kind"] == GAP)[:2] + 1)
    header = read_header(ledger / NAME)
    theirs = written(ledger / NAME, header, rehashed(np.concatenate([second, first, third]), header))
    assert "not after that of the row before it" in why(checked(ledger, shelf, theirs))


def test_records_twice(ledger: Path, shelf: Path, head: str) -> None:
    copy = files(ledger)[1]
    shutil.copy(copy, copy.with_name(f"{copy.stem}_2.parquet"))
    assert "moved, renamed or copied" in why(checked(ledger, shelf, head))
    copy.with_name(f"{copy.stem}_2.parquet").unlink()
    theirs = forged(ledger, lambda entries: np.insert(entries, 50, entries[50]))
    assert "not after that of the row before it" in why(checked(ledger, shelf, theirs))


def test_another_market_named_in_the_header(ledger: Path, shelf: Path, head: str) -> None:
    header = read_header(ledger / NAME)
    other = LedgerHeader(market="live/elsewhere/XYZ/USDT", heads=header.heads, window=header.window)
    (ledger / NAME / HEADER).write_text(other.to_json())
    assert "not follow the entry before it" in why(checked(ledger, shelf, head))
    entries = entries_of(ledger / NAME)
    theirs = written(ledger / NAME, other, rehashed(entries, other))
    assert theirs != head and checked(ledger, shelf, head).state == checked(ledger, shelf).state == "incomplete"


def test_a_prediction_whose_window_reaches_over_a_gap(ledger: Path, shelf: Path) -> None:
    def change(entries: Entries) -> None:
        at = int(np.flatnonzero(entries["kind"] == GAP)[0]) + 5  # five rows after a gap
        for name in ("weights", "card", "probabilities", "calls"):
            entries[name][at] = entries[name][predictions(entries)[0]]
        entries["kind"][at] = PREDICTION

    assert "reaches over a gap" in why(checked(ledger, shelf, forged(ledger, change)))


def test_predictions_on_rows_that_nothing_confirmed(ledger: Path, shelf: Path) -> None:
    def change(entries: Entries) -> None:
        entries["confirmed_ms"][31:61] = entries["confirmed_ms"][30]  # of the first day's rows the last thirty

    result = checked(ledger, shelf, forged(ledger, change))
    card = score_card(result)
    assert result.state == "verified" and result.total("recomputed") == result.total("rows")
    assert (card["unconfirmed"] == 29).all()
    total = card["samples"] + card["late"] + card["unconfirmed"] + card["no_outcome"]
    assert (total == result.total("rows")).all()


def test_predictions_left_out(ledger: Path, shelf: Path, head: str) -> None:
    """Those that came wrong taken out, say: their rows remain, and ask for them."""

    def change(entries: Entries) -> None:
        entries["kind"][predictions(entries)[::3]] = ROW

    told = len(predictions(entries_of(ledger / NAME)))
    result = checked(ledger, shelf, forged(ledger, change))
    assert result.state == "incomplete" and result.to_dict()["left_out"] == {"missing": -(-told // 3)}
    assert "end a whole window and have no prediction" in reasons(result)


def test_another_card_with_the_same_weights(ledger: Path, shelf: Path, head: str, predictor: Predictor, tmp_path: Path) -> None:
    card = json.loads((shelf / "tiny.json").read_text())
    (tmp_path / "other").mkdir()
    shutil.copy(shelf / "tiny.safetensors", tmp_path / "other")
    (tmp_path / "other" / "tiny.json").write_text(json.dumps({**card, "metrics": {"matthews": 1.0}, "date": "1999-01-01"}))
    assert checked(ledger, tmp_path / "other", head).state == "verified"  # what the card says of its training is another matter
    card["markets"]["testville"]["rules"][1]["lean"] += 1.0
    (tmp_path / "third").mkdir()
    shutil.copy(shelf / "tiny.safetensors", tmp_path / "third")
    (tmp_path / "third" / "tiny.json").write_text(json.dumps(card))
    result = checked(ledger, tmp_path / "third", head)
    assert result.state == "incomplete" and result.total("recomputed") == 0 and score_card(result).empty

    def change(entries: Entries) -> None:
        at = predictions(entries)
        other = Predictor(checkpoints.load("tiny", folder=tmp_path / "third"))
        answer = other.predict(windows_of(entries["levels"], at, other.window), other.market(MARKET))
        entries["calls"][at] = answer.calls
        assert (answer.calls != 1).mean() > 0.1

    assert "does not follow from its probabilities" in why(checked(ledger, shelf, forged(ledger, change)))


def test_every_entry_that_predicts_is_in_a_cards_identity(shelf: Path, predictor: Predictor, rows: BookRows) -> None:
    """A predictor made of those entries and of nothing else predicts the same; number formats of the file do not count."""
    text = (shelf / "tiny.json").read_text()
    card = json.loads(text)
    kept = {name: card[name] for name in ("model", "config", "heads", "transform", "markets")}
    bare = {**kept, "name": "bare", "weights_sha256": card["weights_sha256"]}
    weights = checkpoints.load("tiny", folder=shelf).weights
    again = Predictor(checkpoints.Checkpoint(card=bare, weights=weights))
    assert identity(bare) == identity(card) == identity(json.loads(text.replace('"temperature": 0.8,', '"temperature": 8.0e-1,')))
    windows = windows_of(rows.levels, np.array([50, 90]), predictor.window)
    ours, theirs = (one.predict(windows, one.market(MARKET)) for one in (predictor, again))
    np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
    np.testing.assert_array_equal(ours.calls, theirs.calls)
    assert '"temperature": 0.8,' in text
    for name in kept:
        assert identity({**card, name: "other"}) != identity(card)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda e: e["written_ms"].__setitem__(slice(None), e["written_ms"] + 10**13), "later than now"),
        (lambda e: e["written_ms"].__setitem__(40, e["written_ms"][40] + 5_000), "written before the entry before it"),
        (lambda e: e["confirmed_ms"].__setitem__(40, e["written_ms"][40] + 5_000), "confirms rows of a time after"),
        (lambda e: e["timestamp"].__setitem__(slice(30, 60), e["timestamp"][30:60] + 1), "not on the grid"),
        (lambda e: e["kind"].__setitem__(30, 3), "no gap, row or prediction"),
        (lambda e: e["levels"].__setitem__((30, 0), -1.0), "no order book"),
    ],
    ids=["future", "back", "confirmed", "grid", "kind", "book"],
)  # fmt: skip
def test_entries_that_cannot_be(ledger: Path, shelf: Path, change: Callable[[Entries], None], reason: str) -> None:
    entries = entries_of(ledger / NAME).copy()
    change(entries)
    header = read_header(ledger / NAME)
    entries["kind"] = np.clip(entries["kind"], 0, 3)
    kinds = entries["kind"].copy()
    entries["kind"][kinds == 3] = ROW
    entries = rehashed(entries, header)
    entries["kind"] = kinds
    theirs = written(ledger / NAME, header, entries)
    assert reason in why(checked(ledger, shelf, theirs))


def test_heads_or_a_window_that_are_not_the_weights(ledger: Path, shelf: Path) -> None:
    header = read_header(ledger / NAME)
    other = LedgerHeader(market=MARKET, heads=header.heads, window=header.window - 1)
    entries = entries_of(ledger / NAME)
    theirs = written(ledger / NAME, other, rehashed(entries, other))
    assert "other heads, or another window" in why(checked(ledger, shelf, theirs))


@pytest.mark.parametrize("nudge", [TOLERANCE / 2, TOLERANCE * 2])
def test_another_processor_may_round_otherwise(ledger: Path, shelf: Path, nudge: float) -> None:
    """Probabilities within the tolerance hold, and so does a call that they decide; beyond it neither."""

    def change(entries: Entries) -> None:
        rng = np.random.default_rng(0)
        entries["probabilities"] += (nudge * rng.choice([-1, 1], entries["probabilities"].shape)).astype(np.float32)

    assert checked(ledger, shelf, forged(ledger, change)).state == ("verified" if nudge < TOLERANCE else "broken")


def test_a_call_between_two_classes_within_the_tolerance(ledger: Path, shelf: Path, predictor: Predictor) -> None:
    """Where a rule's two classes lie closer than the tolerance either call holds."""
    entries = entries_of(ledger / NAME)
    at = predictions(entries)
    rules = predictor.market(MARKET).rules
    p = entries["probabilities"][at].astype(np.float64)
    leaning = np.stack([np.log(p[:, i]) + rule.lean * np.array([1.0, 0.0, 1.0]) for i, rule in enumerate(rules)], axis=1)
    order = np.sort(leaning, axis=-1)
    record, h = np.unravel_index(np.argmin(order[..., 2] - order[..., 1]), leaning.shape[:2])
    far_record, far_h = np.unravel_index(np.argmax(order[..., 2] - order[..., 1]), leaning.shape[:2])

    def second(entries: Entries, record: int, head: int) -> None:
        entries["calls"][at[record], head] = int(np.argsort(leaning[record, head])[1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.market.ledger.recomputation.TOLERANCE", float(order[record, h, 2] - order[record, h, 1]))
        honest = forged(ledger, lambda entries: second(entries, int(record), int(h)))
        assert checked(ledger, shelf, honest).state == "verified"
        theirs = forged(ledger, lambda entries: second(entries, int(far_record), int(far_h)))
        assert "does not follow from its probabilities" in why(checked(ledger, shelf, theirs))


def test_what_was_recomputed_once_is_known_by_its_hash(
    ledger: Path, shelf: Path, head: str, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look runs no model, and yet takes nothing on trust: what is altered or missing is noticed as before."""
    done: set[bytes] = set()

    def again() -> Verification:
        return verify(ledger, known_predictors(shelf), heads=[head], recomputed=done)

    assert again().state == "verified" and len(done) == 3
    with monkeypatch.context() as patch:
        patch.setattr(Predictor, "predict", None)
        assert again().state == "verified" and again().total("recomputed") == 111
        assert verify(ledger, known_predictors(ledger), heads=[head], recomputed=done).total("recomputed") == 0  # no weights
    honest_copy = shutil.copytree(ledger, ledger.parent / "copy")
    forged(ledger, lambda entries: hindsight(entries, predictor, predictions(entries)[20:]))
    assert "a probability differs" in why(again())
    shutil.rmtree(ledger)
    honest_copy.rename(ledger)
    files(ledger)[0].unlink()
    assert again().state == "incomplete" and again().total("recomputed") == 74


def test_the_time_of_checking_is_this_machines(ledger: Path, shelf: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.ledger.verification.time.time_ns", lambda: 0)
    assert "later than now" in why(checked(ledger, shelf, head))
