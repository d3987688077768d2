"""The timing is of real steps on the devices there are; what it comes to on a clock is no test's business."""

import pytest
import torch

from core import usage
from core.models.vit import ViTConfig
from core.runs.epoch_time import epoch_times

SMALL = ViTConfig(patch=14, width=8, heads=1, layers=1, hidden=8)


def test_a_row_a_device_the_processor_first() -> None:
    found = list(epoch_times(SMALL))
    assert [one.device for one in found] == (["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"])
    assert all(one.step_s > 0 for one in found)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_cuda_device_there_is_no_use_of_one() -> None:
    assert usage.gpu_usage() is None


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_memory_on_the_card_is_what_tensors_hold() -> None:
    before = usage.gpu_usage()
    held = torch.zeros(64, 1024, 1024, device="cuda")
    after = usage.gpu_usage()
    assert before is not None and after is not None
    assert after.tensors - before.tensors >= held.numel() * 4
    assert after.memory <= after.total
    assert after.busy is None or 0 <= after.busy <= 1
