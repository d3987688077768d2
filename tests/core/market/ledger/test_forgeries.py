"""What somebody may do to a ledger who can write its files, and what checking it says then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core import checkpoints
from core.market.answers.predictions import outcomes
from core.market.book import BookRows
from core.market.labels import UNKNOWN
from core.market.ledger.chain import (
    GAP,
    HEADER,
    JOURNAL,
    MAX_JOURNAL,
    PREDICTION,
    ROW,
    Entries,
    LedgerError,
    journal_entry,
    read_header,
)
from core.market.ledger.scorecard import score_card
from core.market.ledger.verification import NOT_PROVEN, TOLERANCE, Verification, known_predictors, verify
from core.market.predictor import Predictor, identity, windows_of
from tests.core.market.helpers import HEADS, random_book, tiny_card, tiny_config, tiny_model
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


def test_a_checkpoint_is_in_the_chain_before_its_first_prediction(ledger: Path, shelf: Path, predictor: Predictor) -> None:
    """The header, which the chain begins with, names its hashes."""
    header = json.loads((ledger / NAME / HEADER).read_text())
    assert (header["weights"], header["card"]) == identity(predictor.card)
    theirs = forged(ledger, naming=("ab" * 32, header["card"]))  # other weights named than those that predicted
    assert "not those that the ledger's header names" in why(checked(ledger, shelf, theirs))


def test_without_a_head_nothing_vouches_for_the_end(ledger: Path, shelf: Path) -> None:
    result = checked(ledger, shelf)
    assert result.state == "incomplete" and "no head of its chain was given" in reasons(result)
    assert result.total("recomputed") == result.total("rows") > 100


def test_records_rewritten_under_weights_that_nobody_has(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    def unknown(entries: Entries) -> None:
        entries["weights"][predictions(entries)] = 7

    def change(entries: Entries) -> None:
        at = predictions(entries)[37:]  # all but the first day
        hindsight(entries, predictor, at)
        entries["weights"][at] = 7

    theirs = forged(ledger, change)
    result = checked(ledger, shelf, theirs)
    assert "not those that the ledger's header names" in why(result) and result.total("recomputed") == 37
    theirs = forged(ledger, unknown, naming=("07" * 32, identity(predictor.card)[1]))  # all of them, as the header says
    for given in ((), (head,), (theirs,)):
        result = checked(ledger, shelf, *given)
        assert result.state == "incomplete" and result.total("recomputed") == 0
        assert "not known here" in reasons(result)
        assert result.to_dict()["left_out"] == {"model_unknown": result.total("rows")}
        (model,) = result.markets[0].models
        assert (model["checkpoint"], model["predictions"], model["weights"]) == (None, 111, "07" * 32)
        assert score_card(result).empty


def test_of_several_models_the_one_that_proved_right(
    ledger: Path, shelf: Path, predictor: Predictor, rows: BookRows, tmp_path: Path
) -> None:
    """Each prediction is what known weights make of its rows, and which weights was chosen once the outcome was known."""
    shutil.copytree(shelf, tmp_path / "shelf")
    card = {**tiny_card(rows), "weights_sha256": ""}
    checkpoints.save("second", tiny_model(tiny_config(), seed=5), card, folder=tmp_path / "shelf")
    second = Predictor(checkpoints.load("second", folder=tmp_path / "shelf"))
    weights, told = (np.frombuffer(bytes.fromhex(digest), np.uint8) for digest in identity(second.card))

    def put(entries: Entries, at: np.ndarray) -> None:
        answer = second.predict(windows_of(entries["levels"], at, second.window), second.market(MARKET))
        entries["weights"][at], entries["card"][at] = weights, told
        entries["probabilities"][at], entries["calls"][at] = answer.probabilities, answer.calls

    theirs = forged(ledger, lambda entries: put(entries, predictions(entries)[[9, 10, 30]]))
    result = checked(ledger, tmp_path / "shelf", theirs)
    assert "its weights or its card are not those" in why(result) and result.total("recomputed") == 9
    (ledger / NAME).rename(tmp_path / "aside")
    write_all(ledger, three_days(predictor, rows), predictor)
    theirs = forged(ledger, lambda entries: put(entries, predictions(entries)[37:]))  # from the second day on: a run of its own
    assert "not those that the ledger's header names" in why(checked(ledger, tmp_path / "shelf", theirs))


def test_runs_ended_at_will_show_in_the_share_of_the_time(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    """Rows and predictions taken out, and a gap put in their place, nothing tells from a feed that broke off but the share."""
    entries = entries_of(ledger / NAME)
    kept = entries["kind"] != GAP
    market = checked(ledger, shelf, head).markets[0]
    times = entries["timestamp"][kept]
    assert market.gaps == 2 and market.coverage == 111 / ((times[-1] - times[0]) / 250 + 1)
    one_day = write_all(ledger.parent / "one", three_days(predictor, random_book(180, seed=3))[:61], predictor)
    whole = checked(ledger.parent / "one", shelf, one_day.head).markets[0]

    def change(entries: Entries) -> Entries:
        gap = np.zeros(1, entries.dtype)
        gap["timestamp"], gap["written_ms"] = entries[39]["timestamp"], entries[39]["written_ms"]
        after = entries[50:].copy()
        after["kind"][:-1] = ROW  # no whole window ends at them
        return np.concatenate([entries[:40], gap, after])

    cut = checked(ledger.parent / "one", shelf, forged(ledger.parent / "one", change)).markets[0]
    assert (whole.state, whole.gaps, whole.coverage) == ("verified", 0, 37 / 60)
    assert (cut.state, cut.gaps) == ("verified", 1) and cut.coverage == 17 / 60


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
    other = replace(header, market="live/elsewhere/XYZ/USDT")
    (ledger / NAME / HEADER).write_text(other.to_json())
    assert "the folder was renamed" in why(checked(ledger, shelf, head))
    assert "not follow the entry before it" in why(checked(ledger / NAME, shelf, head))
    entries = entries_of(ledger / NAME)
    theirs = written(ledger / NAME, other, rehashed(entries, other))
    market = ledger / NAME
    assert theirs != head and checked(market, shelf, head).state == checked(market, shelf).state == "incomplete"


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
        (lambda e: e["timestamp"].__setitem__(60, e["timestamp"][60] + 3_600_000), "a gap that does not follow its row"),
        (lambda e: e["kind"].__setitem__(59, GAP), "a gap that does not follow its row"),
    ],
    ids=["future", "back", "confirmed", "grid", "kind", "book", "gap elsewhere", "gap twice"],
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
    other = replace(header, window=header.window - 1)
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
        patch.setattr("core.market.ledger.verification.TOLERANCE", float(order[record, h, 2] - order[record, h, 1]))
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


def test_what_was_recomputed_is_known_for_the_same_entries_alone(ledger: Path, shelf: Path, predictor: Predictor) -> None:
    """The newest hour is recomputed; then its last row stands at the end of a file that holds days which were not."""
    done: set[bytes] = set()
    theirs = forged(ledger, lambda entries: hindsight(entries, predictor, predictions(entries)[:37]))
    assert verify(ledger, known_predictors(shelf), heads=[theirs], hours=1, recomputed=done).total("recomputed") == 37 and done
    header, entries = read_header(ledger / NAME), entries_of(ledger / NAME)
    for day in DAYS:
        shutil.rmtree(ledger / NAME / day)
    (ledger / NAME / JOURNAL).write_bytes(
        header.genesis + b"".join(journal_entry(entries[i : i + 1]) for i in range(len(entries) - 1))
    )
    assert "a probability differs" in why(verify(ledger, known_predictors(shelf), heads=[theirs], recomputed=done))


def test_the_time_of_checking_is_this_machines(ledger: Path, shelf: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.market.ledger.verification.time.time_ns", lambda: 0)
    assert "later than now" in why(checked(ledger, shelf, head))


def joined(folder: Path, how: str) -> None:
    """The files of the first two days made one: their bytes, or their tables, one behind the other."""
    first, second = files(folder.parent)[:2]
    if how == "bytes":
        first.write_bytes(first.read_bytes() + second.read_bytes())
    else:
        pq.write_table(pa.concat_tables([pq.read_table(first), pq.read_table(second)]), first)
    if how != "twice":
        second.unlink()


@pytest.mark.parametrize("how", ["bytes", "twice"])
def test_two_files_joined(ledger: Path, shelf: Path, head: str, how: str) -> None:
    joined(ledger / NAME, how)
    result = checked(ledger, shelf, head)
    assert result.state == "broken" and score_card(result).empty
    assert result.total("rows") <= 111


def test_two_files_in_one_are_the_same_chain(ledger: Path, shelf: Path, head: str) -> None:
    """Nothing is added or taken, and the file of a run that ends on the hour may hold two: no claim about it is false."""
    gap = next((ledger / NAME / DAYS[0]).rglob("lost_*"))
    entries = entries_of(ledger / NAME)
    joined(ledger / NAME, "tables")
    result = checked(ledger, shelf, head)
    assert gap.exists() and (result.state, result.total("recomputed")) == ("verified", 111)
    np.testing.assert_array_equal(entries_of(ledger / NAME)["hash"], entries["hash"])


def test_two_ledgers_in_one_folder(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    """The better of two runs' hours: each is whole in itself, and only one of them follows the hour before."""
    other = write_all(ledger.parent / "other", three_days(predictor, random_book(180, seed=9)), predictor)
    theirs = ledger.parent / "other" / NAME
    shutil.rmtree(ledger / NAME / DAYS[2])
    shutil.copytree(theirs / DAYS[2], ledger / NAME / DAYS[2])
    shutil.copy(theirs / JOURNAL, ledger / NAME / JOURNAL)
    for given in ((head,), (other.head,), (head, other.head)):
        assert "not follow the entry before it" in why(checked(ledger, shelf, *given))
    entries, header = entries_of(ledger / NAME), read_header(ledger / NAME)
    end = written(ledger / NAME, header, rehashed(entries, header))
    assert checked(ledger, shelf, head).state == checked(ledger, shelf, other.head).state == "incomplete"
    assert end not in (head, other.head)


def test_a_run_begun_again_in_the_middle(ledger: Path, shelf: Path, head: str) -> None:
    """Rows that went badly cut out as if the process had been down: the chain tells, and chained again the head does."""
    entries, honest = entries_of(ledger / NAME), checked(ledger, shelf, head).markets[0]

    def change(entries: Entries) -> Entries:
        gap = entries[60:61].copy()  # that after the first day
        for name in ("timestamp", "written_ms", "confirmed_ms"):
            gap[name] = entries[name][44]
        return np.concatenate([entries[:45], gap, entries[61:]])

    header = read_header(ledger / NAME)
    written(ledger / NAME, header, change(entries))
    assert checked(ledger, shelf, head).state == "broken"
    theirs = written(ledger / NAME, header, rehashed(change(entries), header))
    for given in ((), (head,), (head, theirs)):
        assert checked(ledger, shelf, *given).state == "incomplete"
    cut = checked(ledger, shelf, theirs).markets[0]  # by the forger's own head: the share of the time is all that tells
    assert cut.state == "verified" and cut.coverage < honest.coverage


def test_a_head_of_another_day_or_of_another_market(ledger: Path, shelf: Path, head: str, predictor: Predictor) -> None:
    ends = np.flatnonzero(entries_of(ledger / NAME)["kind"] == GAP)
    yesterday = entries_of(ledger / NAME)["hash"][ends[1]].tobytes().hex()
    other = write_all(ledger.parent / "other", three_days(predictor, random_book(180, seed=9)), predictor).head
    for given in ((yesterday,), (other,), (head, other), ("0" * 64,)):
        assert checked(ledger, shelf, *given).state == "incomplete", given
    assert checked(ledger, shelf, yesterday, head).state == "verified"
    for nonsense in ("", head[:-1], head + "0", head[:-1] + "g", head + "\n", "\u0660" * 64):
        with pytest.raises(LedgerError, match="is no head"):
            checked(ledger, shelf, nonsense)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"window": 24', '"window": 24.0'),
        lambda text: text.replace('"window": 24', '"window": 24, "window": 24'),
        lambda text: text.replace('"window": 24', '"window": "24"'),
        lambda text: text.replace('"window": 24', '"window": NaN'),
        lambda text: text.replace('"window": 24', '"window": 1e999'),
        lambda text: text.replace('"window": 24', '"window": ' + "9" * 5_000),
        lambda text: text.replace('"format": 3', '"format": true'),
        lambda text: text.replace('"format": 3', '"format": NaN'),
        lambda text: text.replace('"format": 3', '"format": "<b>3</b>"'),
        lambda text: text.replace("10]", "10.9]", 1),
        lambda text: text.replace("testville", "t\\u0065stville"),
        lambda text: text.replace("testville", "testville\\ud800"),
        lambda text: text.replace("ABC", "ABC\\u202e"),
        lambda text: text + " ",
        lambda text: text + " " * 100_000 + text,
        lambda text: "\ufeff" + text,
        lambda text: "[" * 60_000,
        lambda text: text.replace('"weights": "', '"weights": "0'),
        lambda text: "null",
        lambda text: "",
    ],
)  # fmt: skip
def test_a_header_that_another_reader_would_read_otherwise(
    ledger: Path, shelf: Path, head: str, change: Callable[[str], str]
) -> None:
    """Its text is exactly what a writer writes: the chain begins with the header's values, not with the file's bytes."""
    text = (ledger / NAME / HEADER).read_text()
    assert change(text) != text
    (ledger / NAME / HEADER).write_text(change(text), encoding="utf-8")
    result = checked(ledger, shelf, head)
    assert "is not a ledger's header" in why(result) and result.total("rows") == 0


def test_another_format_is_named_and_not_scored(ledger: Path, shelf: Path, head: str) -> None:
    text = (ledger / NAME / HEADER).read_text()
    (ledger / NAME / HEADER).write_text(text.replace('"format": 3', '"format": ' + "4" * 40))
    result = checked(ledger, shelf, head)
    assert result.state == "incomplete" and score_card(result).empty and len(reasons(result)) < 300
    (ledger / NAME / HEADER).write_text(text.replace('"format": 3', '"format": 2'))
    result = checked(ledger, shelf, head)
    assert result.state == "incomplete" and "of format 2, whose chain does not name what predicted" in reasons(result)


def test_links_to_what_is_elsewhere(ledger: Path, shelf: Path, head: str) -> None:
    """What is linked is checked like the rest; a market linked to by another name is not counted again."""
    first = files(ledger)[0]
    first.rename(ledger.parent / "kept.parquet")
    first.symlink_to(ledger.parent / "kept.parquet")
    assert checked(ledger, shelf, head).state == "verified"
    (ledger.parent / "kept.parquet").unlink()
    result = checked(ledger, shelf, head)  # the link leads nowhere
    assert "no readable segment" in why(result) and result.total("recomputed") == 0
    first.unlink()
    first.symlink_to(files(ledger)[1])
    assert "moved, renamed or copied" in why(checked(ledger, shelf, head))
    first.unlink()
    first.symlink_to("/dev/zero")
    assert "is no file" in why(checked(ledger, shelf, head))


@pytest.mark.parametrize("name", [HEADER, JOURNAL])
def test_a_header_or_a_journal_without_an_end(ledger: Path, shelf: Path, head: str, name: str) -> None:
    (ledger / NAME / name).unlink()
    (ledger / NAME / name).symlink_to("/dev/zero")
    assert f"{name} is no file" in why(checked(ledger, shelf, head))


def test_a_market_linked_to_by_a_second_name(ledger: Path, shelf: Path, head: str) -> None:
    (ledger / f"{NAME}_2").symlink_to(ledger / NAME)
    result = checked(ledger, shelf, head)
    assert "the folder was copied" in why(result) and set(result.to_dict()["markets"]) == {NAME, f"{NAME}_2"}
    assert set(score_card(result)["market"]) == {NAME}


def test_files_too_large_to_be_a_segment_or_a_header(
    ledger: Path, shelf: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file's size is looked at before its footer, which could say anything."""
    with files(ledger)[0].open("r+b") as file:
        file.truncate(MAX_JOURNAL + 1)  # sparse
    assert "it is too large" in why(checked(ledger, shelf, head))
    files(ledger)[0].unlink()
    with (ledger / NAME / JOURNAL).open("r+b") as file:
        file.truncate(MAX_JOURNAL + 1)
    assert "too large to be a journal" in why(checked(ledger, shelf, head))
