"""What the process says of itself, against the kernel's own account."""

import os
import resource
import threading
import time

import pytest
import torch

from core import usage

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="compares with Linux's /proc")


def test_memory_is_what_the_kernel_counts() -> None:
    held = bytearray(64 * 1024**2)
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * resource.getpagesize()
    assert usage.process_usage().memory == pytest.approx(resident, rel=0.05)
    assert usage.process_usage().memory > len(held)
    assert usage.process_usage().machine_memory == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_a_new_thread_is_counted() -> None:
    before = usage.process_usage().threads
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    during = usage.process_usage().threads
    stop.set()
    thread.join()
    assert during == before + 1


def cpu_and_wall() -> tuple[float, float]:
    times = os.times()
    return times.user + times.system, time.monotonic()


def test_the_share_of_a_core_is_time_computed_over_time_passed() -> None:
    usage.process_usage()
    before = cpu_and_wall()
    while cpu_and_wall()[0] - before[0] < 0.5:
        sum(range(1000))
    shown, after = usage.process_usage().cpu, cpu_and_wall()
    assert shown == pytest.approx((after[0] - before[0]) / (after[1] - before[1]), rel=0.25)
    assert usage.process_usage().uptime_s > 0


def test_the_device_is_the_one_models_use() -> None:
    device = usage.compute_device()
    assert device.kind == ("cuda" if torch.cuda.is_available() else "cpu")
    assert device.threads == torch.get_num_threads()
    assert (device.memory > 0) == (device.kind == "cuda")


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
