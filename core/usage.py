"""What this process uses of the machine, and what it is made of."""

from __future__ import annotations

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
"""The packages whose versions matter when something is to be reproduced."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """Now.

    Attributes:
        memory: resident bytes; machine_memory: all there is.
        cpu: share of one core since the last call, so up to `cores`; 0 on the first call.
        threads: of this process. uptime_s: since it started.
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


def use() -> Use:
    """What this process uses now."""
    process = _process()
    with process.oneshot():
        return Use(
            memory=process.memory_info().rss,
            machine_memory=psutil.virtual_memory().total,
            cpu=process.cpu_percent() / 100,
            cores=_cores(),
            threads=process.num_threads(),
            uptime_s=time.time() - process.create_time(),
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where models compute. `name` is the card's, or the processor's architecture; `memory` is the card's bytes, 0 on a CPU."""

    kind: str
    name: str
    memory: int
    threads: int


def device() -> Device:
    """The device that `core.device` picks, in words."""
    kind = best_device().type
    if kind == "cuda":
        card = torch.cuda.get_device_properties(0)
        return Device(kind=kind, name=card.name, memory=card.total_memory, threads=torch.get_num_threads())
    return Device(kind=kind, name=platform.machine(), memory=0, threads=torch.get_num_threads())


@dataclass(frozen=True, kw_only=True)
class CardUse:
    """A CUDA device now.

    Attributes:
        memory: bytes in use on it, by whomever; total: all it has. own: bytes that this process's tensors hold.
        busy: share of the last moments in which something ran on it, 0 to 1; None where its driver does not say.
    """

    memory: int
    total: int
    own: int
    busy: float | None


def card_use() -> CardUse | None:
    """The use of the CUDA device that models compute on; None where they compute on the processor."""
    if best_device().type != "cuda":
        return None
    free, total = torch.cuda.mem_get_info()
    busy: float | None
    try:
        busy = torch.cuda.utilization() / 100
    except (ModuleNotFoundError, RuntimeError, pynvml.NVMLError):
        busy = None
    return CardUse(memory=total - free, total=total, own=torch.cuda.memory_allocated(), busy=busy)
