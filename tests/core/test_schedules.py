"""Learning-rate schedules against PyTorch's."""

from collections.abc import Callable

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, StepLR

from core.schedules import cosine, exponential, warmup_cosine

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


def test_schedules_are_pytorchs() -> None:
    falls = [exponential(step, peak=PEAK, factor=0.7, every=4) for step in range(20)]
    assert falls == pytest.approx(torch_rates(lambda o: StepLR(o, 4, 0.7), 20), rel=1e-7)
    waves = [cosine(step, peak=PEAK, total=20) for step in range(20)]
    assert waves == pytest.approx(torch_rates(lambda o: CosineAnnealingLR(o, 20), 20), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("floor", [0.0, 1e-4])
def test_warm_up_is_a_line_and_the_rest_torchs_cosine(floor: float) -> None:
    rates = [warmup_cosine(step, peak=PEAK, warmup=10, total=50, floor=floor) for step in range(51)]
    assert rates[:11] == pytest.approx([PEAK * step / 10 for step in range(11)])
    assert rates[10:] == pytest.approx(torch_rates(lambda o: CosineAnnealingLR(o, T_max=40, eta_min=floor), 41))
    assert warmup_cosine(60, peak=PEAK, warmup=10, total=50, floor=floor) == pytest.approx(floor, abs=1e-12)


def test_without_warm_up_it_starts_at_the_peak() -> None:
    assert warmup_cosine(0, peak=PEAK, warmup=0, total=10) == PEAK


def test_a_run_shorter_than_its_warm_up_does_not_divide_by_zero() -> None:
    assert [warmup_cosine(step, peak=1.0, warmup=5, total=5) for step in (0, 4, 5, 6)] == [0.0, 0.8, 1.0, 0.0]
