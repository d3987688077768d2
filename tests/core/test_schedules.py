"""Learning-rate schedules against PyTorch's and against their closed forms."""

import math
from collections.abc import Callable

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler

from core.schedules import warmup_cosine

PEAK = 3e-3


def torch_rates(make: Callable[[torch.optim.Optimizer], LRScheduler], steps: int) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    scheduler = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("floor", [0.0, 1e-4])
def test_warm_up_is_a_line_and_the_rest_torchs_cosine(floor: float) -> None:
    rates = [warmup_cosine(step, peak=PEAK, warmup=10, total=50, floor=floor) for step in range(51)]
    assert rates[:11] == pytest.approx([PEAK * step / 10 for step in range(11)])
    assert rates[10:] == pytest.approx(torch_rates(lambda o: CosineAnnealingLR(o, T_max=40, eta_min=floor), 41))
    assert warmup_cosine(60, peak=PEAK, warmup=10, total=50, floor=floor) == pytest.approx(floor, abs=1e-12)


def test_warm_up_equals_the_closed_form_step_by_step() -> None:
    def by_hand(step: int) -> float:
        if step < 7:
            return step / 7
        return 0.5 * (1 + math.cos(math.pi * (step - 7) / (33 - 7)))

    rates = [warmup_cosine(step, peak=PEAK, warmup=7, total=33) for step in range(34)]
    assert rates == pytest.approx(torch_rates(lambda o: LambdaLR(o, by_hand), 34), abs=1e-15)


def test_without_warm_up_it_starts_at_the_peak() -> None:
    assert warmup_cosine(0, peak=PEAK, warmup=0, total=10) == PEAK


def test_a_run_shorter_than_its_warm_up_does_not_divide_by_zero() -> None:
    assert [warmup_cosine(step, peak=1.0, warmup=5, total=5) for step in (0, 4, 5, 6)] == [0.0, 0.8, 1.0, 0.0]
