"""What this process uses of the machine, and what it is made of."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from functools import cache

import psutil
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
