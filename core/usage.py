"""Use of the machine by this process: memory, processor, GPU; and the device on which models compute."""

import os
import platform
import time
from dataclasses import dataclass
from functools import cache

import psutil
import pynvml  # type: ignore[import-untyped]
import torch

from core.device import best_device

PACKAGES = ("streamlit", "plotly", "torch", "numpy", "pandas", "pyarrow", "ccxt", "safetensors")
"""Packages whose versions decide whether a result can be reproduced."""


@dataclass(frozen=True, kw_only=True)
class ProcessUsage:
    """Use of the machine by this process at one moment.

    Attributes:
        memory: resident bytes of the process. machine_memory: bytes of the machine.
        cpu: processor time over wall time since the last call, so up to `cores`; 0 on the first call.
        cores: that the process may use. threads: of the process. uptime_s: seconds since it started.
    """

    memory: int
    machine_memory: int
    cpu: float
    cores: int
    threads: int
    uptime_s: float


@cache
def _process() -> psutil.Process:
    return psutil.Process()


def process_usage() -> ProcessUsage:
    """Measures what this process uses now."""
    process = _process()
    with process.oneshot():
        return ProcessUsage(
            memory=process.memory_info().rss,
            machine_memory=psutil.virtual_memory().total,
            cpu=process.cpu_percent() / 100,
            cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            threads=process.num_threads(),
            uptime_s=time.time() - process.create_time(),
        )


@dataclass(frozen=True, kw_only=True)
class ComputeDevice:
    """The device that `core.device.best_device` chooses.

    Attributes:
        kind: "cuda" or "cpu". name: of the GPU, or the processor's architecture. memory: bytes of the GPU, 0 for a CPU.
        threads: that PyTorch computes on where it computes on the processor.
    """

    kind: str
    name: str
    memory: int
    threads: int


def compute_device() -> ComputeDevice:
    """The device that models with a choice compute on."""
    kind = best_device().type
    if kind == "cuda":
        card = torch.cuda.get_device_properties(0)
        return ComputeDevice(kind=kind, name=card.name, memory=card.total_memory, threads=torch.get_num_threads())
    return ComputeDevice(kind=kind, name=platform.machine(), memory=0, threads=torch.get_num_threads())


@dataclass(frozen=True, kw_only=True)
class GPUUsage:
    """Use of a CUDA device at one moment.

    Attributes:
        memory: bytes in use by all processes. total: bytes that it has. tensors: bytes of this process's tensors.
        busy: share of the last sample period in which a kernel ran, 0 to 1; None where the driver does not say.
    """

    memory: int
    total: int
    tensors: int
    busy: float | None


def gpu_usage() -> GPUUsage | None:
    """The usage of the CUDA device that models compute on; None where they compute on the processor."""
    if best_device().type != "cuda":
        return None
    free, total = torch.cuda.mem_get_info()
    busy: float | None
    try:
        busy = torch.cuda.utilization() / 100
    except (ModuleNotFoundError, RuntimeError, pynvml.NVMLError):
        busy = None
    return GPUUsage(memory=total - free, total=total, tensors=torch.cuda.memory_allocated(), busy=busy)
