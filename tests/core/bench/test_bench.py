"""The ratios' arithmetic under a clock of its own, the networks and references, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from core.bench import cuda, ratio
from core.cli import main


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


def ratio_of(clock: Clock, candidate: Callable[[], None], reference: Callable[[], None], seconds: float = 0) -> dict[str, float]:
    return ratio.ratio([candidate, reference], seconds, clock=lambda: clock.now)


def test_a_ratio_is_of_one_call() -> None:
    clock = Clock()
    found = ratio_of(clock, clock.work(0.05), clock.work(0.1), seconds=10)
    assert found["ratio"] == pytest.approx(0.5) and found["low"] == pytest.approx(found["high"])
    assert found["candidate_ms"] == pytest.approx(50) and found["reference_ms"] == pytest.approx(100)


def test_a_machine_that_slows_down_changes_no_ratio() -> None:
    clock, slower = Clock(), [1.0 * 1.1**turn for turn in range(30)]
    found = ratio_of(clock, clock.work(*slower), clock.work(*(4 * one for one in slower)))
    assert found["ratio"] == pytest.approx(0.25)


def test_one_disturbed_turn_is_in_the_spread_and_not_in_the_ratio() -> None:
    clock = Clock()
    found = ratio_of(clock, clock.work(*[1] * 5, 50, *[1] * 30), clock.work(1))  # each turn's call comes after two to warm up
    assert found["ratio"] == pytest.approx(1) and found["high"] > 5


@pytest.mark.parametrize("name", ratio.COMPARISONS)
def test_a_comparison_runs_without_gradients(name: str) -> None:
    for work in ratio.COMPARISONS[name].make():
        answer: Any = work()
        answer = answer[0] if isinstance(answer, tuple) else answer
        assert answer.is_inference() and torch.isfinite(answer).all()


def test_the_command_prints_ratios_beside_an_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ratio, "COMPARISONS", {"tlob": ratio.COMPARISONS["tlob"]})
    base = tmp_path / "base.json"
    base.write_text(json.dumps({"rows": [{"name": "tlob", "ratio": 0.25}]}))
    assert main(["bench", "--quick", "--against", str(base), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["base"] == 0.25 and row["aim"] == 0.8 and row["low"] <= row["ratio"] <= row["high"]
    base.write_text("{}")
    assert main(["bench", "--against", str(base)]) == 2
    assert "is no output of `bench --json`" in capsys.readouterr().err


def test_without_a_cuda_device_its_table_is_said_to_be_estimates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["bench", "--cuda"]) == 0
    assert capsys.readouterr().out.startswith("No CUDA device here. Estimates for an H100")
    assert main(["bench", "--cuda", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["estimated"] is True and told["machine"]["device"] is None
    rates = {row["what"]: row["value"] for row in told["rows"]}
    measured = {
        "64 windows at once, float32": 29_200,
        "1,024 windows at once, bfloat16": 211_000,
        "8,192 windows at once, float32": 141_000,
    }
    for what, value in measured.items():  # docs/performance.md; shares there are of two digits
        assert rates[f"TLOB, {what}"] == pytest.approx(value, rel=0.1)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_device_has_the_rows_that_are_expected_of_one() -> None:
    measured = {row.what: row for row in cuda.rows(0.0)}
    for row in cuda.expected():
        assert row.what.startswith("product") or measured[row.what].unit == row.unit
