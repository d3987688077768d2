"""The benchmark's arithmetic under a clock of its own, its references, and the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from core.cli import main
from core.market.book import OrderBookSnapshot
from lab.bench.benchmarks import BENCHMARKS, selected
from lab.bench.ratio import Pair, spread


class Clock:
    """Seconds that pass only in work."""

    def __init__(self) -> None:
        self.now = 0.0

    def work(self, *seconds: float) -> Callable[[], None]:
        """Takes these durations in turn, again and again."""
        waiting = list(seconds)

        def run() -> None:
            waiting.append(waiting.pop(0))
            self.now += waiting[-1]

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("lab.bench.ratio.time.perf_counter", lambda: clock.now)
    return clock


def test_a_ratio_is_of_one_call(clock: Clock) -> None:
    found = Pair(candidate=clock.work(0.05), reference=clock.work(0.1)).measure(10)
    assert found.ratio == pytest.approx(0.5) and found.low == pytest.approx(found.high)
    assert found.candidate_ms == pytest.approx(50) and found.reference_ms == pytest.approx(100)


def test_a_machine_that_slows_down_changes_no_ratio(clock: Clock) -> None:
    slower = [1.0 * 1.1**turn for turn in range(12)]
    found = Pair(candidate=clock.work(*slower), reference=clock.work(*(4 * one for one in slower))).measure(0, min_turns=8)
    assert found.ratio == pytest.approx(0.25)


def test_one_disturbed_turn_is_in_the_spread_and_not_in_the_ratio(clock: Clock) -> None:
    # warm-up and the count of calls take the first two
    found = Pair(candidate=clock.work(1, 1, 1, 50, 1, 1, 1), reference=clock.work(1)).measure(0)
    assert found.ratio == pytest.approx(1) and found.high > 5


def test_long_work_is_called_three_times_and_times_side_by_side_give_their_ratios(clock: Clock) -> None:
    found = Pair(candidate=clock.work(2, 3, 5), reference=clock.work(1), long=True).measure(60)
    assert found.ratio == pytest.approx(3) and found.candidate_ms == pytest.approx(3_000) and clock.now == pytest.approx(13)
    assert spread([10, 30], [100, 100]).ratio == pytest.approx(0.2)


def test_the_feed_makes_the_book_that_ccxt_keeps() -> None:
    pair = BENCHMARKS["feed"].make()
    assert isinstance(pair, Pair)
    for _ in range(40):
        snapshot, book = cast(OrderBookSnapshot, pair.candidate()), cast(dict[str, Any], pair.reference())
    assert snapshot.levels[:4].tolist() == [*book["asks"][0][:2], *book["bids"][0][:2]]
    assert snapshot.sequence == book["nonce"] == 40


@pytest.mark.parametrize("name", ["tlob", "tlob-maps", "vit-1"])
def test_a_benchmark_runs(name: str) -> None:
    pair = BENCHMARKS[name].make()
    assert isinstance(pair, Pair)
    pair.candidate()
    pair.reference()


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match="no benchmark 'nothing': there are tlob, "):
        list(selected(["nothing"]))


def test_the_command_prints_ratios_beside_an_earlier_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "base.json"
    base.write_text(json.dumps({"rows": [{"name": "tlob", "ratio": 0.25}]}))
    threads = torch.get_num_threads()
    assert main(["bench", "--only", "tlob", "--seconds", "0", "--against", str(base), "--json"]) == 0
    torch.set_num_threads(threads)
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["base"] == 0.25 and row["aim"] == 0.8 and row["low"] <= row["ratio"] <= row["high"]
    base.write_text("{}")
    assert main(["bench", "--against", str(base)]) == 2
    assert "is no output of `bench --json`" in capsys.readouterr().err
